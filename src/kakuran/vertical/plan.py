"""What the parties agree on before anything is computed, and the fingerprint they compare."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from kakuran.errors import ProtocolError
from kakuran.parsing import (
    NAMES,
    NUMBER,
    TEXT,
    WHOLE,
    YES_OR_NO,
    SettingKind,
    check_settings,
    check_table,
    naming,
    read_document,
    tables_of,
    toml_of,
)
from kakuran.vertical.regression import Criterion, Ranking, Rules, Search
from kakuran.words import Phrase
from kakuran.writing import write_text

_LARGEST_LIMIT = 10**18
Protocol: TypeAlias = Literal["gram", "residual"]


@dataclass(frozen=True)
class Terms:
    """What one party brings: its explanatory columns, the column of ids, its pinned certificate, and most ids.

    ``most_ids`` is 0 where only that of the limits holds.
    """

    name: str
    columns: tuple[str, ...]
    id: str
    certificate: str = ""
    most_ids: int = 0


@dataclass(frozen=True)
class Limits:
    """What the guard refuses to pass.

    Parameters
    ----------
    records_per_variable : float
        Fewest shared records for each column of the plan; also for each sum of all runs over the same people, and for
        each column among the people in whom runs differ.
    smallest_group : int
        Fewest records on either side of a yes/no column, or that carry 99 % of the spread of another; also the fewest
        people that sums of several runs, put together, may speak of.
    largest_leverage : float
        Most leverage one record may have among a party's own columns, which is how much of its values sums with them
        tell; 1 means all. Four times the average is always allowed.
    bits_per_bit_told : float
        How many times the bits that sums tell of a column, at 58 a sum, writing it down has to take; below 1 it can be
        computed from the sums. 0 for no limit.
    most_ids : int
        Most ids any party may bring, besides what the plan says of each; who could bring any number could try all
        there are.
    ids_per_year : int
        Most ids that all others together may try on ours within a year, as far as runs are remembered.
    exposed_directions : int
        Most directions of a party's column space the residual protocol may show; 0 for no limit.

    Examples
    --------
    >>> from kakuran.vertical import Limits
    >>> Limits(smallest_group=30).smallest_group
    30
    """

    records_per_variable: float = 5.0
    smallest_group: int = 20
    largest_leverage: float = 0.4
    bits_per_bit_told: float = 1.5
    most_ids: int = 1_000_000
    ids_per_year: int = 5_000_000
    exposed_directions: int = 0

    @property
    def weakened(self) -> list[str]:
        """What the guard would refuse by default and lets pass under these limits, a sentence each."""
        usual = Limits()
        return [
            f"the plan's limit {name} is {getattr(self, name):g}, not {getattr(usual, name):g}: our guard refuses less"
            for name in self.weaker_than(usual)
        ]

    def weaker_than(self, other: Limits) -> list[str]:
        """The limits under which the guard refuses less than under others."""
        higher = ("records_per_variable", "smallest_group", "bits_per_bit_told")
        weaker = [name for name in higher if getattr(self, name) < getattr(other, name)]
        lower = ("largest_leverage", "most_ids", "ids_per_year")
        weaker += [name for name in lower if getattr(self, name) > getattr(other, name)]
        most = other.exposed_directions
        return weaker + ["exposed_directions"] * bool(most and not 0 < self.exposed_directions <= most)


@dataclass(frozen=True)
class VerticalPlan:
    """One regression of `target` on columns several parties hold.

    Parameters
    ----------
    parties : tuple[Terms, ...]
        What each party brings, in the order in which they connect: each joins all before it.
    target, holder : str
        The column to explain and the party that holds it (empty until it has joined). Under ``"gram"`` it stays
        there; under ``"residual"`` the others are told it.
    protocol : Protocol
        ``"gram"`` (default) shows moments only; ``"residual"`` is S2 as published, which shows far more.
    search : Search
        How variables are chosen, see `Rules`: in which direction.
    criterion : Criterion
        What a model should minimise.
    ranking : Ranking
        Which variable goes first.
    forced : tuple[str, ...]
        Variables that stay whatever happens.
    least : int
        Variables that stay with every party.
    accelerated : bool
        For ``"residual"``: let the first party run conjugate gradients over the same messages.

    Examples
    --------
    >>> import kakuran as kk
    >>> plan = kk.VerticalPlan.of({"bank": ["income", "age"], "shop": ["visits"]}, target="spending", holder="shop")
    >>> plan.fingerprint == plan.fingerprint, plan.protocol
    (True, 'gram')
    """

    parties: tuple[Terms, ...]
    target: str
    holder: str
    protocol: Protocol = "gram"
    intercept: bool = True
    search: Search = "backward"
    criterion: Criterion = "aic"
    ranking: Ranking = "exact"
    forced: tuple[str, ...] = ()
    least: int = 2
    accelerated: bool = True
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        _check_words(self)
        _check_columns(self)
        if self.protocol == "residual" and self.search not in ("backward", "none"):
            raise ProtocolError(
                Phrase("the residual protocol can only search backward, not {search}; use gram", search=self.search)
            )
        if self.ranking == "s2" and self.search not in ("backward", "none"):
            raise ProtocolError(
                Phrase(
                    'ranking "s2" is a rule for leaving variables out; it cannot search {search}', search=self.search
                )
            )
        if self.protocol == "residual" and len(self.parties) > 2:
            raise ProtocolError(Phrase("the residual protocol is for two parties; use gram"))

    @classmethod
    def of(
        cls, columns: Mapping[str, Sequence[str]], *, target: str, holder: str, ids: str = "id", **settings: Any
    ) -> VerticalPlan:
        """A plan without certificates, for parties in one process; all call their ids alike."""
        for name, held in columns.items():
            if isinstance(held, str):
                raise ProtocolError(
                    Phrase("{name} brings a list of columns, as [{held!r}]; got {held!r}", name=name, held=held)
                )
        parties = tuple(Terms(name, tuple(held), ids) for name, held in columns.items())
        return cls(parties, target, holder, **settings)

    @classmethod
    def load(cls, path: str | Path) -> VerticalPlan:
        """Read a plan, refusing what this version does not understand."""
        with naming(Path(path), ProtocolError):
            way = Phrase("the first party makes it with `kakuran vertical init`")
            document = read_document(Path(path), Phrase("plan"), way)
            found = check_table("[plan]", document.get("plan")).get("format")
            if found != _FORMAT:
                raise ProtocolError(
                    Phrase("the plan has format {found}; this kakuran reads format {known}", found=found, known=_FORMAT)
                )
            settings = _checked("[plan]", document["plan"], {"format": WHOLE, **_SETTINGS}, ("target", "holder"))
            del settings["format"]
            limits = Limits(**_checked("[limits]", document.get("limits", {}), _LIMITS))
            parties = tuple(
                Terms(name, **_checked(f"[parties.{name}]", terms, _TERMS, ("columns", "id")))
                for name, terms in check_table("[parties.NAME], one for each party", document.get("parties")).items()
            )
            return cls(parties, limits=limits, **settings)

    def save(self, path: str | Path) -> None:
        """Write the plan as TOML, whole or not at all."""
        plan = asdict(self)
        settings = {"format": _FORMAT, **{name: plan[name] for name in _SETTINGS}}
        parties = {
            f"parties.{toml_of(terms['name'])}": {name: terms[name] for name in _TERMS} for terms in plan["parties"]
        }
        text = tables_of({"plan": settings, "limits": plan["limits"], **parties})
        write_text(Path(path), f"{_HEADER}\n{text}")

    def check_complete(self) -> None:
        """Refuse a plan that somebody has still to join."""
        if not self.parties:
            raise ProtocolError(Phrase("the plan has no party; the first makes it with `kakuran vertical init`"))
        if len(self.parties) < 2:
            raise ProtocolError(
                Phrase(
                    "only {name} is in the plan; the others join it by `kakuran vertical init` and send it back",
                    name=self.names[0],
                )
            )
        if self.holder not in self.names:
            raise ProtocolError(Phrase("nobody in the plan holds the target {target!r}", target=self.target))
        unknown = set(self.forced) - set(self.columns)
        if unknown:
            raise ProtocolError(
                Phrase("the column {name!r} is to be forced in, but nobody holds it", name=sorted(unknown)[0])
            )

    def joined_by(self, terms: Terms, *, holds_target: bool) -> VerticalPlan:
        """The plan with one more party."""
        if terms.name in self.names:
            raise ProtocolError(
                Phrase(
                    "the plan already has a party {name!r}; choose another name, or take the plan as it was before",
                    name=terms.name,
                )
            )
        if holds_target and self.holder:
            raise ProtocolError(
                Phrase(
                    "both {holder} and {name} hold a column {target!r}; rename one",
                    holder=self.holder,
                    name=terms.name,
                    target=self.target,
                )
            )
        return replace(self, parties=(*self.parties, terms), holder=terms.name if holds_target else self.holder)

    @property
    def fingerprint(self) -> str:
        """A digest of every word of the plan, certificates included."""
        content = json.dumps(asdict(self), sort_keys=True, ensure_ascii=False).encode()
        digest = hashlib.sha256(b"kakuran vertical plan\0" + content).hexdigest()
        return "-".join(digest[start : start + 4] for start in range(0, 40, 4))

    @property
    def names(self) -> tuple[str, ...]:
        """The parties."""
        return tuple(terms.name for terms in self.parties)

    @property
    def columns(self) -> tuple[str, ...]:
        """The explanatory columns of all parties, in order."""
        return tuple(column for terms in self.parties for column in terms.columns)

    @property
    def owners(self) -> tuple[str, ...]:
        """The party that holds each of the columns."""
        return tuple(terms.name for terms in self.parties for _ in terms.columns)

    @property
    def rules(self) -> Rules:
        """How variables are chosen."""
        return Rules(self.search, self.criterion, self.ranking, frozenset(self.forced), self.least)

    def terms_of(self, party: str) -> dict[str, Any]:
        """What this plan has a party agree to: what it brings, how that is used, and what its guard refuses."""
        terms = self.terms(party)
        return {
            "columns": ", ".join(terms.columns),
            "id": terms.id,
            "target": self.target if self.holder == party else "",
            "protocol": self.protocol,
            "intercept": self.intercept,
            **asdict(self.limits),
        }

    def comes_before(self, one: str, other: str) -> bool:
        """Whether a party stands before another in the plan; it then speaks first, too."""
        return self.names.index(one) < self.names.index(other)

    def held_by(self, party: str) -> tuple[str, ...]:
        """A party's columns, with the target last where it holds it."""
        target = (self.target,) if self.holder == party else ()
        return (*self.terms(party).columns, *target)

    def most_ids(self, party: str) -> float:
        """Most ids that a party may bring."""
        return min(self.terms(party).most_ids or self.limits.most_ids, self.limits.most_ids)

    def terms(self, party: str) -> Terms:
        """What a party brings."""
        for terms in self.parties:
            if terms.name == party:
                return terms
        raise ProtocolError(
            Phrase("the plan has no party {party!r}, only {names}", party=party, names=", ".join(self.names))
        )


