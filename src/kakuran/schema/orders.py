"""Orders that categories have: ranges such as <1, 1–3, 75+, and the scales of questionnaires, in many languages."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from itertools import pairwise

from kakuran.schema.personal import LONGEST, lexicon, plain, words_of

FEWEST_STEPS = 3
"""Values in order; of two, either order says the same."""

_NUMBER = re.compile(
    r"(?:(?:^|(?<=to )|(?<=[<>=])|(?<=[<>=] ))-)?\d+(?:[.,' ]\d{3})*(?![.,]?\d{3}(?!\d))(?:[.,]\d+)?|\d+"
)
_THOUSANDS = re.compile(r"[.,' ](?=\d{3}(?:\D|$))")
_TIMES: Mapping[str, float] = {"k": 1e3, "千": 1e3, "thousand": 1e3, "万": 1e4, "m": 1e6, "million": 1e6, "億": 1e8}
_ROMAN: Mapping[str, int] = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6}
_SIGNS = re.compile(r"[$€£¥\[\]()【】「」]")
_BRACKETS = re.compile(r"[\[(]\s*(\S+)\s*[,;]\s*(\S+)\s*[\])]")
_DASHES = re.compile("[\u2010-\u2015\u2212\u301c\u30fc~]")
_LEADING = re.compile(r"\(?(\d+)\)?\s*[.:)=\-]?\s*(.*)")


def proposed_order(values: Collection[str]) -> tuple[list[str], list[str]] | None:
    """The values from the least to the most, and those that say nothing, such as `unknown`; none if there is no order.

    Ranges must not overlap, and steps must all be of one scale. What is in order is a proposal: somebody who knows the
    table has to look at it.
    """
    if any(len(value) > LONGEST for value in values):
        return None
    unknown = _listed("unknown")
    silent = sorted(value for value in values if _bare(value) in unknown)
    ranked = [value for value in values if _bare(value) not in unknown]
    for places in (_ranges, _steps, _counted, _numbered):
        ranks = places(ranked) if len(ranked) >= FEWEST_STEPS else None
        if ranks is not None:
            return sorted(ranked, key=ranks.__getitem__), silent
    return None


@cache
def _listed(name: str) -> frozenset[str]:
    words = (word.strip() for word in lexicon()["orders"][name].replace("\n", " ").split("|"))
    return frozenset(word for word in words if word)


def _bare(value: str) -> str:
    return " ".join(plain(value).replace("_", " ").replace("-", " ").strip(" .:!").split()) or plain(value).strip()


@cache
def _limits(name: str) -> re.Pattern[str]:
    """Words that open a range at one end; letters are words, signs stand anywhere."""
    longest = sorted(_listed(name), key=len, reverse=True)
    return re.compile("|".join(rf"(?<![a-z]){re.escape(one)}(?![a-z])" for one in longest))


def _ranges(values: Sequence[str]) -> dict[str, tuple[float, float]] | None:
    """Each as where it begins and ends; none unless all are ranges, or numbers among them, one after the other."""
    ranges = {value: _range(value) for value in values}
    ends = sorted(one for one in ranges.values() if one is not None)
    if len(ends) < len(ranges) or all(low == high for low, high in ends):
        return None
    if any(before[1] > after[0] or before == after for before, after in pairwise(ends)):
        return None
    return ranges  # type: ignore[return-value]


def _range(value: str) -> tuple[float, float] | None:
    """Where a range begins and ends, if that is what a value says."""
    text = _DASHES.sub("-", plain(value)).strip()
    if bracketed := _BRACKETS.fullmatch(text):
        low, high = bracketed.groups()
        text = (
            f"< {high}" if low in ("-inf", "-∞") else f"> {low}" if high in ("inf", "+inf", "∞") else f"{low} to {high}"
        )
    text = _SIGNS.sub(" ", text).strip()
    if text in _listed("none"):
        return 0.0, 0.0
    found = [*_NUMBER.finditer(re.sub(r"(?<=\d)-(?=\d)", " - ", text))]
    text = found[0].string if found else text
    words = _NUMBER.sub(" # ", text)
    if len(found) == 2:
        return _closed(words, *(_number_at(one, text) for one in found))
    if len(found) != 1:
        return None
    number, times = _number_at(found[0], text)
    for name, ends in (("below", (-math.inf, number * times)), ("above", (number * times, math.inf))):
        if _limits(name).search(words):
            return ends if not _without_units(_limits(name).sub(" ", words)) else None
    if _without_units(words):
        return None
    return (number, number + 9.5) if re.search(r"# ?(代|s)(?![a-z])", words) else (number, number)


def _closed(words: str, first: tuple[float, float], last: tuple[float, float]) -> tuple[float, float] | None:
    """A range with both ends; in 10-50k, the first is of thousands, too."""
    before, between, after = words.split("#")
    join = _without_units(_limits("below").sub(" ", _limits("above").sub(" ", between)))
    after = _limits("below").sub(" ", after)
    is_joined = not join or all(word in _listed("between") for word in join)
    low, high = first[0] * first[1], last[0] * last[1]
    low *= last[1] if first[1] == 1 and low * last[1] < high else 1
    return (low, high) if is_joined and low <= high and not _without_units(f"{before} {after}") else None


def _number_at(found: re.Match[str], text: str) -> tuple[float, float]:
    """A number, and by what the word after it multiplies it."""
    bare = _THOUSANDS.sub("", found[0]).replace(",", ".").replace("'", "").replace(" ", "")
    after = text[found.end() :].lstrip()
    unit = next((one for one in sorted(_TIMES, key=len, reverse=True) if _starts(after, one)), None)
    return float(bare), _TIMES[unit] if unit else 1.0


def _starts(text: str, unit: str) -> bool:
    return text.startswith(unit) and (not unit.isascii() or not text[len(unit) :][:1].isalpha())


def _without_units(words: str) -> list[str]:
    """What is left besides signs and what is counted."""
    known = words_of("orders", "units") | frozenset(_TIMES) | {"s"}
    longest = sorted((one for one in known if not one.isascii()), key=len, reverse=True)
    left = re.sub("|".join(map(re.escape, longest)), " ", re.sub(r"[#+\-.,;:/'’<>=≤≥%…]", " ", words))
    return [word for word in left.split() if word not in known]


@cache
def _scales() -> list[dict[str, int]]:
    """Each scale as the place of each of its words."""
    lines = lexicon()["orders"]["scales"].strip().splitlines()
    return [
        {word.strip(): place for place, step in enumerate(line.split(", ")) for word in step.split("|")}
        for line in lines
    ]


def _steps(values: Sequence[str]) -> dict[str, int] | None:
    """Each as its place on the one scale that has all of them."""
    bare = {value: _bare(value) for value in values}
    for scale in _scales():
        if all(word in scale for word in bare.values()):
            places = {value: scale[word] for value, word in bare.items()}
            if len(set(places.values())) == len(places):
                return places
    return None


def _counted(values: Sequence[str]) -> dict[str, int] | None:
    """Grade 1, Grade 2; stage II; 3年生: the same word beside each number."""
    before, after = _listed("counted"), _listed("counted_after")
    places, beside = {}, set()
    for value in values:
        found = re.fullmatch(r"(\D*?)\s*(\d+|[iv]+)\s*(\D*)", _bare(value))
        if found is None or not (found[1] in before or (found[1] in ("", "第") and found[3] in after)):
            return None
        number = _ROMAN.get(found[2]) if found[2].isalpha() else int(found[2])
        if number is None:
            return None
        places[value] = number
        beside.add(found[1])
    return places if len(beside) == 1 and len(set(places.values())) == len(places) else None


def _numbered(values: Sequence[str]) -> dict[str, int] | None:
    """`1 very bad`, `2`, …, `5 - very good`: numbers, of which some are said in words of one scale."""
    found = {value: _LEADING.fullmatch(plain(value).strip()) for value in values}
    if not all(found.values()):
        return None
    places = {value: int(one[1]) for value, one in found.items() if one}
    said = {value: _bare(one[2]) for value, one in found.items() if one and one[2].strip(" .")}
    if len(set(places.values())) < len(places) or len(said) < 2:
        return None
    return places if any(all(word in scale for word in said.values()) for scale in _scales()) else None
