"""The questions of a survey: what may be answered, how they are put to people, and whom they apply to.

Whoever a question does not apply to, or who would rather not answer it, gives a value like any other, perturbed
like any other: what arrives has the same members for everybody, and nobody sees who was asked what.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import compress, groupby
from typing import Any, Literal, TypeAlias, get_args

from kakuran.errors import SchemaError
from kakuran.parsing import ANYTHING, YES_OR_NO, SettingKind, check_settings, check_table
from kakuran.schema import Categorical, Date, Dropped, Numeric, Value, attribute_of
from kakuran.words import Phrase, which_there_are

Texts: TypeAlias = Mapping[str, str]
ToldAs: TypeAlias = Literal["each", "set"]

NOT_APPLICABLE = "does not apply"
"""The answer of those whom a question does not apply to, where answers are texts in no order; else it is missing."""
NONE = "none"
"""The set of options that has none."""
MOST_SETS = 64
"""Sets that one column may have as its values; a promise spreads over all of them."""
LONGEST_NAME = 1000
"""Characters that respondents' pages take; what cannot be seen, they know as well (`static/definition.js`)."""
_TURNING = re.compile("[\u202a-\u202e\u2066-\u2069]")
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0000-\U000e0fff]"
)
_JOINERS = re.compile("[\u200c\u200d\ufe0e\ufe0f]")
"""What some languages and pictures cannot be written without; labels may have them."""

_ALIKE = (
    "\u0430a \u0435e \u043eo \u0440p \u0441c \u0443y \u0445x \u0455s \u0456i \u0458j \u0501d \u04bbh "
    "\u051bq \u051dw \u04cfl \u0475v \u0410A \u0412B \u0415E \u041dH "
    "\u0406I \u0408J \u041aK \u041cM \u041eO \u0420P \u0421C \u0422T \u0423Y \u0425X \u0405S \u050cG "
    "\u051aQ \u051cW \u04aeY \u04c0I "
    "\u03b1a \u03bfo \u03bdv \u03c1p \u03b9i \u03c5u \u03b3y \u03f3j \u0391A \u0392B \u0395E \u0396Z "
    "\u0397H \u0399I \u039aK \u039cM \u039dN \u039fO \u03a1P \u03a4T \u03a5Y \u03a7X "
    "\u0585o \u0578n \u057du \u0570h \u0566q \u0581g \u054dU \u0555O \u054fS "
    "\u13aaA \u13f4B \u13dfC \u13acE \u13bbH \u13abJ \u13e6K \u13deL \u13b7M \u13e2P \u13d2R \u13daS "
    "\u13a2T \u13d9V \u13b3W \u13c3Z "
    "\u0251a \u0261g "
    "\u30d8へ \u30d9べ \u30daぺ \u30ed口 \u30a8工 \u30ab力 \u30bf夕 \u30cb二 \u30cf八 \u30c8卜 \u30c1千 \u30fc一"
)
"""Letters of Cyrillic, Greek, Armenian, Cherokee, phonetics and kana, each with the letter that it looks like."""
_TWINS = {pair[0]: pair[1] for pair in _ALIKE.split()}
_LOOKING_LIKE = str.maketrans(_TWINS)
MOST_COLUMNS = 1000
"""Of a survey; pages take no more."""


@dataclass(frozen=True)
class Several:
    """A question that may have several answers: options that are ticked or not.

    Attributes
    ----------
    name : str
        The question.
    text : Texts
        As it is put, in every language.
    options : Mapping[str, Texts]
        What may be ticked, and what it is called in every language.
    """

    name: str
    text: Texts
    options: Mapping[str, Texts]


