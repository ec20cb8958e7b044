"""Both kinds of database keep every record once, say nothing of order, and come back whole."""

import dataclasses
import hashlib
import shutil
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text

from kakuran.collect.databases import back_up, open_store, restore
from kakuran.collect.messages import secret_hash
from kakuran.collect.store import StoreError
from kakuran.errors import CollectError

from .sheets import submission


def verdicts(outcomes):
    return [outcome.verdict for outcome in outcomes]


def everything(store):
    return sorted(store.read_new(None).rows)


def test_a_record_is_stored_once_however_often_it_is_sent(store):
    one = submission()
    assert verdicts(store.add([one, one])) == ["new", "replayed"]
    assert verdicts(store.add([one])) == ["replayed"]
    assert store.count() == 1


def test_another_row_under_the_same_id_is_a_conflict_and_hurts_nobody_else(store):
    first, other = submission(), submission()
    changed = submission(ids=first.ids, row=b"\x00\x29")
    assert verdicts(store.add([first, changed, other])) == ["new", "conflict", "new"]
    assert everything(store) == [b"\x01\x29"] * 2


def test_a_batch_is_stored_whole_or_not_at_all(store):
    taken = submission()
    store.add([taken])
    clashing = submission(ids=[*submission(3).ids, *taken.ids], row=b"\x00\x29")
    assert store.add([clashing])[0] == ("conflict", 0)
    repeating = submission(ids=[*submission(3).ids, *taken.ids])
    assert store.add([repeating])[0] == ("new", 3)
    assert store.count() == 4


def test_a_closed_survey_takes_nothing_new_but_still_knows_what_it_took(store):
    before = submission()
    store.add([before])
    store.set_state("closed")
    assert verdicts(store.add([before, submission()])) == ["replayed", "closed"]
    store.set_state("open")
    assert verdicts(store.add([submission()])) == ["new"]


def test_an_invitation_is_good_for_one_answer_sheet(address, survey):
    survey = dataclasses.replace(survey, invitations=True)
    store = open_store(address, survey)
    good, bad = secret_hash("good"), secret_hash("bad")
    store.invite([good, secret_hash("unused")])
    first = submission(invitation=good)
    answers = [first, submission(invitation=good), submission(invitation=bad), submission(), first]
    assert verdicts(store.add(answers)) == ["new", "bad-invitation", "bad-invitation", "bad-invitation", "replayed"]
    assert verdicts(store.add([submission(invitation=good), first])) == ["bad-invitation", "replayed"]
    assert store.unused_invitations() == 1
    store.close()


def test_a_used_invitation_leaves_no_trace_beside_the_records(tmp_path, survey):
    survey = dataclasses.replace(survey, invitations=True)
    store = open_store(tmp_path / "answers.db", survey)
    hashes = [secret_hash(f"invitation {number}") for number in range(20)]
    store.invite(hashes)
    for used in hashes:
        store.add([submission(invitation=used)])
    store.close()
    with closing(sqlite3.connect(tmp_path / "answers.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        tables = dict(connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'"))
        assert connection.execute("SELECT count(*) FROM invitations").fetchone() == (0,)
        columns = [row[1] for row in connection.execute("PRAGMA table_info(records)")]
    assert columns == ["id", "survey", "codes", "cohort"]
    assert all("WITHOUT ROWID" in tables[name] for name in ("records", "invitations"))
    left = (tmp_path / "answers.db").read_bytes()
    assert not any(used in left for used in hashes)


INVITED = [secret_hash(f"invitation {number}") for number in range(200)]
COUNTERS = (slice(24, 28), slice(92, 96))
"""Where SQLite counts transactions in the head of a file."""


def sheet_with(invitation, number):
    """The sheet of a person, who is the same whatever invitation they come with."""
    key = hashlib.sha256(bytes([number])).digest()[:16]
    return submission(row=bytes([0, number]), ids=[key], invitation=invitation)


def answered_in(order, path, survey):
    """A store whose people came in this order, each with the invitation of the same place in the order."""
    promise = {"k": None, "expected_n": None, "epsilon": 1}
    store = open_store(path, dataclasses.replace(survey, invitations=True, **promise))
    store.invite(INVITED)
    for invitation, number in zip(INVITED, order, strict=False):
        store.add([sheet_with(invitation, number)])
        assert invitation not in on_disk(path)
    return store


def on_disk(path):
    """All bytes of a database and of what lies beside it."""
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(f"{path.name}*")))


def without_counters(path):
    content = bytearray(path.read_bytes())
    for counter in COUNTERS:
        content[counter] = bytes(4)
    return bytes(content)


