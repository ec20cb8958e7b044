"""What is a person's, by the values of a column and its name: names, addresses, numbers; in many languages.

A value is published with the schema as soon as it is listed as a category, however rare it is. So what names somebody,
or leads to somebody, must be known by the look of it. Cities, jobs and products look like people at times: where
values alone could be either, the column's name decides, or how many of them are names that people are given.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from ipaddress import ip_address
from typing import Any

from kakuran.parsing import parse_document
from kakuran.words import Phrase

MOST = 0.8
"""Of the values of a column: so many must look like something for the column to be that."""
SOME = 0.25
"""So many must have a name that people are given: a list of them knows no more of people from all over the world."""
SINGLE = 0.6
"""The same of values of one word, such as first names: a word alone is a name more easily."""
FEWEST_NAMES = 5
LONGEST = 200
"""Letters of a value that are looked at: what is longer is no name, and patterns take long to fail on it."""
FEWEST_PEOPLE = 20
"""So many values at least, where their look is all there is to go by."""

CALLED = Phrase("named like what people are called or reached by")
_NAMES = Phrase("looks like names of people")
_NUMBERS = Phrase("looks like numbers of people, such as a patient's or a customer's")

_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMPS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CJK = re.compile(r"[\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_PLACE = re.compile(r".*[県都府市区町村郡駅店社院校]")
_PATRONYMIC = re.compile(r".*(ович|евич|ьич|овна|евна|инична|ов|ова|ев|ева|ин|ина|ский|ская|ський|ська|енко|чук|ко|ич)")


@cache
def lexicon() -> dict[str, Any]:
    """The words by which columns are known."""
    return parse_document((resources.files("kakuran.schema") / "lexicon.toml").read_text(encoding="utf-8"))


@cache
def words_of(table: str, name: str) -> frozenset[str]:
    """The words of one list."""
    return frozenset(lexicon()[table][name].split())


def plain(text: str) -> str:
    """Text as the lexicon has it: lower case, of one width, without accents."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    bare = "".join(letter for letter in folded if not unicodedata.combining(letter) or "\u3099" <= letter <= "\u309a")
    return unicodedata.normalize("NFC", bare)


@dataclass(frozen=True)
class PersonalKind:
    """Something that belongs to a person: what a draft says of it, and whether a value is one."""

    reason: str
    fits: Callable[[str], Any] = bool
    share: float = MOST
    is_persons: bool = True
    """Whether one value stands for one person, so that rows that share it may be that person's."""

    @property
    def are_names(self) -> bool:
        """Whether two people may have the same."""
        return self.reason == _NAMES


def personal_kind(name: str, values: Collection[str]) -> PersonalKind | None:
    """What the texts of a column are of a person, if they are; its values are given once each."""
    texts = [value.strip()[:LONGEST] for value in values if value.strip()]
    if not texts:
        return None
    header = _Header.of(name)
    for kind in _KINDS:
        if _share(texts, kind.fits) >= kind.share:
            return kind
    if header.is_called or (header.is_reached and not _say_yes_or_no(texts)):
        return PersonalKind(CALLED, is_persons=header.is_reached or _share(texts, _is_full_name) >= MOST)
    has_numbers = _share(texts, _is_numbered) >= MOST
    if header.is_registered and has_numbers:
        return PersonalKind(CALLED)
    if header.lives and has_numbers:
        return PersonalKind(_ADDRESS, is_persons=False)
    if header.is_of_people and has_numbers and len(texts) >= FEWEST_PEOPLE:
        return PersonalKind(_NUMBERS)
    return _names(header, texts)


def is_named_for_people(name: str) -> bool:
    """Whether a column is named like what people are called or registered as, whatever it holds."""
    header = _Header.of(name)
    return header.is_called or header.is_registered


