"""The messages of respondents: from JSON to packed rows of released codes, every value checked. No input or output."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np

from kakuran.collect.ids import id_bytes, secret_hash
from kakuran.collect.problems import Problem
from kakuran.collect.survey import Survey
from kakuran.errors import counted
from kakuran.perturbation import Kernel
from kakuran.schema import Categorical, Numeric

LARGEST_BATCH = 20_000
_OFF_GRID = 1e-6
"""How far a number may lie off its grid point, in steps: what floats do, and no more."""


@dataclass(frozen=True, slots=True)
class Submission:
    """Records that are stored together or not at all.

    Attributes
    ----------
    ids : a random 16 bytes for each, made by the client
    rows : the released codes of each, packed
    invitation : the hash of the invitation it comes with
    """

    ids: Sequence[bytes]
    rows: Sequence[bytes]
    invitation: bytes | None = None


class Form:
    """Reads what people send in answer to one version of a survey; all tables are made beforehand."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        kernel = Kernel(survey.plan)
        # Rows are the same bytes on every machine.
        self.row_type = kernel.row_type.newbyteorder("<")
        self._pack = struct.Struct("<" + "".join(self.row_type[name].char for name in self.row_type.names or ())).pack
        self._names = [question.name for question in survey.questions]
        self._readers = [(name, _reader(survey, name)) for name in self._names]

    def read_one(self, body: bytes) -> Submission:
        """The answer sheet in a body, or a `Problem`."""
        message = _message(body, {"id", "version", "answers"}, optional={"invitation"})
        self._check_version(message["version"])
        answers = message["answers"]
        if type(answers) is not dict:
            _refuse("answers must be an object with a member for each question")
        if len(answers) != len(self._names):
            self._check_names(answers)
        try:
            codes = [read(answers[name]) for name, read in self._readers]
        except KeyError:
            self._check_names(answers)
            raise
        return Submission([_id(message["id"])], [self._pack(*codes)], self._invitation(message))

    def read_batch(self, body: bytes) -> Submission:
        """The columns of answers in a body, or a `Problem`."""
        message = _message(body, {"ids", "version", "answers"}, optional=set())
        self._check_version(message["version"])
        if self.survey.invitations:
            raise Problem("bad-invitation", "this survey takes one invited answer sheet at a time, no batches")
        ids, answers = message["ids"], message["answers"]
        if type(ids) is not list or not 1 <= len(ids) <= LARGEST_BATCH:
            _refuse(f"ids must be a list of 1 to {LARGEST_BATCH:,}")
        if type(answers) is not dict:
            _refuse("answers must be an object with a list for each question")
        self._check_names(answers)
        keys = [_id(text) for text in ids]
        if len(set(keys)) < len(keys):
            _refuse("the same id stands twice in the batch")
        return Submission(keys, self._rows(answers, len(keys)))

    def _rows(self, answers: Mapping[str, Any], count: int) -> list[bytes]:
        packed = np.empty(count, self.row_type)
        for place, (name, read) in enumerate(self._readers):
            column = answers[name]
            if type(column) is not list or len(column) != count:
                _refuse(f"question {name!r}: expected a list of {counted(count, 'answer')}, one an id")
            packed[f"f{place}"] = [read(value) for value in column]
        joined, width = packed.tobytes(), self.row_type.itemsize
        return [joined[start : start + width] for start in range(0, len(joined), width)]

    def _check_version(self, version: Any) -> None:
        if version != self.survey.version:
            raise Problem("wrong-version", f"this is version {self.survey.version} of the survey")

    def _check_names(self, answers: Mapping[str, Any]) -> None:
        for name in self._names:
            if name not in answers:
                _refuse(f"question {name!r} is not answered")
        if len(answers) > len(self._names):
            _refuse("there is an answer to a question that is not asked")

    def _invitation(self, message: Mapping[str, Any]) -> bytes | None:
        invitation = message.get("invitation")
        if not self.survey.invitations:
            if invitation is not None:
                _refuse("this survey takes no invitations")
            return None
        if type(invitation) is not str:
            raise Problem("bad-invitation", "this survey needs an invitation")
        return secret_hash(invitation)


def _message(body: bytes, needed: set[str], optional: set[str]) -> dict[str, Any]:
    try:
        message = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise Problem("malformed", "the body is not JSON in UTF-8") from None
    if type(message) is not dict:
        raise Problem("malformed", "the body is not a JSON object")
    names = message.keys()
    if not (needed <= names and names <= needed | optional):
        _refuse(
            f"the members must be {', '.join(sorted(needed))}{' and perhaps ' if optional else ''}{', '.join(optional)}"
        )
    return message


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _refuse(detail: str) -> NoReturn:
    raise Problem("invalid", detail)


def _id(text: Any) -> bytes:
    key = id_bytes(text)
    if key is None:
        _refuse("an id must be a random UUID (version 4) in small letters")
    return key


def _reader(survey: Survey, name: str) -> Callable[[Any], int]:
    attribute = survey.schema[name]
    if isinstance(attribute, Categorical):
        return _category_reader(attribute)
    return _number_reader(attribute, survey.plan.reach(name))


def _category_reader(attribute: Categorical) -> Callable[[Any], int]:
    table = {value: code for code, value in enumerate(attribute.values)}
    kind = type(attribute.values[0])
    kinds = {int, float} if kind is float else {kind}  # JSON may write 1.0 as 1
    problem = f"question {attribute.name!r}: not one of its values"

    def read(value: Any) -> int:
        # True equals 1 in a dictionary, but it is another answer.
        code = table.get(value) if type(value) in kinds else None
        if code is None:
            _refuse(problem)
        return code

    return read


def _number_reader(attribute: Numeric, reach: int) -> Callable[[Any], int]:
    low, step, lowest, highest = attribute.low, attribute.step, -reach, attribute.points - 1 + reach
    problem = f"question {attribute.name!r}: not a number its mechanism can release"

    def read(value: Any) -> int:
        if type(value) is not int and type(value) is not float:
            _refuse(problem)
        try:
            steps = (value - low) / step
        except OverflowError:
            _refuse(problem)
        if not lowest - 0.5 < steps < highest + 0.5:
            _refuse(problem)
        code = round(steps)
        if abs(steps - code) > _OFF_GRID:
            _refuse(problem)
        return code

    return read