ORDERS = (range(120), range(119, -1, -1), [*range(1, 120, 2), *range(0, 120, 2)])


def test_a_file_that_was_served_says_nothing_of_the_order_in_which_people_came(tmp_path, survey):
    files = [tmp_path / f"{place}.db" for place in range(3)]
    for path, order in zip(files, ORDERS, strict=True):
        answered_in(order, path, survey).close()
    assert len({without_counters(path) for path in files}) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [path.name for path in files]


def test_an_export_leaves_no_order_on_disk_while_the_survey_runs(tmp_path, survey):
    left = set()
    for place, order in enumerate(ORDERS):
        store = answered_in(order, tmp_path / f"{place}.db", survey)
        store.export()
        left.add(without_counters(tmp_path / f"{place}.db"))
        assert (tmp_path / f"{place}.db-wal").stat().st_size == 0
        store.close()
    assert len(left) == 1


def test_a_server_that_starts_after_a_crash_takes_the_order_off_the_disk(tmp_path, survey):
    left = set()
    for place, order in enumerate(ORDERS):
        store = answered_in(order, tmp_path / f"{place}.db", survey)
        for file in tmp_path.glob(f"{place}.db*"):
            shutil.copy(file, tmp_path / f"crashed-{file.name}")
        started = open_store(tmp_path / f"crashed-{place}.db", store.survey)
        started.claim()
        left.add(without_counters(started.path))
        assert Path(f"{started.path}-wal").stat().st_size == 0
        store.close()
        started.close()
    assert len(left) == 1


def test_a_backup_says_nothing_of_the_order_either(tmp_path, survey):
    backups = [tmp_path / f"{place}.backup" for place in range(3)]
    for path, order in zip(backups, ORDERS, strict=True):
        with closing(answered_in(order, path.with_suffix(".db"), survey)) as store:
            back_up(store, path)
    assert len({without_counters(path) for path in backups}) == 1


def test_a_long_reader_keeps_nobody_from_answering(tmp_path, survey):
    store = answered_in(range(5), tmp_path / "answers.db", survey)
    with store.reading_at_once() as connection:
        connection.execute(text("SELECT count(*) FROM records"))
        start = time.monotonic()
        store.add([sheet_with(INVITED[7], 7)])
        assert time.monotonic() - start < 5
    store.close()
    assert INVITED[7] not in on_disk(tmp_path / "answers.db")


def test_readers_see_each_record_once(store):
    sent, seen, mark = 0, [], None
    for count in (3, 0, 5, 1):
        if count:
            store.add([submission(count, row=bytes([0, sent]))])
        rows, mark, is_all = store.read_new(mark)
        seen = list(rows) if is_all else [*seen, *rows]
        sent += count
        assert len(seen) == sent
    assert sorted(seen) == everything(store)


def test_versions_are_counted_apart(store, address, survey):
    store.add([submission(2)])
    other = open_store(address, dataclasses.replace(survey, title={"en": "Jobs, again"}))
    other.add([submission(3)])
    assert (store.count(), other.count()) == (2, 3)
    assert set(store.counts().values()) == {2, 3}
    assert len(everything(other)) == 3
    other.close()


def test_an_id_that_another_version_has_taken_is_a_conflict_even_with_the_same_row(store, address, survey):
    one = submission()
    store.add([one])
    other = open_store(address, dataclasses.replace(survey, title={"en": "Jobs, again"}))
    assert verdicts(other.add([one])) == ["conflict"]
    assert (store.count(), other.count()) == (1, 0)
    other.close()


def test_readers_start_over_after_a_failure_that_may_have_stored_something(tmp_path, survey, monkeypatch):
    store = open_store(tmp_path / "answers.db", survey)
    store.add([submission(2)])
    mark = store.read_new(None).mark
    commit = store.engine.dialect.do_commit

    def commit_and_lose_the_answer(connection):
        commit(connection)
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as patch:
        patch.setattr(store.engine.dialect, "do_commit", commit_and_lose_the_answer)
        with pytest.raises(StoreError, match="disk I/O error"):
            store.add([submission()])
    news = store.read_new(mark)
    assert (news.is_all, len(news.rows)) == (True, 3)
    assert not store.read_new(news.mark).rows
    store.close()


