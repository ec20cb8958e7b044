"""What a party ends up with: the model, its own coefficients, the way there, and what it cost."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kakuran.errors import ProtocolError
from kakuran.vertical.leakage import Exposure
from kakuran.vertical.regression.inference import Inference, Quality
from kakuran.vertical.regression.moments import Array
from kakuran.vertical.regression.selection import Selection, Step
from kakuran.writing import check_free, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT = 1
_ARRAYS = ("coefficients", "standard_errors", "t", "p", "low", "high", "vif")


@dataclass(frozen=True)
class OwnCoefficient:
    """One of our own coefficients in the data's own units, with the mean its column is taken from."""

    coefficient: float
    standard_error: float
    low: float
    high: float
    mean: float


@dataclass(frozen=True)
class VerticalFit:
    """A regression over several parties' columns, as one party sees it.

    Parameters
    ----------
    run
        A name for the run that all its parties know.
    target, criterion
        What is explained, and by what its columns were chosen.
    inference
        Every chosen column of every party in standardised units: coefficients, standard errors, t, p, intervals,
        variance inflation, and the quality of the model.
    own
        The party's own chosen columns in their own units.
    intercept
        In the target's own units; None without one.
    target_scale
        Standard deviation of the target among the shared records (root mean square without intercept).
    target_mean
        Known to the holder of the target only, else None.
    exposure
        What the others could have learned of this party's columns.
    transcripts
        Every message of every link: direction, kind, size, digest.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.samples import companies
    >>> bank, shop = companies(400)
    >>> columns = {"bank": ["income", "age", "savings"], "shop": ["visits", "basket", "coupons"]}
    >>> plan = kk.VerticalPlan.of(columns, target="spending", holder="shop", ids="customer")
    >>> fit = kk.fit_vertically({"bank": bank, "shop": shop}, plan)["bank"]
    >>> sorted(fit.own) == sorted(set(fit.chosen) & set(columns["bank"]))
    True
    >>> round(float(fit.quality.r_squared), 2)
    0.88
    """

    party: str
    run: str
    fingerprint: str
    protocol: str
    target: str
    criterion: str
    owners: Mapping[str, str]
    inference: Inference
    selection: Selection
    own: Mapping[str, OwnCoefficient]
    intercept: float | None
    target_scale: float
    target_mean: float | None
    exposure: Exposure
    rounds: int
    transcripts: tuple[Mapping[str, Any], ...]

    @property
    def chosen(self) -> tuple[str, ...]:
        """The columns in the model, of all parties."""
        return self.inference.names

    @property
    def quality(self) -> Quality:
        """The figures of the model as a whole."""
        return self.inference.quality

    def part(self, values: Mapping[str, Array], records: int) -> Array:
        """This party's part of predictions, from its own columns; the target's mean counts to its holder's part."""
        total = np.full(records, 0.0 if self.target_mean is None else self.target_mean)
        for name, own in self.own.items():
            total += own.coefficient * (values[name] - own.mean)
        return total

    def plot(self) -> Figure:
        """The selection path as a picture."""
        from kakuran.vertical.picture import draw_path

        return draw_path(self)

    def report(self, lang: str = "en") -> str:
        """A standalone page with model, path, leakage meter and transcript, in English or Japanese (``"ja"``)."""
        from kakuran.vertical.page import render

        return render(self, lang)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        columns = {
            name: {"owner": self.owners[name]} | {what: float(getattr(self.inference, what)[at]) for what in _ARRAYS}
            for at, name in enumerate(self.chosen)
        }
        return {
            "format": _FORMAT,
            "party": self.party,
            "run": self.run,
            "fingerprint": self.fingerprint,
            "protocol": self.protocol,
            "target": self.target,
            "criterion": self.criterion,
            "intercept": self.intercept,
            "target_scale": self.target_scale,
            "target_mean": self.target_mean,
            "quality": asdict(self.quality),
            "standardised": columns,
            "own": {name: asdict(own) for name, own in self.own.items()},
            "steps": [asdict(step) for step in self.selection.steps],
            "exposure": self.exposure.to_dict(),
            "rounds": self.rounds,
            "transcripts": list(self.transcripts),
        }

    def save(self, path: str | Path, *, force: bool = False) -> None:
        """Write the fit as JSON; it holds this party's own coefficients and is meant for it alone."""
        path = Path(path)
        check_free(path, force=force)
        write_text(path, json.dumps(self.to_dict(), ensure_ascii=False, indent=1), is_private=True)

    @classmethod
    def load(cls, path: str | Path) -> VerticalFit:
        """Read a fit."""
        try:
            held = json.loads(Path(path).read_text(encoding="utf-8"))
            if held["format"] != _FORMAT:
                raise ProtocolError(f"{path}: has format {held['format']}; this kakuran reads format {_FORMAT}")
            columns = held["standardised"]
            arrays = {what: np.array([column[what] for column in columns.values()]) for what in _ARRAYS}
            inference = Inference(names=tuple(columns), quality=Quality(**held["quality"]), **arrays)
            exposure = held["exposure"] | {"pinned_down": tuple(held["exposure"]["pinned_down"])}
            return cls(
                party=held["party"],
                run=held["run"],
                fingerprint=held["fingerprint"],
                protocol=held["protocol"],
                target=held["target"],
                criterion=held["criterion"],
                owners={name: column["owner"] for name, column in columns.items()},
                inference=inference,
                selection=Selection(tuple(columns), tuple(Step(**step) for step in held["steps"])),
                own={name: OwnCoefficient(**own) for name, own in held["own"].items()},
                intercept=held["intercept"],
                target_scale=held["target_scale"],
                target_mean=held["target_mean"],
                exposure=Exposure(**exposure),
                rounds=held["rounds"],
                transcripts=tuple(held["transcripts"]),
            )
        except FileNotFoundError:
            raise ProtocolError(f"{path}: no such fit; `kakuran vertical serve` and `join` leave one") from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProtocolError(f"{path}: not a fit that can be read: {error}") from error
