"""What a party ends up with: the model, its own coefficients, the way there and what it cost; as a page, too."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kakuran.charts import ESTIMATE, Series, bar_chart, path_chart
from kakuran.errors import DataError, ProtocolError
from kakuran.report import Html, folded, page, picture, points, section, table
from kakuran.typing import Array
from kakuran.vertical.leakage import Exposure, bits_of
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.regression import Inference, Quality, Selection, Step
from kakuran.words import Phrase, Translate, Words, words_in
from kakuran.writing import check_free, write_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CRITERIA = {"aic": "AIC", "aicc": "AICc", "bic": "BIC"}


def render(fit: VerticalFit, lang: str = "en") -> str:
    """The page, with its picture inside."""
    say, quality = words_in(lang), fit.quality
    about = [
        (say("protocol"), fit.protocol),
        (say("adjusted"), f"{quality.adjusted_r_squared:.4f}"),
        (
            say.listed(("AIC", "AICc", "BIC")),
            say.listed(f"{one:.2f}" for one in (quality.aic, quality.aicc, quality.bic)),
        ),
        (say("intercept"), say("no_intercept") if fit.intercept is None else f"{fit.intercept:.6g}"),
        (say("condition"), say("digits", condition=quality.condition, digits=quality.digits)),
        (say("plan"), fit.fingerprint),
    ]
    interval = say("interval", level=fit.inference.level)
    own = [say("column"), say("coefficient"), say("standard_error"), interval]
    every = [say("column"), say("party"), say("coefficient"), say("standard_error"), "t", "p", interval, "VIF"]
    rebuilt = [(say.of(name), f"{share:.1%}") for name, share in fit.exposure.by_column]
    return page(
        say,
        say("fit_title", target=fit.target, party=fit.party),
        table(say("fit"), ["", ""], about, text_columns=2),
        section(say("standardised"), table(say("every_party"), every, all_columns(fit), text_columns=2)),
        section(say("own_units"), table(say("own_columns"), own, _own_columns(fit))),
        section(say("path"), picture(fit.plot(say.of), _path_in_words(fit, say))),
        section(
            say("exposed"),
            points(map(say.of, fit.exposure.sentences())),
            table(say("rebuilt"), [say("our_column"), say("rebuilt_share")], rebuilt),
        ),
        section(say("transcript"), *(_transcript(transcript, say) for transcript in fit.transcripts)),
        internal=say("fit_internal"),
        numbers=[(say("shared"), f"{quality.records:,}"), ("R²", f"{quality.r_squared:.4f}")],
    )


def all_columns(fit: VerticalFit) -> list[tuple[str, ...]]:
    """The chosen columns of all parties as rows of text."""
    found = fit.inference
    return [
        (
            name,
            fit.owners[name],
            f"{found.coefficients[at]:.4f}",
            f"{found.standard_errors[at]:.4f}",
            f"{found.t[at]:.2f}",
            f"{found.p[at]:.2g}" if found.p[at] > 1e-300 else "< 1e-300",
            f"{found.low[at]:.4f} … {found.high[at]:.4f}",
            f"{found.vif[at]:.2f}",
        )
        for at, name in enumerate(found.names)
    ]


def _own_columns(fit: VerticalFit) -> list[tuple[str, ...]]:
    return [
        (name, f"{own.coefficient:.6g}", f"{own.standard_error:.3g}", f"{own.low:.6g} … {own.high:.6g}")
        for name, own in fit.own.items()
    ]


def _path_in_words(fit: VerticalFit, say: Words) -> str:
    if len(fit.selection.steps) == 1:
        return say("path_none")
    steps = [
        say(f"step_{step.action}", column=step.column, score=step.score) + ("" if step.accepted else say("not_taken"))
        for step in fit.selection.steps
    ]
    return say("path_picture", steps="; ".join(steps))


def _transcript(transcript: Mapping[str, Any], say: Words) -> Html:
    rows = [(kind, say(direction), f"{size:,}", digest) for direction, kind, size, digest in transcript["messages"]]
    summary = say(
        "travelled",
        peer=transcript["peer"],
        sent=transcript["bytes_sent"],
        received=transcript["bytes_received"],
        count=len(rows),
    )
    header = [say("message"), "", say("bytes"), "SHA-256"]
    return folded(summary, table(say("every_message"), header, rows, text_columns=2))


_FORMAT = 3


def _as_tuples(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _as_tuples(held) for name, held in value.items()}
    return tuple(map(_as_tuples, value)) if isinstance(value, list) else value


_ARRAYS = ("coefficients", "standard_errors", "t", "p", "vif")


@dataclass(frozen=True)
class OwnCoefficient:
    """One of our own coefficients in the data's own units, with the mean its column is taken from."""

    coefficient: float
    standard_error: float
    low: float
    high: float
    mean: float