def personal_number(name: str, numbers: Collection[int]) -> PersonalKind | None:
    """What the whole numbers of a column are of a person, if they are; those that differ are given."""
    texts, header = [*map(str, numbers)], _Header.of(name)
    for kind in (_CARDS, _NATIONAL):
        if len(texts) >= FEWEST_NAMES and _share(texts, kind.fits) >= kind.share:
            return kind
    if (header.is_reached or header.is_registered) and _share(texts, _is_numbered) >= MOST:
        return PersonalKind(CALLED)
    if len(texts) < FEWEST_PEOPLE:
        return None
    if header.is_of_people and header.is_numbering:
        return PersonalKind(_NUMBERS)
    return PersonalKind(_LONG) if min(numbers) >= 10**8 and not _are_times(numbers) else None


def may_be_names(name: str, values: Collection[str]) -> bool:
    """Whether texts look like names of people in a language of which no names are listed: it could be other things."""
    texts = [value.strip()[:LONGEST] for value in values if value.strip()]
    if len(texts) < FEWEST_PEOPLE or _Header.of(name).is_of_things:
        return False
    return _share(texts, _is_capitalised_name) >= MOST


def _are_times(numbers: Collection[int]) -> bool:
    """Whether they may be seconds, or thousandths of them, since 1970: from 1990 to 2040."""
    return any(all(631e6 <= number / scale <= 2_210e6 for number in numbers) for scale in (1, 1e3, 1e6, 1e9))


@dataclass(frozen=True)
class _Header:
    """What the name of a column says."""

    words: tuple[str, ...]

    @classmethod
    def of(cls, name: str) -> _Header:
        return cls(tuple(_WORD.findall(plain(_HUMPS.sub(" ", name)))))

    @property
    def _joined(self) -> str:
        return "".join(self.words)

    @property
    def is_called(self) -> bool:
        alone = self._joined in words_of("headers", "called_alone")
        return alone or any(stem in self._joined for stem in words_of("headers", "called"))

    @property
    def is_reached(self) -> bool:
        return self._ends_with("reached")

    @property
    def is_registered(self) -> bool:
        return self._ends_with("registered")

    @property
    def lives(self) -> bool:
        return self._ends_with("lives")

    def _ends_with(self, listed: str) -> bool:
        """Whether it ends with such a word; a short one stands by itself: a zip is no ip."""
        alone, joined = _endings(listed)
        return bool(alone.search(" ".join(self.words)) or joined.search(self._joined))

    @property
    def is_of_people(self) -> bool:
        """Whether all of it names somebody, and nothing about them, as `customer segment` does."""
        people, beside = words_of("headers", "people"), words_of("headers", "with_people")
        if any(word in people for word in self.words):
            return all(word in people or word in beside or word.isdecimal() for word in self.words)
        return bool(_people_in_characters().fullmatch(self._joined))

    @property
    def is_numbering(self) -> bool:
        return any(word in ("id", "no", "nr", "num", "number", "nummer", "key") for word in self.words) or (
            self._joined.endswith(("id", "番号", "コード"))
        )

    @property
    def is_of_things(self) -> bool:
        return not words_of("headers", "things").isdisjoint(self.words) or any(
            self._joined.endswith(word) for word in words_of("headers", "things") if _CJK.match(word)
        )


