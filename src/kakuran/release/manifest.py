"""What travels with a release: mechanism and parameters, schema, n, k, ε, version. Never a seed, never originals."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any, Literal, TypeAlias, get_args

from kakuran.design import DELTA, MOST_PEOPLE, Plan, central_epsilon
from kakuran.errors import KakuranError, NotForPublicationWarning, ReleaseError
from kakuran.words import Phrase, so_many_records

FORMAT = 2
"""Raised whenever an older kakuran could misread a newer manifest; one that it can read keeps the lower number."""
PARTLY_EMPTY = (
    "Perturbed at random and partly empty on purpose: each record tells only the columns that {column!r} names. "
    "Estimate from it with kakuran, as counts of its values are wrong by design."
)
METADATA_KEY = b"kakuran"
MATRIX_KEY = b"kakuran-matrix"
"""Where the manifest of a wide table lies, which needs no reconstruction."""
Order: TypeAlias = Literal["shuffled", "kept"]


def warn_if_seeded(seed: int | None) -> None:
    """Whoever knows the seed can undo the release."""
    if seed is not None:
        warnings.warn("drawn from a known seed: not for publication", NotForPublicationWarning, stacklevel=3)


@dataclass(frozen=True)
class Manifest:
    """The public facts of a release.

    Attributes
    ----------
    plan : Plan
        The mechanisms and the promise.
    records : int
        How many.
    order : Order
        Shuffled, or as in the original.
    seeded : bool
        Whether the draw can be repeated.
    cohorts : tuple[int, ...]
        Of a survey's export, how many records it added to each earlier one; whoever compares exports knows which
        records these are, so the promise is that of the smallest.
    """

    plan: Plan
    records: int
    order: Order
    seeded: bool
    cohorts: tuple[int, ...] = ()

    @property
    def is_for_publication(self) -> bool:
        """Whether nobody knows the draw or the order of the records."""
        return not self.seeded and self.order == "shuffled"

    @property
    def is_central(self) -> bool:
        """Whether the whole release is differentially private in the central sense, too."""
        is_private = self.plan.is_central and math.isfinite(self.plan.epsilon)
        return self.is_for_publication and is_private

    def central(self, delta: float = DELTA) -> float:
        """ε of the whole release, as `Plan.central` has it; of a survey that grows, of its smallest step."""
        if not self.is_for_publication:
            raise ReleaseError(
                Phrase(
                    "a release whose seed or order is known promises nothing in the central sense: each record "
                    "can be told from the others"
                )
            )
        return (
            central_epsilon(min(self.cohorts), self.plan.epsilon, delta) if self.cohorts else self.plan.central(delta)
        )

    def to_json(self) -> str:
        """The manifest as text."""
        plan, telling = self.plan.to_dict(), self.plan.layout.telling
        fields = {
            "format": FORMAT if "tells" in plan else 1,
            **({"note": PARTLY_EMPTY.format(column=telling[0])} if telling else {}),
            "kakuran": version("kakuran"),
            "records": self.records,
            "order": self.order,
            "seeded": self.seeded,
            "for_publication": self.is_for_publication,
            **({"central": {"epsilon": self.central(), "delta": DELTA}} if self.is_central else {}),
            **({"cohorts": list(self.cohorts)} if self.cohorts else {}),
            **plan,
        }
        return json.dumps(fields, ensure_ascii=False, indent=1, allow_nan=False)

    @classmethod
    def from_json(cls, text: str | bytes, where: str) -> Manifest:
        """Read a manifest, refusing what this version cannot understand."""
        try:
            fields: dict[str, Any] = json.loads(text)
            found, is_matrix = fields["format"], "protect" in fields
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise ReleaseError(Phrase("{where}: its manifest is damaged", where=where)) from error
        if is_matrix:
            raise ReleaseError(
                Phrase(
                    "{where}: tells of a wide table that `kakuran factorise` released: read it like any table, "
                    "as nothing in it has to be reconstructed",
                    where=where,
                )
            )
        if type(found) is not int or not 1 <= found <= FORMAT:
            raise ReleaseError(
                Phrase(
                    "{where}: its manifest has format {found}, made by kakuran {maker}; this is kakuran "
                    "{version}, which reads up to format {known}: upgrade",
                    where=where,
                    found=found,
                    maker=fields.get("kakuran"),
                    version=version("kakuran"),
                    known=FORMAT,
                )
            )
        try:
            _check_facts(fields)
            facts = fields["records"], fields["order"], fields["seeded"], tuple(fields.get("cohorts", ()))
            return cls(Plan.from_dict(fields), *facts)
        except (KakuranError, KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
            raise ReleaseError(
                Phrase("{where}: its manifest is damaged ({error})", where=where, error=str(error))
            ) from error

    def check_original(self, records: int) -> None:
        """Refuse an original that is not the one this release was made from."""
        if records != self.records:
            raise ReleaseError(
                Phrase(
                    "the original has {found} but the release has {records:,}: they do not belong together",
                    found=so_many_records(records),
                    records=self.records,
                )
            )

    def check_columns(self, names: Sequence[str], records: int, where: str) -> None:
        """Refuse a table that is not the one the manifest speaks of."""
        expected = [attribute.name for attribute in self.plan.layout.attributes]
        if list(names) != expected:
            raise ReleaseError(
                Phrase(
                    "{where}: its columns are {columns}, but its manifest speaks of {expected}",
                    where=where,
                    columns=", ".join(names),
                    expected=", ".join(expected),
                )
            )
        if records != self.records:
            raise ReleaseError(
                Phrase(
                    "{where}: it has {found}, but its manifest speaks of {records:,}",
                    where=where,
                    found=so_many_records(records),
                    records=self.records,
                )
            )


def _check_facts(fields: dict[str, Any]) -> None:
    if type(fields["records"]) is not int or not 0 <= fields["records"] <= MOST_PEOPLE:
        raise ReleaseError(Phrase("records must be a whole number, got {value!r}", value=fields["records"]))
    if fields["order"] not in get_args(Order):
        raise ReleaseError(Phrase("order must be shuffled or kept, got {value!r}", value=fields["order"]))
    cohorts = fields.get("cohorts", [])
    if cohorts and (any(type(size) is not int or size < 1 for size in cohorts) or sum(cohorts) != fields["records"]):
        raise ReleaseError(Phrase("cohorts must add up to the records, got {cohorts!r}", cohorts=cohorts))
    for fact in ("seeded", "for_publication"):
        if type(fields[fact]) is not bool:
            raise ReleaseError(Phrase("{fact} must be true or false, got {value!r}", fact=fact, value=fields[fact]))