_STEPS = 4
"""Parts of predictions are counted in steps of a quarter of a standard deviation: of the residuals, or of the part."""
_FARTHEST = 2.0**26
"""Scales of the target a part may have; as steps, those of 128 parties then add up within 2⁶³."""
_OF_TARGET = 2.0**30
"""Steps are no smaller than the target's scale over this, where nothing varies and nothing is left unexplained."""


@dataclass(frozen=True)
class OwnPart:
    """What our part of a prediction is made of, by the records of the fit: one entry a column of ours in the model.

    Parameters
    ----------
    deviations : tuple[float, ...]
        Standard deviations of coefficient times column, with the coefficient's sign.
    correlations : tuple[tuple[float, ...], ...]
        Of the columns.
    bits : tuple[float, ...]
        What it takes to write down one person's value.
    read_off : Mapping[str, tuple[tuple[str, ...], float, float]]
        By who receives predictions: the columns of few values that rounded parts tell most of, how many bits of each
        person, and how many it takes to write them down.
    """

    deviations: tuple[float, ...]
    correlations: tuple[tuple[float, ...], ...]
    bits: tuple[float, ...]
    read_off: Mapping[str, tuple[tuple[str, ...], float, float]] = field(default_factory=dict)

    @classmethod
    def of(cls, own: OwnColumns, coefficients: Array) -> OwnPart:
        """The part these columns have with these coefficients."""
        centred = own.values - own.values.mean(axis=0)
        deviations = np.sqrt((centred**2).mean(axis=0))
        standardised = centred / np.where(deviations > 0, deviations, 1)
        return cls(
            tuple((coefficients * deviations).tolist()),
            tuple(map(tuple, (standardised.T @ standardised / len(centred)).tolist())),
            tuple(bits_of(column) / len(column) for column in own.values.T),
        )

    @property
    def spread(self) -> float:
        """The standard deviation of the whole part."""
        return float(np.sqrt(max(0.0, np.array(self.deviations) @ self.matrix @ np.array(self.deviations))))

    @property
    def matrix(self) -> Array:
        """The correlations."""
        return np.array(self.correlations).reshape(len(self.bits), len(self.bits))