@dataclass(frozen=True)
class Question:
    """One question: a column of the release, and how it is put to people.

    Attributes
    ----------
    attribute : Categorical | Numeric
        What may be answered; who would rather not answer is missing, where that is a category.
    text, help : Texts
        The question and a hint, in every language.
    labels : Mapping[str, Texts]
        What each value of a category is called, in every language.
    unit : Texts
        Of a number, in every language.
    mechanism : str | None
        Its kind, where the default is not wanted.
    only_if : Mapping[str, Sequence[Value]]
        Earlier questions, and the answers to each that lead here; others answer `NOT_APPLICABLE`, or are missing where
        that is not among the values.
    several : Several | None
        The question with several answers that this column is told of.
    ticks : Sequence[str]
        Its options that this column tells: value number i is that set of them whose places have a one in i's binary
        digits.
    """

    attribute: Categorical | Numeric
    text: Texts
    help: Texts = field(default_factory=dict)
    labels: Mapping[str, Texts] = field(default_factory=dict)
    unit: Texts = field(default_factory=dict)
    mechanism: str | None = None
    only_if: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    several: Several | None = None
    ticks: Sequence[str] = ()

    @property
    def name(self) -> str:
        """The column."""
        return self.attribute.name

    @property
    def asked(self) -> str:
        """The question that people are asked, of which there may be several columns."""
        return self.name if self.several is None else self.several.name

    @property
    def answers(self) -> Sequence[Value]:
        """What other questions may depend on; nothing, where it is a number."""
        if self.several is not None:
            return tuple(self.several.options)
        return [value for code, value in enumerate(self.attribute.names_of(0) or ()) if code != self.outside]

    @property
    def outside(self) -> int | None:
        """The code of those whom it does not apply to, if it does not apply to all."""
        if not self.only_if:
            return None
        values = self.attribute.values if isinstance(self.attribute, Categorical) else ()
        return list(values).index(NOT_APPLICABLE) if NOT_APPLICABLE in values else self.attribute.size - 1

    @property
    def may_be_skipped(self) -> bool:
        """Whether people are offered not to answer."""
        return self.attribute.missing == "category" and self.outside != self.attribute.size - 1

    def to_dict(self, languages: Sequence[str]) -> dict[str, Any]:
        """What a respondent's page needs to ask it."""
        asked = {"name": self.name, "text": dict(self.text), "help": dict(self.help)} | self._routing()
        names = self.attribute.names_of(0)
        if isinstance(self.attribute, Categorical) or names is not None:
            values = [{"value": value, "label": self._label(value, languages)} for value in names or ()]
            return asked | {"kind": "categorical", "values": values}
        if isinstance(self.attribute, Date):
            bounds = {name: self.attribute.settings()[name] for name in ("low", "high", "step")}
            return asked | {"kind": "date", **bounds}
        grid = {"low": self.attribute.low, "high": self.attribute.high, "step": self.attribute.step}
        return asked | {"kind": "numeric", **grid, "unit": dict(self.unit)}

    def _routing(self) -> dict[str, Any]:
        """What is beside its values: nothing where everybody gives one answer of them."""
        told: dict[str, Any] = {}
        if self.attribute.missing == "category":
            told["missing"] = "skipped" if self.may_be_skipped else "outside"
        if self.only_if:
            told |= {"only_if": {name: list(values) for name, values in self.only_if.items()}, "outside": self.outside}
        if self.several is not None:
            options = [{"value": value, "label": dict(label)} for value, label in self.several.options.items()]
            whole = {"name": self.several.name, "text": dict(self.several.text), "options": options}
            told["several"] = whole | {"ticks": list(self.ticks)}
        return told

    def _label(self, value: Any, languages: Sequence[str]) -> dict[str, str]:
        return dict(self.labels.get(str(value), {language: str(value) for language in languages}))


def check_questions(questions: Sequence[Question]) -> None:
    """Refuse answers that would be sent as they are, and questions that depend on what is not known before."""
    asked = {question.asked: question for question in questions}
    earlier: list[str] = []
    if len(questions) > MOST_COLUMNS:
        raise SchemaError(
            Phrase(
                "the questions have {count:,} columns, more than the {most:,} that pages take; ask fewer",
                count=len(questions),
                most=MOST_COLUMNS,
            )
        )
    _check_seen(Phrase("the questions"), [question.name for question in questions])
    for question in questions:
        _check_perturbed(question)
        _check_answers(question)
        for name, values in question.only_if.items():
            with_reason = f"question {question.asked!r}: only_if"
            _check_order(with_reason, question, name, asked, earlier)
            _check_leads(with_reason, asked[name], values)
        earlier.append(question.asked)


def _check_perturbed(question: Question) -> None:
    attribute, where = question.attribute, f"question {question.name!r}"
    if attribute.role != "perturb":
        raise SchemaError(
            Phrase("{where}: every answer is perturbed, its role cannot be {role!r}", where=where, role=attribute.role)
        )
    has_value = isinstance(attribute, Categorical) and NOT_APPLICABLE in attribute.values
    if question.only_if and not has_value and attribute.missing != "category":
        raise SchemaError(
            Phrase(
                "{where}: with only_if it needs an answer for those whom it does not apply to: {answer!r} "
                'among its values, or missing = "category"',
                where=where,
                answer=NOT_APPLICABLE,
            )
        )