@cache
def _endings(listed: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    then = "|".join(sorted(words_of("headers", "then"), key=len, reverse=True))
    words = words_of("headers", listed)
    short = [word for word in words if len(word) < 7 and not _CJK.match(word)]
    long = words.difference(short)
    ending = rf"(?: ?(?:{then}|\d+))*$"
    return re.compile(rf"(?:^| )(?:{'|'.join(short)}){ending}"), re.compile(rf"(?:{'|'.join(long)}){ending}")


@cache
def _people_in_characters() -> re.Pattern[str]:
    people = "|".join(word for word in words_of("headers", "people") if _CJK.match(word))
    return re.compile(rf"({people})(様|さん)?(名|番号|id|no|コード|번호)?")


def _share(texts: Collection[str], fits: Callable[[str], Any]) -> float:
    return sum(bool(fits(text)) for text in texts) / len(texts)


def _say_yes_or_no(texts: Collection[str]) -> bool:
    return {plain(text) for text in texts} <= words_of("headers", "yes_or_no")


def _is_numbered(text: str) -> bool:
    return sum(letter.isdecimal() for letter in text) >= (3 if any(map(str.isalpha, text)) else 5)


def _names(header: _Header, texts: Collection[str]) -> PersonalKind | None:
    """Names of people: by the look of them where the column is named for somebody, else by those that people have."""
    kind = PersonalKind(_NAMES, is_persons=_share(texts, _is_full_name) >= MOST)
    if header.is_of_people and _look_like_names(texts):
        return kind
    if header.is_of_things:
        return None
    given = [text for text in texts if _has_given_name(text)]
    are_many, share = len(given) >= FEWEST_NAMES, len(given) / len(texts)
    if are_many and share >= SOME and _share(texts, _is_full_name) >= MOST:
        return kind
    if len(given) >= 2 * FEWEST_NAMES and share >= SINGLE:
        return kind
    return kind if len(texts) >= FEWEST_PEOPLE and _share(texts, _is_east_asian_name) >= MOST else None


def _look_like_names(texts: Collection[str]) -> bool:
    if _share(texts, _has_given_name) >= SOME and len(texts) > 2:
        return True
    if _share(texts, _is_capitalised_name) >= MOST:
        return len(texts) >= 2 * FEWEST_NAMES
    return len(texts) >= FEWEST_PEOPLE and _share(texts, _is_short_name) >= MOST


def _parts(text: str) -> list[str]:
    return [part for part in re.split(r"[\s,.・=＝　]+", text) if part]


def _is_word(text: str) -> bool:
    """Whether it is of letters, of whatever script, with the marks that some write above or below them."""
    return all(sign in "-'’" or unicodedata.category(sign)[0] in "LM" for sign in text)


def _is_capitalised(text: str) -> bool:
    """Whether it starts as a name does: with a capital letter, where its script has them within a text."""
    return text[0].isalpha() and text[0] == text[0].title()


def _is_full_name(text: str) -> bool:
    """Whether it may be the whole name of somebody: two to five words of letters, or a few Chinese characters."""
    parts = _parts(text)
    return all(map(_is_word, parts)) and (2 <= len(parts) <= 5 or (len(parts) == 1 and _has_japanese_name(text)))


def _is_capitalised_name(text: str) -> bool:
    parts = [part for part in _parts(text) if part.casefold() not in words_of("given", "particles")]
    return 2 <= len(parts) <= 4 and all(_is_capitalised(part) and not any(map(str.isdecimal, part)) for part in parts)


def _is_short_name(text: str) -> bool:
    parts = _parts(text)
    is_cased = text.title() != text.lower()
    are_words = all(map(_is_word, parts)) and 1 <= len(parts) <= 4
    return are_words and (text[0].isupper() if is_cased else len(text) <= 20)


def _has_given_name(text: str) -> bool:
    parts = [plain(part) for part in re.split(r"[\s,.\-]+", text) if part]
    if not 1 <= len(parts) <= 5 or any(map(str.isdecimal, text)):
        return False
    given = words_of("given", "names")
    is_given = any(part in given or part.removeprefix("ال") in given for part in parts)
    return is_given or _has_russian_name(text) or _has_japanese_name(text)


def _has_russian_name(text: str) -> bool:
    parts = _parts(text)
    are_capitalised = all("\u0400" <= part[0] <= "\u042f" for part in parts)
    endings = sum(bool(_PATRONYMIC.fullmatch(part.casefold())) for part in parts)
    return 2 <= len(parts) <= 3 and are_capitalised and endings >= len(parts) - 1


def _has_japanese_name(text: str) -> bool:
    bare = text.replace(" ", "").replace("\u3000", "")
    is_name = 3 <= len(bare) <= 7 and all(map(_CJK.match, bare)) and not _PLACE.fullmatch(bare)
    return is_name and any(bare.startswith(name) and bare != name for name in words_of("given", "japanese"))


def _is_east_asian_name(text: str) -> bool:
    """Chinese and Korean names: a family name of one character, and one or two after it."""
    bare = text.replace(" ", "")
    if _PLACE.fullmatch(bare):
        return False
    is_korean = len(bare) == 3 and bare[0] in lexicon()["given"]["korean"] and all("가" <= one <= "힣" for one in bare)
    is_chinese = 2 <= len(bare) <= 3 and bare[0] in lexicon()["given"]["chinese"] and all(map(_CJK.match, bare))
    return is_korean or is_chinese


def _digits(text: str) -> str:
    return "".join(letter for letter in text if letter.isdecimal())


def luhn(text: str) -> bool:
    """Whether digits have the check digit of payment cards."""
    doubled = [int(digit) * (1 + place % 2) for place, digit in enumerate(reversed(_digits(text)))]
    return sum(number - 9 * (number > 9) for number in doubled) % 10 == 0


def _is_card(text: str) -> bool:
    return bool(_CARD.fullmatch(text)) and 13 <= len(_digits(text)) <= 19 and luhn(text)


def _has_iban(text: str) -> bool:
    found = _IBAN.search(text.upper())
    if found is None:
        return False
    bare = found[0].replace(" ", "")
    turned = "".join(str(int(letter, 36)) for letter in bare[4:] + bare[:4])
    return int(turned) % 97 == 1


def _is_phone(text: str) -> bool:
    digits = len(_digits(text))
    if not _PHONE.fullmatch(text) or not 9 <= digits <= 15 or text.startswith(("978", "979")):
        return False
    return text.startswith(("+", "00")) or bool(_DOMESTIC.match(text)) or len(re.findall(r"\d+", text)) >= 3


def _is_machine(text: str) -> bool:
    """The address of a machine on the net, or another number that only one has."""
    try:
        return bool(ip_address(text))
    except ValueError:
        return bool(_UNIQUE.fullmatch(text))


def _weighted(factors: Collection[int], modulus: int) -> Callable[[str], int]:
    return lambda digits: sum(int(digit) * factor for digit, factor in zip(digits, factors, strict=False)) % modulus


def _is_national_id(text: str) -> bool:
    return any(pattern.fullmatch(text.upper()) and check(text.upper()) for pattern, check in _NATIONAL_IDS.items())


_CARD = re.compile(r"\d{4}([ -]?)\d{4,6}\1\d{4,5}(\1\d{1,4})?(\1\d{1,3})?")
_EMAIL = re.compile(r"[^@\s<>,;]+@[^@\s<>,;]+\.[^@\s<>,;]{2,}")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2} ?(?:[A-Z0-9]{4} ?){2,7}[A-Z0-9]{0,4}\b")
_PHONE = re.compile(r"\+?[\d\s().\-/\u2010-\u2015]+(\s*(x|ext\.?|内線)\s*\d+)?")
_DOMESTIC = re.compile(r"\(?0\d|\(\d{3}\)")
_URL = re.compile(r"(?i)(https?://|www\.)\S+")
_UNIQUE = re.compile(r"(?i)([0-9a-f]{2}[:-]){5}[0-9a-f]{2}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32,}")
_HANDLE = re.compile(r"@\w{2,}")
_STREET = re.compile(
    r"(?i).*("
    r"\d.*\b(street|st|road|rd|avenue|ave|lane|ln|drive|dr|court|blvd|boulevard|rue|all[eé]e|chemin|place|quai|route|impasse)\b\.?"
    r"|(stra(ß|ss)e|str\.|gasse|weg|platz|allee|damm|ufer|straat|laan|plein|gatan|v[aä]gen|vej|gade|veien|katu|utca)\s*\d"
    r"|\b(via|viale|piazza|corso|calle|avenida|av\.|plaza|rua|travessa|ulica|ul\.|улица|ул\.|проспект|пр\.|sokak|caddesi)\W.*\d"
    r"|丁目|番地|号室|[市区町村].*\d+[-−－ー]\d+"
    r"|شارع"
    r").*"
)
_FEW_HOUSES = re.compile(
    r"(?i)[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}|\d{4} ?[A-Z]{2} \d+ ?[A-Z]?|\d{4} [A-Z]{2}|[A-Z]\d[A-Z] \d[A-Z]\d"
    r"|\d{5}[ /,]+\d{1,4}[A-Z]?"
)
_POSITION = re.compile(r"[(\[]?\s*-?\d{1,3}\.\d{3,}\s*[,; ]\s*-?\d{1,3}\.\d{3,}\s*[)\]]?")