@dataclass(frozen=True)
class VerticalFit:
    """A regression over several parties' columns, as one party sees it.

    Parameters
    ----------
    run : str
        A name for the run that all its parties know.
    target, criterion : str
        What is explained, and by what its columns were chosen.
    inference : Inference
        Every chosen column of every party in standardised units: coefficients, standard errors, t, p, intervals,
        variance inflation, and the quality of the model.
    own : Mapping[str, OwnCoefficient]
        The party's own chosen columns in their own units.
    intercept : float | None
        In the target's own units; None without one.
    target_scale : float
        Standard deviation of the target among the shared records (root mean square without intercept).
    target_mean : float | None
        Known to the holder of the target only, else None.
    spreads : Mapping[str, float]
        Standard deviations of every party's part of the fitted values.
    own_part : OwnPart
        What this party's part of a prediction is made of.
    exposure : Exposure
        What the others could have learned of this party's columns.
    transcripts : tuple[Mapping[str, Any], ...]
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
    spreads: Mapping[str, float]
    own_part: OwnPart
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

    def step(self, receiver: str) -> float:
        """What the parts of predictions for a receiver are rounded to: the same for all parties, and in every run.

        Never finer than a quarter of the standard deviation of anybody's own part, which moments that others made up
        cannot make small.
        """
        spreads = (spread for party, spread in self.spreads.items() if party != receiver)
        return max(max(self.quality.variance**0.5, *spreads) / _STEPS, self.target_scale / _OF_TARGET)

    def in_steps(self, own: OwnColumns, receiver: str) -> NDArray[np.int64]:
        """Our parts of predictions for a receiver, in whole steps."""
        part = self.part(dict(zip(own.names, own.values.T, strict=True)), len(own.values))
        if not (np.abs(part) < _FARTHEST * self.target_scale).all():
            raise DataError(
                self.target,
                Phrase("would lie far beyond anything fitted, by our columns"),
                Phrase("Mend their largest values."),
            )
        return np.rint(part / self.step(receiver)).astype(np.int64)

    def bits_told(self, receiver: str) -> float:
        """How much our part of a prediction for a receiver tells of each person."""
        return math.log2(1 + 12 * (self.spreads[self.party] / self.step(receiver)) ** 2) / 2

    def plot(self, translate: Translate = str) -> Figure:
        """The criterion step by step; each step is named by the column that went (−) or came (+).

        Where there was only one step, which is no path, the coefficients instead.

        Parameters
        ----------
        translate : callable, optional
            Says the picture's words in another language.
        """
        steps = self.selection.steps
        if len(steps) == 1:
            return self._as_bars(translate)
        signs = {"drop": "−", "add": "+"}
        labels = [
            f"{signs[step.action]} {step.column}" if step.action in signs else translate(Phrase("start"))
            for step in steps
        ]
        last = max(place for place, step in enumerate(steps) if step.accepted)
        said = {
            "refused": Phrase("not taken"),
            "chosen": Phrase("chosen, with {count} in the model", count=steps[last].variables),
            "score": Phrase("{criterion} (lower is better)", criterion=CRITERIA[self.criterion]),
            "title": Phrase("Selection path, {n:,} shared records", n=self.quality.records),
        }
        scores = [step.score for step in steps]
        return path_chart(labels, scores, last, {part: translate(phrase) for part, phrase in said.items()})

    def _as_bars(self, translate: Translate) -> Figure:
        found = self.inference
        ends = (np.asarray(found.low), np.asarray(found.high))
        bars = Series("", np.asarray(found.coefficients), ESTIMATE, ends)
        title = Phrase("Nothing was left out: standardised coefficients, n = {n:,}", n=self.quality.records)
        return bar_chart(found.names, [bars], title=translate(title), written="{x:g}")

    def report(self, lang: str = "en") -> str:
        """A standalone page with model, path, leakage meter and transcript, in English or Japanese (``"ja"``)."""
        return render(self, lang)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        columns = {
            name: {"owner": self.owners[name]}
            | {what: float(getattr(self.inference, what)[at]) for what in (*_ARRAYS, "low", "high")}
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
            "level": self.inference.level,
            "standardised": columns,
            "own": {name: asdict(own) for name, own in self.own.items()},
            "steps": [asdict(step) for step in self.selection.steps],
            "spreads": dict(self.spreads),
            "own_part": asdict(self.own_part),
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
                raise ProtocolError(
                    Phrase(
                        "{path}: has format {found}; this kakuran reads format {known}",
                        path=path,
                        found=held["format"],
                        known=_FORMAT,
                    )
                )
            columns = held["standardised"]
            arrays = {what: np.array([column[what] for column in columns.values()]) for what in _ARRAYS}
            quality = Quality(**held["quality"])
            inference = Inference(names=tuple(columns), quality=quality, level=held["level"], **arrays)
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
                spreads=held["spreads"],
                own_part=OwnPart(**{name: _as_tuples(value) for name, value in held["own_part"].items()}),
                exposure=Exposure(**exposure),
                rounds=held["rounds"],
                transcripts=tuple(held["transcripts"]),
            )
        except FileNotFoundError:
            raise ProtocolError(
                Phrase("{path}: no such fit; `kakuran vertical serve` and `join` leave one", path=path)
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ProtocolError(
                Phrase("{path}: not a fit that can be read: {error}", path=path, error=str(error))
            ) from error