@pytest.mark.parametrize("target_kind", ["sqlite", "postgres"])
def test_a_backup_restores_into_either_kind_of_database(store, survey, target_kind, tmp_path, request):
    store.add([submission(30), submission(5, row=b"\x02\x07")])
    store.invite([secret_hash("unused")])
    store.set_state("closed")
    assert back_up(store, tmp_path / "backup") == 35
    place = tmp_path / "new.db" if target_kind == "sqlite" else request.getfixturevalue("postgres").new_database()
    restored, content = open_store(place, survey), (tmp_path / "backup").read_bytes()
    assert restore(restored, tmp_path / "backup") == 35
    assert (tmp_path / "backup").read_bytes() == content
    assert everything(restored) == everything(store)
    assert (restored.state, restored.unused_invitations(), restored.count()) == ("closed", 1, 35)
    with pytest.raises(CollectError, match="not empty"):
        restore(restored, tmp_path / "backup")
    restored.close()


def test_a_backup_is_taken_while_answers_come_in_and_is_of_one_moment(store, tmp_path):
    stop = threading.Event()

    def keep_adding():
        while not stop.is_set():
            store.add([submission(7)])
            stop.wait(0.01)

    adding = threading.Thread(target=keep_adding)
    adding.start()
    try:
        counts = [back_up(store, tmp_path / f"backup{number}") for number in range(3)]
    finally:
        stop.set()
        adding.join()
    assert counts == sorted(counts)
    assert all(count % 7 == 0 for count in counts)


@pytest.mark.parametrize("name", ["what?.db", "100 %23.db", "a#b.db"])
def test_a_file_may_have_any_name(tmp_path, survey, name):
    backup = tmp_path / f"backup of {name}"
    with closing(open_store(tmp_path / name, survey)) as store:
        store.add([submission(3)])
        assert back_up(store, backup) == 3
    assert (tmp_path / name).is_file()
    with closing(open_store(tmp_path / "new.db", survey)) as store:
        assert restore(store, backup) == 3


@pytest.mark.parametrize("address", ["postgresql://me:hidden@host:port/db", "postgres://me:hidden@[::1/db"])
def test_an_address_that_cannot_be_read_is_refused_and_not_repeated(survey, address):
    with pytest.raises(
        CollectError, match="postgresql://user@host:port/name, with the password in PGPASSWORD"
    ) as refused:
        open_store(address, survey)
    assert "hidden" not in str(refused.value)


def test_a_file_is_synced_to_disk_at_every_commit(tmp_path, survey):
    store = open_store(tmp_path / "answers.db", survey)
    with store.engine.connect() as connection:
        asked = [connection.scalar(text(f"PRAGMA {name}")) for name in ("journal_mode", "synchronous")]
    assert asked == ["wal", 2]
    store.close()


def test_a_second_server_on_one_file_is_refused(tmp_path, survey):
    first, second = (open_store(tmp_path / "answers.db", survey) for _ in range(2))
    first.claim()
    with pytest.raises(CollectError, match="in use by another server"):
        second.claim()
    first.close()
    second.claim()
    second.close()


def test_two_servers_on_postgres_see_each_others_records(postgres, survey):
    address = postgres.new_database()
    one, two = open_store(address, survey), open_store(address, survey)
    one.claim(), two.claim()
    shared = submission()
    barrier = threading.Barrier(2)
    told = {}

    def send(name, store):
        barrier.wait()
        told[name] = [store.add([shared, submission()])[0].verdict for _ in range(20)]

    threads = [threading.Thread(target=send, args=pair) for pair in (("one", one), ("two", two))]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert (told["one"] + told["two"]).count("new") == 1
    assert one.count() == two.count() == len(everything(one)) == 41
    one.close(), two.close()


def test_a_record_that_commits_late_is_not_passed_by(postgres, survey):
    address = postgres.new_database()
    store = open_store(address, survey)
    mark = store.read_new(None).mark
    insert = "INSERT INTO records (id, survey, codes) VALUES (%s, %s, %s)"
    with psycopg.connect(address) as slow:
        slow.execute(insert, (b"early bird", store.number, b"\x00\x01"))
        store.add([submission(row=b"\x00\x02")])
        rows, mark, _ = store.read_new(mark)
        assert list(rows) == [b"\x00\x02"]
    rows, mark, _ = store.read_new(mark)
    assert list(rows) == [b"\x00\x01"]
    assert not store.read_new(mark).rows
    store.close()


def test_records_of_a_dump_from_a_busier_cluster_are_read_once(postgres, survey):
    address = postgres.new_database()
    store = open_store(address, survey)
    store.add([submission(2)])
    with psycopg.connect(address) as connection:
        connection.execute("UPDATE records SET batch = '900000000000'::xid8")
    store.close()
    reopened = open_store(address, survey)
    first = reopened.read_new(None)
    assert (len(first.rows), len(reopened.read_new(first.mark).rows)) == (2, 0)
    reopened.close()