_NATIONAL_IDS: Mapping[re.Pattern[str], Callable[[str], bool]] = {
    re.compile(r"\d{3}-\d{2}-\d{4}"): lambda _: True,  # United States
    re.compile(r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]"): lambda _: True,  # Finland, Denmark, Sweden
    re.compile(r"\d{6}-\d{4}|\d{8}-\d{4}|\d{6}-\d{7}"): lambda _: True,  # Denmark, Sweden, Korea
    re.compile(r"[A-Z]{6}\d{2}[A-EHLMPR-T]\d{2}[A-Z]\d{3}[A-Z]"): lambda _: True,  # Italy
    re.compile(r"[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]"): lambda _: True,  # United Kingdom
    re.compile(r"[A-Z]{5}\d{4}[A-Z]"): lambda _: True,  # India
    re.compile(r"\d{3}\.\d{3}\.\d{3}-\d{2}"): lambda _: True,  # Brazil
    re.compile(r"\d{7,8}-?[A-Z]"): lambda text: "TRWAGMYFPDXBNJZSQVHLCKE"[int(_digits(text)) % 23] == text[-1],  # Spain
    re.compile(r"\d{17}[\dX]"): lambda text: (  # China
        "10X98765432"[_weighted([2**place % 11 for place in range(17, 0, -1)], 11)(text[:17])] == text[-1]
    ),
    re.compile(r"[12]\d{14}"): lambda text: 97 - int(text[:13]) % 97 == int(text[13:]),  # France
    re.compile(r"\d{11}"): lambda text: _weighted([1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1], 10)(text) == 0,  # Poland
    re.compile(r"\d{12}"): lambda text: (  # Japan
        (11 - _weighted([6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2], 11)(text[:11])) % 11 % 10 == int(text[11])
    ),
}
"""How numbers of people are written, and whether their check digits fit."""

