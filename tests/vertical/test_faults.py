"""Whatever goes wrong, both sides hear of it, and a restart goes on where it stopped."""

import dataclasses
import warnings
from importlib.metadata import version

import numpy as np
import pytest

from kakuran.errors import GuardError, LeakageWarning, ProtocolError
from kakuran.vertical import Party, fit_vertically
from kakuran.vertical.checkpoints import Checkpoints
from kakuran.vertical.messages import Estimates, Hello
from kakuran.vertical.party import side_by_side
from kakuran.vertical.transport import MemoryLink, linked_pair

from .companies import companies
from .pooled import pooled_ols

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")


def run(case, *, states=None, plans=None, timeout=5.0):
    """Every party's fit, or the error it ended with."""

    def outcome(name, links):
        plan = (plans or {}).get(name, case.plan)
        try:
            return Party(name, plan, case.frames[name], state=(states or {}).get(name)).fit(links)
        except Exception as error:
            return error

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakageWarning)
        return side_by_side(list(case.plan.names), outcome, timeout=timeout)


def crash(*_):
    raise OSError("crash")


@pytest.fixture
def tamper(monkeypatch):
    """Change the frames on the way: a function of (number of the frame, frame) → frame, or None to hang up."""

    def install(change):
        original, count = MemoryLink._write, iter(range(10**9))

        def write(link, frame):
            changed = change(next(count), frame)
            if changed is None:
                link.close()
                raise link.gone()
            original(link, changed)

        monkeypatch.setattr(MemoryLink, "_write", write)

    return install


def test_different_plans_are_refused_on_both_sides_with_both_fingerprints():
    case = companies(60, 2, 2)
    other = dataclasses.replace(case.plan, criterion="bic")
    errors = run(case, plans={"bob": other})
    for error in errors.values():
        assert isinstance(error, ProtocolError)
        assert case.plan.fingerprint in str(error)
        assert other.fingerprint in str(error)


def test_different_versions_of_kakuran_are_refused(monkeypatch):
    case, ours = companies(60, 2, 2), version("kakuran")
    answers = iter([ours, "99.0"])
    monkeypatch.setattr("kakuran.vertical.meeting.version", lambda _: next(answers))
    errors = run(case)
    assert any("runs kakuran 99.0" in str(error) for error in errors.values())
    assert all(isinstance(error, ProtocolError) for error in errors.values())


def test_a_newer_wire_format_is_refused(tamper):
    tamper(lambda _, frame: frame[:4] + (9).to_bytes(2, "little") + frame[6:])
    errors = run(companies(60, 2, 2))
    assert any("version 9 of the protocol" in str(error) for error in errors.values())


@pytest.mark.parametrize("number", [0, 3, 8])
def test_a_damaged_frame_stops_both_sides(tamper, number):
    tamper(lambda at, frame: frame if at != number else frame[:-40] + bytes([frame[-40] ^ 1]) + frame[-39:])
    errors = run(companies(60, 2, 2))
    assert any("arrived damaged" in str(error) for error in errors.values())
    assert all(isinstance(error, ProtocolError) for error in errors.values())


def test_estimates_of_another_shape_are_refused(monkeypatch):
    swap = MemoryLink.swap

    def cut_short(link, message, **turn):
        if isinstance(message, Estimates) and link.peer == "alice":
            message = dataclasses.replace(message, vif=message.vif[:-1])
        return swap(link, message, **turn)

    monkeypatch.setattr(MemoryLink, "swap", cut_short)
    errors = run(companies(60, 2, 2, protocol="residual"))
    assert str(errors["alice"]) == "bob sent estimates of another shape than its columns have"


def test_one_party_guard_stops_both_and_tells_the_other_no_numbers():
    case = companies(60, 2, 2)
    column = np.zeros(case.frames["alice"].num_rows)
    column[:3] = 1
    case.frames["alice"] = case.frames["alice"].set_column(1, "a0", [column])
    errors = run(case)
    assert isinstance(errors["alice"], GuardError)
    assert "alice stopped: it cannot go on" in str(errors["bob"])


@pytest.mark.parametrize("protocol", ["gram", "residual"])
@pytest.mark.parametrize("number", [1, 4, 7, 9, 11, 14, 20, 26])
def test_a_run_cut_off_anywhere_is_resumed_and_ends_as_if_nothing_happened(
    tamper, monkeypatch, tmp_path, protocol, number
):
    settings = {"ranking": "s2"} if protocol == "residual" else {}
    case = companies(80, 3, 3, noise=6.0, protocol=protocol, **settings)
    states = {name: tmp_path / name for name in ("alice", "bob")}
    with monkeypatch.context() as cutting:
        original, count = MemoryLink._write, iter(range(10**9))

        def write(link, frame):
            if next(count) >= number:
                link.close()
                raise link.gone()
            original(link, frame)

        cutting.setattr(MemoryLink, "_write", write)
        first = run(case, states=states)
    was_cut = any(isinstance(outcome, ProtocolError) for outcome in first.values())
    second = run(case, states=states) if was_cut else first
    for name, fit in second.items():
        assert not isinstance(fit, Exception), (name, second)
        assert not (tmp_path / name).exists()
    assert second["alice"].chosen == second["bob"].chosen == run(case)["alice"].chosen
    chosen = [case.columns.index(name) for name in second["alice"].chosen]
    pooled = pooled_ols(case.X[:, chosen], case.y)
    np.testing.assert_allclose(second["alice"].inference.t, pooled.tvalues[1:], rtol=1e-4)