def _check_words(plan: VerticalPlan) -> None:
    for name, allowed in (("protocol", Protocol), ("search", Search), ("criterion", Criterion), ("ranking", Ranking)):
        if getattr(plan, name) not in get_args(allowed):
            raise ProtocolError(
                Phrase(
                    "{name} must be one of {listed}, got {value!r}",
                    name=name,
                    listed=", ".join(get_args(allowed)),
                    value=getattr(plan, name),
                )
            )
    if type(plan.least) is not int or plan.least < 0:
        raise ProtocolError(Phrase("least must be a whole number, got {least!r}", least=plan.least))
    for limit in fields(plan.limits):
        value = getattr(plan.limits, limit.name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LARGEST_LIMIT:
            shown = Phrase("a larger one") if isinstance(value, int) and value > _LARGEST_LIMIT else repr(value)
            raise ProtocolError(
                Phrase(
                    "the limit {name} must be a number not below 0 and at most 10^18, got {shown}",
                    name=limit.name,
                    shown=shown,
                )
            )


def _check_columns(plan: VerticalPlan) -> None:
    repeated = [name for name, times in Counter([*plan.columns, plan.target]).items() if times > 1]
    if repeated:
        raise ProtocolError(
            Phrase("the plan has two columns {value!r}; rename one of them in the data", value=repeated[0])
        )
    for name in (*plan.names, *plan.columns, plan.target, *(terms.id for terms in plan.parties)):
        if not name.strip() or len(name.splitlines()) > 1:
            raise ProtocolError(
                Phrase(
                    "the plan names something {name!r}; a name is one line, and not blank: rename it in the data, or "
                    "leave it out (--column names the columns to bring)",
                    name=name,
                )
            )
    if len(set(plan.names)) < len(plan.names):
        raise ProtocolError(Phrase("two parties of the plan have one name: {names}", names=", ".join(plan.names)))
    for terms in plan.parties:
        if not terms.columns:
            raise ProtocolError(Phrase("{name} brings no column", name=terms.name))
        if type(terms.most_ids) is not int or not 0 <= terms.most_ids <= _LARGEST_LIMIT:
            raise ProtocolError(
                Phrase("{name}'s most_ids must be a whole number, got {value!r}", name=terms.name, value=terms.most_ids)
            )
        if terms.id in terms.columns:
            raise ProtocolError(
                Phrase("{name}'s ids {ids!r} cannot be an explanatory column as well", name=terms.name, ids=terms.id)
            )


_FORMAT = 1
_HEADER = """\
# What the parties agree on. Compare the fingerprint (`kakuran vertical show`) by a way of your own, a telephone say,
# before anybody runs it. Whoever changes a word changes the fingerprint.
"""

_SETTINGS = {
    "target": TEXT,
    "holder": TEXT,
    "protocol": TEXT,
    "intercept": YES_OR_NO,
    "search": TEXT,
    "criterion": TEXT,
    "ranking": TEXT,
    "forced": NAMES,
    "least": WHOLE,
    "accelerated": YES_OR_NO,
}
_LIMITS = {limit.name: NUMBER for limit in fields(Limits)}
_TERMS = {"columns": NAMES, "id": TEXT, "certificate": TEXT, "most_ids": WHOLE}


def _checked(where: str, given: Any, known: Mapping[str, SettingKind], needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """Settings that are known and of their kind; lists of names as tuples."""
    settings = check_settings(where, given, known, needed)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()}
