"""Which method to use and why, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kakuran.advice.methods import K_ANONYMITY, PK_ANONYMITY, Outlook
from kakuran.phrases import Phrase

NAMES = {
    "perturb": Phrase("perturbation (worst case)"),
    "perturb-data-dependent": Phrase("perturbation (data-dependent)"),
    "microaggregate": Phrase("microaggregation"),
    "factorise": Phrase("factorisation"),
}
_USELESS = 0.8
_HOW = {
    "perturb": "kakuran perturb",
    "perturb-data-dependent": "kakuran perturb --data-dependent",
    "microaggregate": "kakuran microaggregate",
    "factorise": "kakuran factorise",
}


def reasons(outlooks: Sequence[Outlook], guess: float, *, from_data: bool) -> Iterator[Phrase]:
    """What to do, what it costs, what it promises, and what to do instead if that is not enough."""
    best, *others = [outlook for outlook in outlooks if outlook.errors is not None]
    yield Phrase(
        "Use {method}, with {command}: of all that can be assessed it counts the fewest people in the wrong cell, "
        "{share:.1%} on average over one- and two-way tables ({note}).",
        **_said_of(best),
    )
    yield _promised(best)
    stronger = [one for one in others if best.promise == K_ANONYMITY and one.promise == PK_ANONYMITY][:1]
    for other in stronger:
        yield Phrase(
            "Where the values themselves must be hidden, and not only whose they are, use {method}, with {command}: "
            "{share:.1%} in the wrong cell ({note}).",
            **_said_of(other),
        )
    if "perturb-data-dependent" in [one.method for one in (best, *stronger)]:
        yield Phrase(
            "The parameters of data-dependent noise are computed from the data and published, so they tell a little "
            "about them; the worst case does not."
        )
    for other in others:
        if other not in stronger:
            yield Phrase(
                "With {method}, {share:.1%} would be in the wrong cell ({promise}; {note}).", **_said_of(other)
            )
    if best.errors is not None and best.errors.both > _USELESS * guess:
        yield Phrase(
            "Beware: guessing without any release would put {guess:.1%} in the wrong cell. At this k the release "
            "tells next to nothing; lower k, or release fewer columns.",
            guess=guess,
        )
    for outlook in outlooks:
        if outlook.errors is None:
            yield Phrase(
                "With {method}, the error is not known ({note}).", method=NAMES[outlook.method], note=outlook.note
            )
    yield (
        Phrase("These errors were found on the data: keep this advice inside.")
        if from_data
        else Phrase(
            "No data were looked at: smooth tables come out better than this, numbers with a spike may come out worse."
        )
    )


def _promised(outlook: Outlook) -> Phrase:
    if outlook.promise == PK_ANONYMITY:
        return Phrase(
            "It promises Pk-anonymity: no released record can be linked to a person with probability above 1/{k:g}, "
            "and every value is random.",
            k=outlook.k,
        )
    return Phrase(
        "It promises k-anonymity: at least {k:g} records share their values, so nobody can tell whose is whose; but "
        "there is no ε: what stands for a group is computed from its members, and what all of them share is in plain "
        "sight.",
        k=outlook.k,
    )


def _said_of(outlook: Outlook) -> dict[str, object]:
    assert outlook.errors is not None  # noqa: S101
    return {
        "method": NAMES[outlook.method],
        "command": _HOW[outlook.method],
        "share": outlook.errors.both,
        "promise": outlook.promise,
        "note": outlook.note,
    }
