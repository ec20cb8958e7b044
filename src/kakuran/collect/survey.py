"""A survey: its questions, what it says to people, and what it promises them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

from kakuran.calibration import Plan, calibrate, mechanisms_within
from kakuran.collect import survey_file
from kakuran.errors import SchemaError
from kakuran.schema import Categorical, Numeric, Schema
from kakuran.schema.toml import naming

Texts: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """One question: a column of the release, and how it is put to people.

    Attributes
    ----------
    attribute : what may be answered
    text, help : the question and a hint, in every language
    labels : what each value of a category is called, in every language
    unit : of a number, in every language
    mechanism : its kind, where the default is not wanted
    """

    attribute: Categorical | Numeric
    text: Texts
    help: Texts = field(default_factory=dict)
    labels: Mapping[str, Texts] = field(default_factory=dict)
    unit: Texts = field(default_factory=dict)
    mechanism: str | None = None

    @property
    def name(self) -> str:
        """The column."""
        return self.attribute.name

    def to_dict(self, languages: Sequence[str]) -> dict[str, Any]:
        """What a respondent's page needs to ask it."""
        asked = {"name": self.name, "text": dict(self.text), "help": dict(self.help)}
        if isinstance(self.attribute, Categorical):
            values = [{"value": value, "label": self._label(value, languages)} for value in self.attribute.values]
            return asked | {"kind": "categorical", "values": values}
        grid = {"low": self.attribute.low, "high": self.attribute.high, "step": self.attribute.step}
        return asked | {"kind": "numeric", **grid, "unit": dict(self.unit)}

    def _label(self, value: Any, languages: Sequence[str]) -> dict[str, str]:
        return dict(self.labels.get(str(value), {language: str(value) for language in languages}))


@dataclass(frozen=True)
class Survey:
    """Questions with a promise; `kakuran collect init` writes one to start from.

    Attributes
    ----------
    id : a short name for files and addresses
    languages : of every text, the first one by default
    questions : every answer is perturbed before it is sent
    k, expected_n : nobody can be linked above 1/k once so many have answered; or instead
    epsilon : every answer sheet is ε-locally differentially private, however many answer
    minimum_n : no statistics are shown before so many have answered
    invitations : whether one needs an invitation, good for one answer sheet, to take part

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
    epsilon: float | None = None
    minimum_n: int = survey_file.MINIMUM_N
    invitations: bool = False

    def __post_init__(self) -> None:
        survey_file.check_id(self.id)
        for question in self.questions:
            _check_perturbed(question.attribute)
        if (self.epsilon is None) == (self.k is None) or (self.k is None) != (self.expected_n is None):
            raise SchemaError("a survey promises either k, with the expected_n people it needs, or epsilon")
        if self.epsilon is not None and not 0 < self.epsilon <= 50:
            raise SchemaError(f"epsilon must lie between 0 and 50, got {self.epsilon!r}")
        if type(self.minimum_n) is not int or self.minimum_n < 2:
            raise SchemaError(f"minimum_n must be a whole number of at least 2, got {self.minimum_n!r}")
        self.plan  # noqa: B018 - a promise that cannot be kept is refused here

    @classmethod
    def load(cls, path: str | Path) -> Survey:
        """Read a survey from a TOML file."""
        fields = survey_file.load(Path(path))
        with naming(Path(path)):
            return cls.from_dict(fields)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Survey:
        """A survey from what its file says."""
        checked = survey_file.check(fields)
        questions = [Question(**question) for question in checked.pop("questions")]
        return cls(questions=tuple(questions), **checked)

    @cached_property
    def schema(self) -> Schema:
        """The columns of what is collected."""
        return Schema([question.attribute for question in self.questions])

    @cached_property
    def plan(self) -> Plan:
        """The mechanisms, and the promise for as many as are expected (or for one, where ε is promised)."""
        chosen = {question.name: question.mechanism for question in self.questions if question.mechanism}
        if self.k is not None and self.expected_n is not None:
            return calibrate(self.schema, k=self.k, n=self.expected_n, mechanisms=chosen)
        assert self.epsilon is not None  # noqa: S101
        return Plan(self.schema, mechanisms_within(self.schema, self.epsilon, chosen), 1, 1.0, "worst-case")

    def plan_for(self, n: int) -> Plan:
        """The plan with what it promises n people: the k aimed at, or the smaller one that so many reach."""
        if self.expected_n is not None and n >= self.expected_n:
            return self.plan
        return Plan(self.schema, self.plan.mechanisms, n, self.plan.k_for(n), "worst-case")

    def cohort_n(self, cohorts: Sequence[int], *, is_closed: bool) -> int:
        """How many more records the next export needs, so that each keeps its promise among those who come with it.

        As many as k was promised for. Only a survey that is closed and was never exported may have fewer: there is
        nothing to compare its export with, which says the k that so many reach.
        """
        if self.expected_n is None or (is_closed and not cohorts):
            return self.minimum_n
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
        }

    def definition(self) -> dict[str, Any]:
        """All that is public: what to ask, and for every question how to perturb its answer."""
        from kakuran.collect.draws import describe

        asked = self._asked()
        questions = [
            question | {"mechanism": describe(self.plan[question["name"]])} for question in asked.pop("questions")
        ]
        return asked | {"version": self.version, "questions": questions}


def _check_perturbed(attribute: Categorical | Numeric) -> None:
    """Refuse a question whose answer would be sent as it is, or could be left out."""
    if attribute.role != "perturb":
        raise SchemaError(
            f"question {attribute.name!r}: every answer is perturbed, its role cannot be {attribute.role!r}"
        )
    if attribute.missing != "error":
        raise SchemaError(f"question {attribute.name!r}: no answer may be missing; make “no answer” one of its values")