@pytest.mark.parametrize("protocol", ["gram", "residual"])
def test_a_resumed_run_does_not_repeat_what_was_done(monkeypatch, tmp_path, protocol):
    settings = {"ranking": "s2"} if protocol == "residual" else {}
    case = companies(60, 3, 3, noise=6.0, protocol=protocol, **settings)
    states = {name: tmp_path / name for name in ("alice", "bob")}
    with monkeypatch.context() as failing:
        failing.setattr("kakuran.vertical.party.Party._conclude", crash)
        assert all(isinstance(error, OSError) for error in run(case, states=states).values())
    fits = run(case, states=states)
    kinds = [kind for _, kind, _, _ in fits["alice"].transcripts[0]["messages"]]
    assert "Blinded" not in kinds
    assert "Columns" not in kinds
    # The last model is kept; only one that turned out worse is tried again.
    whole = run(case)["alice"]
    assert kinds.count("Offer") <= 4
    assert fits["alice"].chosen == whole.chosen
    assert fits["alice"].exposure.rank == whole.exposure.rank


def test_a_new_alignment_leaves_no_stage_of_an_older_one(monkeypatch, tmp_path):
    case = companies(60, 3, 3, noise=6.0, protocol="residual", ranking="s2")
    states = {name: tmp_path / name for name in ("alice", "bob")}
    with monkeypatch.context() as failing:
        failing.setattr("kakuran.vertical.party.Party._conclude", crash)
        run(case, states=states)
        (tmp_path / "bob" / "kakuran-aligned.npz").unlink()
        failing.setattr("kakuran.vertical.party.Party._run_residual", crash)
        run(case, states=states)
    assert sorted(path.name for path in tmp_path.glob("*/*")) == ["kakuran-aligned.npz"] * 2
    assert run(case, states=states)["alice"].chosen == run(case)["alice"].chosen


def test_state_of_other_data_is_not_resumed(tmp_path):
    kept = Checkpoints(tmp_path / "state", "plan alice data")
    kept.save("aligned", "tag", {"n": 3}, rows=np.arange(3))
    assert kept.tags() == {"aligned": "tag"}
    assert kept.load("aligned")[0] == {"n": 3}
    assert Checkpoints(tmp_path / "state", "plan alice other").tags() == {}
    for number, content in enumerate((b"no such thing", b"", b"PK\x03\x04 cut off")):
        (tmp_path / "state" / f"kakuran-broken{number}.npz").write_bytes(content)
    assert kept.tags() == {"aligned": "tag"}
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0


def test_in_a_folder_that_was_there_before_only_our_own_stages_are_touched(tmp_path):
    (tmp_path / "mine.npz").write_bytes(b"somebody's data")
    kept = Checkpoints(tmp_path, "plan alice data")
    kept.save("aligned", "tag", {}, rows=np.arange(3))
    assert (tmp_path / "kakuran-aligned.npz").stat().st_mode & 0o077 == 0
    (tmp_path / ".kakuran-pair.npz.killed").mkdir()
    kept.start_over()
    kept.save("aligned", "tag", {}, rows=np.arange(3))
    kept.forget()
    assert [path.name for path in tmp_path.iterdir()] == ["mine.npz"]


def test_a_folder_made_for_a_run_goes_with_it(tmp_path):
    kept = Checkpoints(tmp_path / "state", "plan alice data")
    kept.save("aligned", "tag", {}, rows=np.arange(3))
    kept.forget()
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("words", [0, 1])
def test_a_peer_that_falls_silent_is_given_up_after_the_timeout(words):
    case = companies(60, 2, 2)
    near, far = linked_pair("alice", "bob", 0.5)
    if words:
        far.send(Hello("bob", version("kakuran"), case.plan.fingerprint, "fit", bytes(32), "{}"))
    with pytest.raises(ProtocolError, match=r"bob has been silent for 0\.5 s; start all sides again to resume"):
        Party("alice", case.plan, case.frames["alice"]).fit({"bob": near})
    assert far.receive(Hello).party == "alice"


def test_a_party_without_a_table_is_noticed_before_anybody_waits_for_it():
    case = companies(60, 2, 2)
    with pytest.raises(ProtocolError, match="no table is given for bob"):
        fit_vertically({"alice": case.frames["alice"]}, case.plan)


def test_parties_must_be_linked_to_all_others():
    case = companies(60, 2, 2)
    with pytest.raises(ProtocolError, match="alice must be linked to bob"):
        Party("alice", case.plan, case.frames["alice"]).fit({})


def test_an_error_in_one_thread_reaches_the_caller():
    case = companies(60, 2, 2)
    case.frames["bob"] = case.frames["bob"].set_column(1, "b0", [np.ones(case.frames["bob"].num_rows)])
    with pytest.raises(Exception, match="column 'b0'"):
        fit_vertically(case.frames, case.plan)
