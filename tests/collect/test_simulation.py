"""Random histories of submitting, replaying, sending nonsense, crashing, restarting, closing, beside a model."""

import dataclasses
import json
import shutil
import tempfile
import uuid
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from kakuran.collect.databases import open_store
from kakuran.collect.messages import Form, Problem, Submission, id_bytes, secret_hash
from kakuran.collect.records import Live

from .conftest import make_survey

ROWS = st.tuples(st.integers(0, 2), st.integers(0, 120)).map(bytes)
SPOILT = [
    lambda sheet: sheet | {"id": "7"},
    lambda sheet: sheet | {"version": "0" * 32},
    lambda sheet: sheet | {"name": "somebody"},
    lambda sheet: sheet | {"answers": {"job": "nurse"}},
    lambda sheet: sheet | {"answers": {"job": "nobody", "age": 40}},
    lambda sheet: sheet | {"answers": {"job": "nurse", "age": 10**9}},
    lambda sheet: [sheet],
]


class Collecting(RuleBasedStateMachine):
    """A store and the columns that follow it, beside a dictionary."""

    sent = Bundle("sent")
    invitations = Bundle("invitations")

    @initialize(invited=st.booleans())
    def begin(self, invited):
        self.survey = dataclasses.replace(make_survey(), invitations=invited, k=2, expected_n=5, minimum_n=2)
        self.folder = Path(tempfile.mkdtemp(prefix="kakuran-simulation-"))
        self.kept, self.unused, self.is_open = {}, set(), True
        self.exported, self.cohorts = {}, ()
        self.restart()

    @rule()
    def restart(self):
        if hasattr(self, "store"):
            self.store.close()
        self.store = open_store(self.folder / "answers.db", self.survey)
        self.store.claim()
        self.live = Live(self.store, Form(self.survey))

    @rule()
    def crash_within_a_transaction(self):
        """The process dies after it has written and before it has committed."""
        connection = self.store.engine.connect()
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        connection.exec_driver_sql(
            "INSERT INTO records VALUES (?, ?, ?, NULL)", (b"never", self.store.number, b"\x00\x00")
        )
        connection.exec_driver_sql("DELETE FROM invitations")
        connection.invalidate()
        connection.close()
        self.restart()

    @rule(target=invitations, number=st.integers(0, 10**6))
    def invite(self, number):
        invitation = secret_hash(str(number))
        if invitation in self.unused or not self.survey.invitations:
            return multiple()
        self.store.invite([invitation])
        self.unused.add(invitation)
        return invitation

    @rule(target=sent, rows=st.lists(ROWS, min_size=1, max_size=4))
    def submit(self, rows):
        return self._submit(Submission([id_bytes(str(uuid.uuid4())) for _ in rows], rows))

    @rule(target=sent, row=ROWS, invitation=invitations)
    def submit_invited(self, row, invitation):
        return self._submit(Submission([id_bytes(str(uuid.uuid4()))], [row], invitation))

    @rule(one=sent)
    def replay(self, one):
        self._submit(one)

    @rule(one=sent, row=ROWS)
    def change_an_answer(self, one, row):
        self._submit(Submission(one.ids, [row, *one.rows[1:]], one.invitation))

    @rule(spoil=st.sampled_from(SPOILT))
    def submit_invalid(self, spoil):
        """Refused before it comes near the store, whatever is wrong with it."""
        sheet = {"id": str(uuid.uuid4()), "version": make_survey().version, "answers": {"job": "nurse", "age": 40}}
        form = Form(make_survey())
        assert form.read_one(json.dumps(sheet).encode()).rows
        with pytest.raises(Problem):
            form.read_one(json.dumps(spoil(sheet)).encode())

    @rule(some=st.lists(sent, min_size=2, max_size=5))
    def submit_together(self, some):
        """In one transaction, the same outcomes as one after the other."""
        expected = [self._expect(one) for one in some]
        assert self.store.add(some) == expected

    @rule(state=st.sampled_from(["open", "closed"]))
    def open_or_close(self, state):
        self.store.set_state(state)
        self.is_open = state == "open"

    @rule()
    def export(self):
        """Everything that was exported before, and the rest only if they are enough to hide among."""
        waiting = len(self.kept) - len(self.exported)
        if waiting >= (5 if self.is_open or self.cohorts else 2):
            self.exported = dict(self.kept)
            self.cohorts = (*self.cohorts, waiting)
        rows, cohorts = self.store.export()
        assert (sorted(rows), cohorts) == (sorted(self.exported.values()), self.cohorts)

    def _submit(self, submission):
        expected = self._expect(submission)
        assert self.store.add([submission]) == [expected]
        return submission

    def _expect(self, submission):
        """What a dictionary would do."""
        pairs = dict(zip(submission.ids, submission.rows, strict=True))
        if any(self.kept.get(key, row) != row for key, row in pairs.items()):
            return ("conflict", 0)
        fresh = {key: row for key, row in pairs.items() if key not in self.kept}
        if not fresh:
            return ("replayed", 0)
        if not self.is_open:
            return ("closed", 0)
        if self.survey.invitations:
            if submission.invitation not in self.unused:
                return ("bad-invitation", 0)
            self.unused.remove(submission.invitation)
        self.kept |= fresh
        return ("new", len(fresh))

    @invariant()
    def the_store_is_the_model(self):
        columns = self.live.snapshot().codes()
        rows = sorted(zip(*(columns[name].tolist() for name in ("job", "age")), strict=True))
        assert rows == sorted((row[0], row[1]) for row in self.kept.values())
        assert self.store.count() == len(self.kept)
        assert self.store.unused_invitations() == len(self.unused)
        assert self.store.state == ("open" if self.is_open else "closed")

    def teardown(self):
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)


TestCollecting = Collecting.TestCase
TestCollecting.settings = settings(
    max_examples=40, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