_LONG = Phrase("holds numbers of nine digits or more, as identifiers have")
_ADDRESS = Phrase("looks like addresses of houses")
_CARDS = PersonalKind(Phrase("looks like numbers of payment cards"), _is_card)
_NATIONAL = PersonalKind(Phrase("looks like numbers that a state or an insurance gives to people"), _is_national_id)
_KINDS = (
    PersonalKind(Phrase("holds e-mail addresses"), _EMAIL.search, share=1e-9),
    PersonalKind(Phrase("holds numbers of bank accounts (IBAN)"), _has_iban, share=1e-9),
    _CARDS,
    _NATIONAL,
    PersonalKind(Phrase("looks like phone numbers"), _is_phone),
    PersonalKind(Phrase("looks like addresses or numbers of machines"), _is_machine),
    PersonalKind(Phrase("looks like names that people have on the net"), _HANDLE.fullmatch),
    PersonalKind(Phrase("looks like addresses of web pages"), _URL.match, is_persons=False),
    PersonalKind(_ADDRESS, _STREET.fullmatch, share=0.5, is_persons=False),
    PersonalKind(_ADDRESS, _FEW_HOUSES.fullmatch, is_persons=False),
    PersonalKind(Phrase("looks like places to within a few metres"), _POSITION.fullmatch, is_persons=False),
)
"""What is known by its look alone."""
