"""A survey: its questions, what it says to people, what it promises them, and how a browser is to draw.

A browser draws from the same integers as Python, and the same random words give the same released code
(`static/perturb.js`, tests/browser/test_draws.py).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, Literal, TypeAlias, get_args

from kakuran.collect.questions import Question, Texts, check_questions, check_texts, questions_of
from kakuran.design import Plan, Purpose, TellChoice, calibrate, plan_among, plan_within
from kakuran.errors import SchemaError
from kakuran.parsing import ANYTHING, NUMBER, WHOLE, YES_OR_NO, SettingKind, check_settings, naming, read_document
from kakuran.perturbation import Kernel
from kakuran.schema import Schema
from kakuran.words import LANGUAGES, Phrase

Asking: TypeAlias = Literal["drawn", "all"]
Trust: TypeAlias = Literal["server"]


MINIMUM_N = 50
CROWDED = 1.5
"""Times as many people as are asked other questions, from which on the owner is told of a question."""
MOST_REMEMBERED = 10_000
"""Possible answers to what is perturbed together, where a browser is to remember a draw for each of them."""
MOST_CHANCES = 1 << 30
"""Chances that a browser looks at to count ε, which takes it seconds."""


@dataclass(frozen=True)
class Survey:
    """Questions with a promise; `kakuran collect init` writes one to start from.

    Attributes
    ----------
    id : str
        A short name for files and addresses.
    languages : Sequence[str]
        Of every text, the first one by default.
    questions : Sequence[Question]
        Every answer is perturbed before it is sent.
    k : float | None
        Nobody can be linked above 1/k once enough have answered; or `epsilon` instead.
    expected_n : int | None
        How many that is.
    certainty : float | None
        The probability over the draw with which k holds against those who see an export; None for every draw. The
        answers hold less noise, so that `trust` has to be given, too.
    trust : Trust | None
        Whom respondents have to trust: the server, which sees whose answers it gets.
    epsilon : float | None
        Every answer sheet is ε-locally differentially private, however many answer.
    minimum_n : int
        No statistics are shown before so many have answered.
    invitations : bool
        Whether one needs an invitation, good for one answer sheet, to take part.
    tell : TellChoice
        Which answers people send, as for `kakuran.calibrate`: all of them, so many, or those of one of these sets of
        questions, drawn at random on their own device before they answer.
    about : str | None
        A question that everybody is asked, where not everybody is asked everything.
    purpose : Purpose
        The tables that ``tell="auto"`` should lose least of.
    ask : Asking
        ``"drawn"``: people are asked what was drawn for them; ``"all"``: everything, and only what was drawn is sent.
    memoise : str | None
        A name under which a browser remembers its draws, for all surveys at the same address that have it: who answers
        the same again sends the same again.

    Examples
    --------
    >>> import kakuran as kk
    >>> from kakuran.collect import Question
    >>> job = Question(kk.Categorical("job", ["clerk", "nurse"]), {"en": "What is your job?"})
    >>> survey = kk.Survey("jobs", ("en",), {"en": "Jobs"}, (job,), k=10, expected_n=1000)
    >>> round(survey.plan.epsilon, 3), round(survey.plan_for(500).k, 2)
    (2.355, 5.5)
    """

    id: str
    languages: Sequence[str]
    title: Texts
    questions: Sequence[Question]
    introduction: Texts = field(default_factory=dict)
    k: float | None = None
    expected_n: int | None = None
    certainty: float | None = None
    trust: Trust | None = None
    epsilon: float | None = None
    minimum_n: int = MINIMUM_N
    invitations: bool = False
    tell: TellChoice = "all"
    about: str | None = None
    purpose: Purpose = "two-way"
    ask: Asking = "drawn"
    memoise: str | None = None

    def __post_init__(self) -> None:
        check_id(self.id)
        check_questions(self.questions)
        if (self.epsilon is None) == (self.k is None) or (self.k is None) != (self.expected_n is None):
            raise SchemaError(Phrase("a survey promises either k, with the expected_n people it needs, or epsilon"))
        if self.epsilon is not None and not 0 < self.epsilon <= 50:
            raise SchemaError(Phrase("epsilon must lie between 0 and 50, got {epsilon!r}", epsilon=self.epsilon))
        if type(self.minimum_n) is not int or self.minimum_n < 2:
            raise SchemaError(
                Phrase("minimum_n must be a whole number of at least 2, got {minimum_n!r}", minimum_n=self.minimum_n)
            )
        if self.ask not in get_args(Asking):
            raise SchemaError(Phrase('ask must be "drawn" or "all", got {ask!r}', ask=self.ask))
        self._check_trust()
        if self.memoise is not None:
            check_id(self.memoise, "memoise")
            self._check_few_answers()
        self.plan  # noqa: B018 - a promise that cannot be kept is refused here

    def _check_trust(self) -> None:
        """Refuse certainty unless the survey says who is trusted, and where nothing is proved."""
        if self.trust not in (None, *get_args(Trust)):
            raise SchemaError(Phrase('trust must be "server", got {trust!r}', trust=self.trust))
        if self.certainty is None:
            if self.trust is not None:
                raise SchemaError(
                    Phrase("trust says who keeps k with certainty and needs certainty = 0.999999; or leave out trust")
                )
            return
        if self.trust is None:
            raise SchemaError(
                Phrase(
                    "certainty takes less noise, so that answers say more to the server, which sees whose answers they "
                    'are. Add trust = "server" if respondents can trust the server not to link answers to people; '
                    "otherwise leave out certainty"
                )
            )
        if self.k is None:
            raise SchemaError(Phrase("certainty says how surely k holds: give k, too"))
        if self.memoise is not None:
            raise SchemaError(
                Phrase(
                    "memoise joins the answers of one person over several surveys, and certainty needs releases that "
                    "nobody can join: leave out one of them"
                )
            )

    def _check_few_answers(self) -> None:
        """Refuse to have draws remembered of more answers than a browser has room for."""
        for tell in self.plan.tells:
            together = [tell.columns] if tell.telling.by_column is None else [(name,) for name in tell.columns]
            for names in together:
                answers = math.prod(self.schema[name].size for name in names)
                if answers > MOST_REMEMBERED:
                    raise SchemaError(
                        Phrase(
                            "memoise: {questions} may be answered in {answers:,} ways, and a browser remembers "
                            "a draw for each of at most {most:,}: use larger steps, or fewer questions together",
                            questions=" + ".join(names),
                            answers=answers,
                            most=MOST_REMEMBERED,
                        )
                    )

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey from a TOML file."""
        with naming(Path(path)):
            way = Phrase("make one with `kakuran collect init`")
            return cls.from_dict(read_document(Path(path), Phrase("survey file"), way))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Survey:
        """A survey from what its file says."""
        return cls(**check(fields))

    @cached_property
    def schema(self) -> Schema:
        """The columns of what is collected."""
        return Schema([question.attribute for question in self.questions])

    @cached_property
    def plan(self) -> Plan:
        """The mechanisms, and the promise for as many as are expected (or for one, where ε is promised)."""
        chosen = {question.name: question.mechanism for question in self.questions if question.mechanism}
        if self.k is not None and self.expected_n is not None:
            return calibrate(
                self.schema,
                k=self.k,
                n=self.expected_n,
                certainty=self.certainty,
                tell=self.tell,
                about=self.about,
                purpose=self.purpose,
                mechanisms=chosen,
            )
        assert self.epsilon is not None  # noqa: S101
        return plan_within(self.schema, self.epsilon, tell=self.tell, about=self.about, mechanisms=chosen)

    def plan_for(self, n: int) -> Plan:
        """The plan with what it promises n people: the k aimed at, or the smaller one that so many reach."""
        if self.expected_n is not None and n >= self.expected_n and self.plan.excess_risk([n]) <= 0:
            return self.plan
        return plan_among(self.plan, n)

    @property
    def untranslated(self) -> tuple[str, ...]:
        """The languages of the survey in which the pages' own words, such as those on buttons, are English."""
        return tuple(code for code in self.languages if code.partition("-")[0] not in LANGUAGES)

    @property
    def crowded(self) -> list[Phrase]:
        """What to tell the owner of questions that are drawn for many more people than others, as nobody asked for."""
        columns: dict[str, set[str]] = {}
        for question in self.questions:
            columns.setdefault(question.asked, set()).add(question.name)
        shares = {
            name: sum(tell.share for tell in self.plan.tells if own & set(tell.columns))
            for name, own in columns.items()
        }
        others = [share for name, share in shares.items() if len(columns[name]) == 1 and name != self.about]
        if isinstance(self.tell, list) or not others:
            return []
        usual = median(others)
        return [
            Phrase(
                "question {name!r} is drawn for {share:.0%} of people, others for {usual:.0%}: each of its {count} "
                'values is drawn on its own. told = "set", or a list of question sets as tell, evens that out',
                name=name,
                share=share,
                usual=usual,
                count=len(columns[name]),
            )
            for name, share in shares.items()
            if len(columns[name]) > 1 and share > CROWDED * usual
        ]

    @property
    def promise(self) -> str:
        """What respondents are promised, in a sentence."""
        promise = f"every answer sheet is {self.plan.epsilon:.3g}-locally differentially private"
        if self.k is None:
            return promise
        linked = f"is linked above 1/{self.k:g}"
        answered = f"once {self.expected_n:,} have answered"
        if self.certainty is None:
            return f"{promise}; nobody {linked} {answered}"
        return (
            f"{promise}, and that is all that holds against this server; in its export nobody {linked} with certainty "
            f"{self.certainty:.10g} {answered}, if the server links no answers to people"
        )

    def cohort_n(self, cohorts: Sequence[int], *, is_closed: bool) -> int | None:
        """How many more records the next export needs, so that each keeps its promise among those who come with it.

        As many as k was promised for. Only a survey that is closed and was never exported may have fewer: there is
        nothing to compare its export with, which says the k that so many reach. With certainty that is the only export,
        and None stands for no other, because the probabilities of failing would add up.
        """
        if self.expected_n is None or (is_closed and not cohorts):
            return self.minimum_n
        if self.certainty is not None:
            return None
        return max(self.expected_n, self.minimum_n)

    @cached_property
    def version(self) -> str:
        """A fingerprint of everything people are asked, told and promised, mechanisms included."""
        canonical = json.dumps(
            {**self._asked(), "plan": self.plan.to_dict()}, sort_keys=True, ensure_ascii=True, separators=(",", ":")
        )
        return hashlib.sha256(canonical.encode()).hexdigest()[:32]

    def _asked(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": dict(self.title),
            "introduction": dict(self.introduction),
            "languages": list(self.languages),
            "k": self.k,
            "epsilon": self.plan.epsilon,
            "expected_n": self.expected_n,
            "minimum_n": self.minimum_n,
            "invitations": self.invitations,
            "questions": [question.to_dict(self.languages) for question in self.questions],
            **({"ask": self.ask} if len(self.plan.tells) > 1 else {}),
            **({} if self.memoise is None else {"memoise": self.memoise}),
            **({} if self.certainty is None else {"certainty": self.certainty, "trust": self.trust}),
        }

    def definition(self) -> dict[str, Any]:
        """All that is public: what to ask, whom, and for every question how to perturb its answer.

        Questions that are told together have one coin, which their tell has; what is near an answer is the same in
        all tells, and stands with the question.
        """
        asked, tells = self._asked(), self.plan.tells
        tellings = {name: tell.telling for tell in tells for name in tell.columns}
        questions = [
            question
            | self._beyond(question["name"])
            | {"mechanism": tellings[question["name"]].drawn_by(question["name"])}
            for question in asked.pop("questions")
        ]
        _check_few_chances([question["mechanism"] for question in questions])
        drawn = [
            {
                "told": tell.named,
                "questions": list(tell.columns),
                "weight": str(weight),
                "threshold": None if tell.telling.threshold is None else str(tell.telling.threshold),
            }
            for tell, weight in zip(tells, Kernel(self.plan).weights, strict=True)
        ]
        return asked | {"version": self.version, "questions": questions, "tells": drawn}

    def _beyond(self, name: str) -> dict[str, Any]:
        """What may be sent beyond the first of the values that have a name, and then beyond the last."""
        reach = self.plan.reach(name)
        names = self.schema[name].names_of(reach)
        return {} if names is None or not reach else {"beyond": [*names[:reach], *names[-reach:]]}


