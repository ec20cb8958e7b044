"""Which method to use and why, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kakuran.advice.methods import Outlook

NAMES = {
    "perturb": "perturbation (worst case)",
    "perturb-data-dependent": "perturbation (data-dependent)",
    "microaggregate": "microaggregation",
    "factorise": "factorisation",
}
_USELESS = 0.8
_HOW = {
    "perturb": "kakuran perturb",
    "perturb-data-dependent": "kakuran perturb --data-dependent",
    "microaggregate": "kakuran microaggregate",
    "factorise": "kakuran factorise",
}
_PROMISES = {
    "Pk-anonymity": "no released record can be linked to a person with probability above 1/{k:g}, and every value is "
    "random",
    "k-anonymity": "at least {k:g} records share their values, so nobody can tell whose is whose; but there is no ε: "
    "what stands for a group is computed from its members, and what all of them share is in plain sight",
}


def reasons(outlooks: Sequence[Outlook], guess: float, *, from_data: bool) -> Iterator[str]:
    """What to do, what it costs, what it promises, and what to do instead if that is not enough."""
    best, *others = [outlook for outlook in outlooks if outlook.errors is not None]
    yield (
        f"Use {NAMES[best.method]}, with {_HOW[best.method]}: of all that can be assessed it counts the fewest people "
        f"in the wrong cell, {_share(best)} on average over one- and two-way tables ({best.note})."
    )
    yield f"It promises {best.promise}: {_PROMISES[best.promise].format(k=best.k)}."
    stronger = [one for one in others if best.promise == "k-anonymity" and one.promise == "Pk-anonymity"][:1]
    for other in stronger:
        yield (
            "Where the values themselves must be hidden, and not only whose they are, use "
            f"{NAMES[other.method]}, with {_HOW[other.method]}: {_share(other)} in the wrong cell ({other.note})."
        )
    if "perturb-data-dependent" in [one.method for one in (best, *stronger)]:
        yield (
            "The parameters of data-dependent noise are computed from the data and published, so they tell a little "
            "about them; the worst case does not."
        )
    for other in others:
        if other not in stronger:
            yield f"{_capital(other)} would put {_share(other)} in the wrong cell ({other.promise}; {other.note})."
    if best.errors is not None and best.errors.both > _USELESS * guess:
        yield (
            f"Beware: guessing without any release would put {guess:.1%} in the wrong cell. At this k the release "
            "tells next to nothing; lower k, or release fewer columns."
        )
    for outlook in outlooks:
        if outlook.errors is None:
            yield f"{_capital(outlook)} was {outlook.note}."
    yield (
        "These errors were found on the data: keep this advice inside."
        if from_data
        else "No data were looked at: real tables are more regular than what was assumed, and come out better."
    )


def _capital(outlook: Outlook) -> str:
    name = NAMES[outlook.method]
    return name[0].upper() + name[1:]


def _share(outlook: Outlook) -> str:
    assert outlook.errors is not None  # noqa: S101
    return f"{outlook.errors.both:.1%}"