def _check_answers(question: Question) -> None:
    """Refuse what every respondent's page would refuse, as if a server lied: names that cannot be told apart."""
    where = Phrase("question {asked!r}", asked=question.asked)
    values = question.attribute.names_of(0) or ()
    _check_seen(where, [value for value in values if isinstance(value, str)])
    for language in question.text:
        _check_seen(where, [_JOINERS.sub("", question._label(value, [language])[language]) for value in values])
        options = question.several.options if question.several else {}
        _check_seen(where, [_JOINERS.sub("", label[language]) for label in options.values()])


def _check_seen(where: Phrase, names: Sequence[str]) -> None:
    """Refuse names of which something cannot be seen, and such as look alike."""
    known: dict[str, str] = {}
    for name in names:
        looks = _looks(name)
        if not looks or len(name) > LONGEST_NAME or any(map(_is_unseen, name)) or name == "__proto__":
            raise SchemaError(
                Phrase(
                    "{where}: {name!r} is empty, longer than {most:,} characters or has some that cannot be seen; "
                    "rename it, as a respondent's page would refuse it",
                    where=where,
                    name=name,
                    most=LONGEST_NAME,
                )
            )
        for letter, twin in _mixed(name):
            raise SchemaError(
                Phrase(
                    "{where}: {letter!r} in {name!r} looks like the Latin {twin!r} beside it; write a word in one "
                    "script",
                    where=where,
                    letter=letter,
                    name=name,
                    twin=twin,
                )
            )
        if looks in known:
            raise SchemaError(
                Phrase(
                    "{where}: {name!r} and {other!r} look the same to respondents; rename one of them",
                    where=where,
                    name=name,
                    other=known[looks],
                )
            )
        known[looks] = name


def _looks(name: str) -> str:
    """What can be seen of a name, the same for all that look alike."""
    seen = (char for char in unicodedata.normalize("NFKC", name) if not _is_unseen(char))
    return " ".join("".join(seen).split()).translate(_LOOKING_LIKE)


def _mixed(name: str) -> Iterator[tuple[str, str]]:
    """Letters of a name that look like Latin ones and stand in a word with some, and what they look like."""
    written = unicodedata.normalize("NFKC", name)
    for is_word, letters in groupby(written, lambda one: unicodedata.category(one)[0] in "LM"):
        word = list(letters)
        if is_word and any(map(_is_latin, word)):
            yield from ((one, _TWINS[one]) for one in word if _is_latin(_TWINS.get(one, " ")))


def _is_latin(character: str) -> bool:
    return unicodedata.name(character, "").startswith("LATIN ")