def _check_few_chances(mechanisms: Sequence[Mapping[str, Any]]) -> None:
    """Refuse tables of noise that would keep a browser busy, which looks at every chance of every answer."""
    noise = [one for one in mechanisms if one["kind"] == "noise"]
    chances = sum(one["size"] * (one["size"] + 2 * one["reach"]) for one in noise)
    if chances > MOST_CHANCES:
        raise SchemaError(
            Phrase(
                "a browser would have to look at {chances:,} chances to count ε, more than {most:,}: use larger steps, "
                'or mechanism = "square-wave"',
                chances=chances,
                most=MOST_CHANCES,
            )
        )


def _one_of(words: Any) -> SettingKind:
    """One of the words of a literal type."""
    return SettingKind(" or ".join(f'"{word}"' for word in get_args(words)), lambda value: value in get_args(words))


_SETTINGS = dict.fromkeys(("id", "languages", "title", "introduction", "questions"), ANYTHING) | {
    "k": NUMBER,
    "expected_n": WHOLE,
    "certainty": NUMBER,
    "trust": _one_of(Trust),
    "epsilon": NUMBER,
    "minimum_n": WHOLE,
    "invitations": YES_OR_NO,
    "tell": SettingKind(
        Phrase('"all", "auto", a number of questions or a list of question sets'),
        lambda value: value in ("all", "auto") or isinstance(value, list) or type(value) is int,
    ),
    "about": SettingKind(Phrase("the name of a question"), lambda value: isinstance(value, str)),
    "purpose": _one_of(Purpose),
    "ask": _one_of(Asking),
    "memoise": SettingKind(Phrase("a name that several surveys share"), lambda value: isinstance(value, str)),
}
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def check(given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a survey, refused with a way out where one of them cannot be meant."""
    fields = check_settings(Phrase("the survey"), given, _SETTINGS, needed=("id", "languages", "title", "questions"))
    languages = _languages(fields["languages"])
    questions = fields["questions"]
    if not isinstance(questions, Mapping) or not questions:
        raise SchemaError(Phrase("a survey needs questions, written as [questions.NAME]"))
    columns = {name: questions_of(name, question, languages) for name, question in questions.items()}
    return fields | {
        "languages": languages,
        "title": check_texts("title", fields["title"], languages),
        "introduction": check_texts("introduction", fields.get("introduction", {}), languages, optional=True),
        "questions": tuple(chain.from_iterable(columns.values())),
        "tell": _told(fields.get("tell", "all"), columns),
    }


def _told(tell: TellChoice, columns: Mapping[str, Sequence[Question]]) -> TellChoice:
    """Sets of questions as sets of columns: who tells a question with several answers tells all its columns."""
    if not isinstance(tell, list) or not all(isinstance(names, list) for names in tell):
        return tell

    def of(name: Any) -> list[Any]:
        return [one.name for one in columns[name]] if isinstance(name, str) and name in columns else [name]

    return [list(chain.from_iterable(map(of, names))) for names in tell]


def check_id(id_: Any, what: str = "id") -> None:
    """Refuse a name that could not stand in files and addresses."""
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise SchemaError(Phrase("{what} must be small letters, digits and hyphens, got {name!r}", what=what, name=id_))


def _languages(languages: Any) -> tuple[str, ...]:
    is_list = isinstance(languages, list) and languages and all(isinstance(code, str) for code in languages)
    if not is_list or len(set(languages)) < len(languages):
        raise SchemaError(
            Phrase(
                'languages must be a list of different codes, as ["en", "ja"], got {languages!r}', languages=languages
            )
        )
    for code in languages:
        if not _LANGUAGE.fullmatch(code):
            raise SchemaError(Phrase("{code!r} is not the code of a language, as en or ja", code=code))
    return tuple(languages)