def _is_unseen(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") or bool(_UNSEEN.match(character))


def _check_order(
    where: str, question: Question, name: str, asked: Mapping[str, Question], earlier: Sequence[str]
) -> None:
    if name == question.asked:
        raise SchemaError(Phrase("{where}: a question cannot decide on itself", where=where))
    if name not in asked:
        raise SchemaError(
            Phrase(
                "{where}: there is no question {name!r}. {others}",
                where=where,
                name=name,
                others=which_there_are(name, asked),
            )
        )
    if name in earlier:
        return
    if question.asked in asked[name].only_if:
        raise SchemaError(
            Phrase(
                "{where}: {name!r} depends on it in turn; one of the two has to be asked of everybody",
                where=where,
                name=name,
            )
        )
    raise SchemaError(
        Phrase("{where}: {name!r} comes later; put it before {asked!r}", where=where, name=name, asked=question.asked)
    )


def _check_leads(where: str, decider: Question, values: Sequence[Value]) -> None:
    """Refuse answers that cannot be given to the question that decides."""
    if decider.attribute.names_of(0) is None:
        raise SchemaError(
            Phrase(
                "{where}: {asked!r} is a number or a date; decide on a question with values, such as one that "
                "asks for bands",
                where=where,
                asked=decider.asked,
            )
        )
    if not values:
        raise SchemaError(
            Phrase("{where}: lists no answer to {asked!r}, so nobody would be asked", where=where, asked=decider.asked)
        )
    for value in values:
        if not any(type(value) is type(known) and value == known for known in decider.answers):
            there_are = which_there_are(str(value), map(str, decider.answers))
            raise SchemaError(
                Phrase(
                    "{where}: {value!r} is no answer to {asked!r}. {there_are}",
                    where=where,
                    value=value,
                    asked=decider.asked,
                    there_are=there_are,
                )
            )


_DOMAIN = ("type", "values", "ordered", "low", "high", "step", "bands")
_SETTINGS = dict.fromkeys(("text", "help", "labels", "unit", *_DOMAIN), ANYTHING) | {
    "mechanism": SettingKind(Phrase("the name of one"), lambda value: isinstance(value, str)),
    "skip": YES_OR_NO,
    "only_if": SettingKind(
        'a table of questions and lists of answers, as { job = ["office"] }',
        lambda value: isinstance(value, Mapping) and all(isinstance(listed, list) for listed in value.values()),
    ),
    "told": SettingKind('"each" or "set"', lambda value: value in get_args(ToldAs)),
}


def questions_of(name: str, given: Any, languages: Sequence[str]) -> list[Question]:
    """The columns of a question as a survey's file has it, refused with a way out where it cannot be meant."""
    where = Phrase("question {name!r}", name=name)
    if check_table(where, given).get("type") == "text":
        raise SchemaError(
            Phrase(
                "{where}: free text cannot be perturbed: there is no list of what else somebody might have "
                'written, and a sentence can name its writer. Offer categories, with "other" among them',
                where=where,
            )
        )
    fields = check_settings(where, given, _SETTINGS)
    made = _several(name, fields, languages) if fields.get("type") == "several" else [_one(name, fields, languages)]
    return [_with_ways_out(question, fields) for question in made]


def _one(name: str, fields: Mapping[str, Any], languages: Sequence[str]) -> Question:
    """A question with one answer."""
    where = Phrase("question {name!r}", name=name)
    if "told" in fields:
        raise SchemaError(
            Phrase('{where}: told says how several answers are told; it goes with type = "several"', where=where)
        )
    attribute = attribute_of(name, {key: value for key, value in fields.items() if key in _DOMAIN})
    assert not isinstance(attribute, Dropped)  # noqa: S101 - a role is not among the settings
    values = [str(value) for value in attribute.names_of(0) or ()]
    return Question(
        attribute,
        unit=check_texts(
            Phrase("{where}: {name}", where=where, name="unit"), fields.get("unit", {}), languages, optional=True
        ),
        labels=_labels(where, fields.get("labels", {}), values, languages),
        **_put(where, fields, languages),
    )


def _put(where: str, fields: Mapping[str, Any], languages: Sequence[str]) -> dict[str, Any]:
    """How any question is put."""
    return {
        "text": check_texts(Phrase("{where}: {name}", where=where, name="text"), fields.get("text", {}), languages),
        "help": check_texts(
            Phrase("{where}: {name}", where=where, name="help"), fields.get("help", {}), languages, optional=True
        ),
        "mechanism": fields.get("mechanism"),
    }


def _several(name: str, fields: Mapping[str, Any], languages: Sequence[str]) -> list[Question]:
    """A question with several answers: a column for every option, or one for all."""
    where = Phrase("question {name!r}", name=name)
    for setting in ("ordered", "low", "high", "step", "bands", "unit"):
        if setting in fields:
            raise SchemaError(
                Phrase("{where}: {setting} does not go with several answers", where=where, setting=setting)
            )
    values = _options(name, fields.get("values", ()))
    labels = _labels(where, fields.get("labels", {}), values, languages)
    options = {value: labels.get(value, dict.fromkeys(languages, value)) for value in values}
    put = _put(where, fields, languages)
    whole = Several(name, put["text"], options)
    if fields.get("told", "each") == "set":
        sets = Categorical(name, _sets(where, values))
        return [Question(sets, several=whole, ticks=values, **put)]
    return [
        Question(
            Categorical(f"{name}: {value}", ["no", "yes"]),
            several=whole,
            ticks=(value,),
            **put | {"text": {language: f"{put['text'][language]} – {label[language]}" for language in languages}},
        )
        for value, label in options.items()
    ]


def _options(name: str, values: Any) -> Sequence[str]:
    where = Phrase("question {name!r}", name=name)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise SchemaError(
            Phrase(
                "{where}: the values of which several may be chosen must be a list of texts, got {values!r}",
                where=where,
                values=values,
            )
        )
    if NONE in values:
        raise SchemaError(
            Phrase("{where}: leave out {none!r}; the page offers to choose none of the values", where=where, none=NONE)
        )
    return [str(value) for value in Categorical(name, values).values]


def _sets(where: str, values: Sequence[str]) -> list[str]:
    """The sets of options, each in words, in the order of `Question.ticks`."""
    if 2 ** len(values) > MOST_SETS:
        raise SchemaError(
            Phrase(
                "{where}: {count} values make {sets:,} sets, more than the {most} that can be told as one; say "
                'told = "each", or offer at most {fewer} values',
                where=where,
                count=len(values),
                sets=2 ** len(values),
                most=MOST_SETS,
                fewer=MOST_SETS.bit_length() - 1,
            )
        )
    places = range(len(values))
    chosen = (list(compress(values, (code >> place & 1 for place in places))) for code in range(2 ** len(values)))
    return [" + ".join(one) or NONE for one in chosen]


def _with_ways_out(question: Question, fields: Mapping[str, Any]) -> Question:
    """With an answer for those who would rather not answer, and one for those whom it does not apply to."""
    attribute, only_if, skip = question.attribute, fields.get("only_if", {}), fields.get("skip", False)
    where = Phrase("question {asked!r}", asked=question.asked)
    if only_if and _has_room(attribute):
        assert isinstance(attribute, Categorical)  # noqa: S101
        if NOT_APPLICABLE in attribute.values:
            raise SchemaError(
                Phrase(
                    "{where}: with only_if, {answer!r} is among its values by itself; leave it out",
                    where=where,
                    answer=NOT_APPLICABLE,
                )
            )
        attribute = replace(attribute, values=[*attribute.values, NOT_APPLICABLE])
    elif only_if and skip:
        raise SchemaError(
            Phrase(
                "{where}: whom it does not apply to and who skips it would both be missing, which is all there "
                "is beside numbers and values with an order; leave out skip or only_if, or ask for texts "
                "without an order",
                where=where,
            )
        )
    if skip or (only_if and not _has_room(attribute)):
        found = attribute_of(attribute.name, attribute.settings() | {"missing": "category"})
        assert not isinstance(found, Dropped)  # noqa: S101 - a role is not among the settings
        attribute = found
    return replace(question, attribute=attribute, only_if=only_if)


def _has_room(attribute: Categorical | Numeric) -> bool:
    """Whether one more text can be among its values and stand in the way of none."""
    return isinstance(attribute, Categorical) and not attribute.ordered and isinstance(attribute.values[0], str)


def _labels(where: str, labels: Any, values: Iterable[str], languages: Sequence[str]) -> dict[str, Any]:
    if not isinstance(labels, Mapping):
        raise SchemaError(
            Phrase("{where}: labels must be a table of texts, one a value, got {labels!r}", where=where, labels=labels)
        )
    for value in labels:
        if value not in values:
            raise SchemaError(
                Phrase(
                    "{where}: there is a label for {value!r}, which is not one of its values", where=where, value=value
                )
            )
    return {
        value: check_texts(Phrase("{where}: label {value!r}", where=where, value=value), texts, languages)
        for value, texts in labels.items()
    }


def check_texts(where: str, texts: Any, languages: Sequence[str], *, optional: bool = False) -> dict[str, str]:
    """A text in every language of the survey, or, where it is optional, in none."""
    if not isinstance(texts, Mapping) or not all(isinstance(text, str) for text in texts.values()):
        raise SchemaError(
            Phrase(
                '{where} must give a text a language, as {language} = "…", got {texts!r}',
                where=where,
                language=languages[0],
                texts=texts,
            )
        )
    if optional and not texts:
        return {}
    for language in languages:
        if not texts.get(language, "").strip():
            raise SchemaError(Phrase("{where} is not given in {language!r}", where=where, language=language))
        if _TURNING.search(texts[language]):
            raise SchemaError(
                Phrase(
                    "{where}: the text in {language!r} has a sign that turns the direction of writing (U+202A to "
                    "U+202E, U+2066 to U+2069), which pages refuse; leave it out",
                    where=where,
                    language=language,
                )
            )
    check_settings(where, texts, dict.fromkeys(languages, ANYTHING))
    return dict(texts)
