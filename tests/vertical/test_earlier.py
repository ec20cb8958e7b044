"""What earlier runs told is remembered, and counts."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, strategies as st

import kakuran.vertical.party as party_module
from kakuran.errors import GuardError, ProtocolError
from kakuran.vertical import Party, user_memory
from kakuran.vertical.earlier import EarlierRuns, fewest_apart
from kakuran.vertical.own import OwnColumns
from kakuran.vertical.party import side_by_side

from .companies import companies

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")


def without(frame, *ids):
    return frame.filter(~np.isin(frame["id"].to_numpy(), ids))


def fitted(case, frames, folder=None, **options):
    """Every party's fit; those with a folder keep their state, and what they remember, there."""

    def run(name, links):
        state = None if folder is None else folder / name / "state"
        return Party(name, case.plan, frames[name], state=state, **options).fit(links)

    return side_by_side(list(case.plan.names), run)


def remembering(folder):
    for name in ("alice", "bob"):
        (folder / name).mkdir()
    return folder


def shared(case):
    return sorted(set(case.frames["alice"]["id"].to_pylist()) & set(case.frames["bob"]["id"].to_pylist()))


def test_a_second_fit_without_one_customer_is_refused(tmp_path):
    case, folder = companies(100, 2, 3), remembering(tmp_path)
    fitted(case, case.frames, folder)
    fewer = case.frames | {"bob": without(case.frames["bob"], shared(case)[0])}
    with pytest.raises(GuardError, match=r"would speak of 1 person only, fewer than 31; .* --despite-earlier-runs"):
        fitted(case, fewer, folder)
    fit = fitted(case, fewer, folder, despite_earlier_runs=True)["alice"]
    assert fit.exposure.earlier_runs == 1
    assert fit.exposure.sentences()[-1] == "earlier runs that told sums over the same people: 1"


def test_an_addition_counts_like_an_omission_and_25_may_change_at_once(tmp_path):
    case, folder = companies(100, 2, 3), remembering(tmp_path)
    ids = shared(case)
    fitted(case, case.frames | {"bob": without(case.frames["bob"], *ids[:24])}, folder)
    with pytest.raises(GuardError, match="would speak of 24 people only"):
        fitted(case, case.frames, folder)
    fitted(case, case.frames | {"bob": without(case.frames["bob"], *ids[24:49])}, folder)


def test_a_run_that_was_cut_off_before_its_end_counts(tmp_path, monkeypatch):
    case, folder = companies(100, 2, 3), remembering(tmp_path)

    def stop(*_):
        raise ProtocolError("the line broke")

    with monkeypatch.context() as cutting:
        cutting.setattr(party_module, "pool_moments", stop)
        with pytest.raises(ProtocolError, match="the line broke"):
            fitted(case, case.frames, folder)
    with pytest.raises(GuardError, match="would speak of 1 person only"):
        fitted(case, case.frames | {"bob": without(case.frames["bob"], shared(case)[0])}, folder)


def asked_again_and_again(case, remembering, other, folder):
    """A run with this seed for the other's first column, or with its own; what the one that remembers is exposed to."""

    def run(seed=None):
        frame = case.frames[other]
        if seed is not None:
            values = np.random.default_rng(seed).normal(size=frame.num_rows)
            frame = frame.set_column(1, frame.column_names[1], [values])
        frames = case.frames | {other: frame}

        def one(name, links):
            memory = folder / "runs" if name == remembering else None
            return Party(name, case.plan, frames[name], memory=memory).fit(links)

        return side_by_side(list(case.plan.names), one)[remembering].exposure

    return run


def test_the_same_question_tells_its_decoys_anew_and_others_come_to_an_end(tmp_path):
    """Each run tells three sums of each of bob's columns, decoys count two; he has 100 records, five a sum."""
    run = asked_again_and_again(companies(100, 3, 2), "bob", "alice", tmp_path)
    first, *again = [run() for _ in range(3)]
    assert [first.earlier_runs, *(each.earlier_runs for each in again)] == [0, 1, 2]
    assert [first.unlocking_records - each.unlocking_records for each in again] == [5, 5 + 2]
    told = [run(seed) for seed in range(2)]
    assert [each.earlier_runs for each in told] == [3, 4]
    assert told[-1].unlocking_records == first.unlocking_records - (5 + 2 + 2 + 5)
    with pytest.raises(GuardError, match=r"a sum for every 4\.2 of our records, not for every 5"):
        run(2)


def test_a_question_repeated_for_its_decoys_comes_to_an_end(tmp_path):
    """Decoys about 16 people each time read all four columns of 1,200 people in 75 runs; each repeat was free."""
    run = asked_again_and_again(companies(100, 3, 2), "bob", "alice", tmp_path)
    for _ in range(7):
        run()
    with pytest.raises(GuardError, match=r"a sum for every 4\.5 of our records, not for every 5"):
        run()


def test_sums_that_we_are_only_told_count_again_however_equal_they_are(tmp_path):
    """The owner of the key could ask for others each time and tell us the same. With check and decoys, seven a run."""
    run = asked_again_and_again(companies(100, 2, 3), "alice", "bob", tmp_path)
    assert [run().earlier_runs for _ in range(2)] == [0, 1]
    with pytest.raises(GuardError, match=r"a sum for every 4\.8 of our records, not for every 5"):
        run()


def numbers(*ranges):
    return np.concatenate([np.arange(*each, dtype=np.uint64) for each in ranges])


@pytest.mark.parametrize(
    ("now", "earlier", "fewest"),
    [
        ([(1, 100)], [[(0, 100)]], 1),
        ([(0, 100)], [[(0, 100)]], 20),
        ([(100, 200)], [[(0, 100)]], 20),
        # Two halves, and then all with one more.
        ([(0, 101)], [[(0, 50)], [(50, 100)]], 1),
        # Two halves, and then all: nothing that was not told before.
        ([(0, 100)], [[(0, 50)], [(50, 100)]], 20),
        # Three that overlap by halves; (1) − (2) + (3) − now leaves two.
        ([(0, 25), (50, 73), (75, 100)], [[(0, 50)], [(25, 75)], [(50, 100)], [(75, 100)], [(50, 75)]], 2),
        # What the first two tell by themselves is told; the third adds nothing to it.
        ([(0, 200)], [[(0, 100)], [(1, 100)]], 20),
    ],
)
def test_sums_of_several_runs_are_put_together(now, earlier, fewest):
    assert fewest_apart(numbers(*now), [numbers(*each) for each in earlier], 20) == fewest


@given(st.lists(st.sets(st.integers(0, 30), min_size=1), min_size=2, max_size=3), st.integers(1, 12))
def test_no_combination_of_three_runs_speaks_of_fewer(runs, enough):
    arrays = [np.array(sorted(run), np.uint64) for run in runs]
    takes_part = np.array([[person in run for run in runs] for person in range(31)], int)
    combined = [takes_part @ weights for weights in itertools.product(range(-2, 3), repeat=len(runs)) if weights[0]]
    counts = [np.count_nonzero(sums) for sums in combined]
    expected = enough if 0 in counts else min(enough, *counts)  # 0: earlier runs told as much
    assert fewest_apart(arrays[0], arrays[1:], enough) == expected


def test_many_runs_over_other_samples_of_many_people_are_let_pass():
    """Twelve halves of 3,000 people, of whom hardly two took part in the same runs; then one with a person more."""
    rng = np.random.default_rng(0)
    runs = [np.flatnonzero(rng.random(3000) < 0.5).astype(np.uint64) for _ in range(12)]
    assert fewest_apart(runs[0], runs[1:], 30) == 30
    assert fewest_apart(np.union1d(runs[0], [np.uint64(3000)]), runs, 30) < 30


def test_of_two_runs_at_once_one_counts_as_the_earlier(tmp_path):
    ids, refused = [b"%d" % number for number in range(300)], []

    def begin(records):
        try:
            EarlierRuns(tmp_path / "runs").begin(records, 3, fewest=20, records_per_sum=5)
        except GuardError as error:
            refused.append(error)

    threads = [threading.Thread(target=begin, args=(records,)) for records in (ids, ids[1:])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1


def test_what_is_remembered_is_for_its_owner_alone_and_names_nobody(tmp_path):
    ids = [b"customer-%d" % number for number in range(300)]
    EarlierRuns(tmp_path / "runs").begin(ids, 3, fewest=20, records_per_sum=5)
    assert (tmp_path / "runs").stat().st_mode & 0o077 == 0
    assert b"customer" not in (tmp_path / "runs").read_bytes()
    assert (tmp_path / "runs").stat().st_size < 300 * 8 + 40_000
    (tmp_path / "runs").write_bytes(b"something else, of more than a hundred bytes" * 3)
    with pytest.raises(ProtocolError, match="cannot keep what earlier runs were about"):
        EarlierRuns(tmp_path / "runs").begin(ids, 3, fewest=20, records_per_sum=5)


@pytest.mark.parametrize(
    ("platform", "given", "place"),
    [
        ("linux", {}, "home/.local/state"),
        ("linux", {"XDG_STATE_HOME": "state"}, "state"),
        ("darwin", {}, "home/Library/Application Support"),
        ("darwin", {"XDG_STATE_HOME": "state"}, "state"),
        ("win32", {"LOCALAPPDATA": "local"}, "local"),
        ("win32", {}, "home/AppData/Local"),
    ],
)
def test_a_user_has_one_memory_where_the_system_keeps_state(platform, given, place, tmp_path, monkeypatch):
    for name in ("XDG_STATE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, folder in given.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path / "home")
    assert user_memory() == tmp_path / place / "kakuran" / "earlier.runs"


def test_a_relative_state_folder_is_ignored(tmp_path, monkeypatch):
    """It was another one in every folder, and nothing was remembered in the next."""
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    monkeypatch.setattr("pathlib.Path.home", lambda: tmp_path / "home")
    monkeypatch.setattr("sys.platform", "linux")
    assert user_memory() == tmp_path / "home/.local/state/kakuran/earlier.runs"


def test_what_is_written_down_outlasts_a_power_failure(tmp_path):
    """FULL leaves the journal's removal to the system: where it comes back, the last run is taken back."""
    with EarlierRuns._opened(tmp_path / "runs") as file:
        assert file.execute("PRAGMA synchronous").fetchone() == (3,)


def test_a_memory_that_others_could_read_is_its_owner_s_alone_from_then_on(tmp_path):
    memory = EarlierRuns(tmp_path / "runs")
    memory.recognise("a plan")
    (tmp_path / "runs").chmod(0o644)
    assert memory.knows("a plan")
    assert (tmp_path / "runs").stat().st_mode & 0o777 == 0o600


def test_a_column_that_differs_in_few_people_from_one_of_another_name_is_refused(tmp_path):
    """A yes/no question asked again in autumn: sums of both runs, subtracted, speak of those who changed."""
    rng, ids = np.random.default_rng(0), [b"%d" % number for number in range(900)]
    spring = (rng.random(900) < 0.4).astype(float)
    columns = {"spring": spring, "renamed": spring, "autumn": spring.copy(), "other": rng.permutation(spring)}
    columns["autumn"][:7] = 1 - columns["autumn"][:7]

    def begin(name):
        own = OwnColumns((name,), columns[name][:, None])
        EarlierRuns(tmp_path / "runs").begin(ids, 3, fewest=20, records_per_sum=5, own=own)

    for name in ("spring", "renamed", "other"):
        begin(name)
    with pytest.raises(
        GuardError, match="of 'autumn', which is nearly a column of an earlier run, would speak of 7 people"
    ):
        begin("autumn")


def test_a_run_is_repeated_where_a_run_needs_more_than_half_of_the_people(tmp_path):
    """A column that everybody answers otherwise was taken for nearly the same one, and half of all people for few."""
    rng, ids = np.random.default_rng(0), [b"%d" % number for number in range(900)]
    own = OwnColumns(("age", "ill"), np.column_stack([rng.integers(18, 90, 900), rng.integers(0, 2, 900)]))
    for _ in range(2):
        EarlierRuns(tmp_path / "runs").begin(ids, 3, fewest=653, records_per_sum=5, own=own)


def test_a_yes_no_column_asks_for_more_people_to_change(tmp_path):
    """Exact sums over a few dozen people pin a yes/no column down, as they do where a run has so few."""
    case, folder = companies(800, 2, 2), remembering(tmp_path)
    frame = case.frames["alice"]
    yes_no = frame["a0"].to_numpy() > np.median(frame["a0"].to_numpy())
    frames = case.frames | {"alice": frame.set_column(1, "a0", [yes_no])}
    fitted(case, frames, folder)
    with pytest.raises(GuardError, match="would speak of 60 people only, fewer than 653"):
        fitted(case, frames | {"bob": without(case.frames["bob"], *shared(case)[:60])}, folder)


def test_a_resumed_run_is_no_second_one(tmp_path, monkeypatch):
    case, folder = companies(120, 3, 3), remembering(tmp_path)

    def stop(*_):
        raise OSError("the power failed")

    with monkeypatch.context() as cutting:
        cutting.setattr(Party, "_conclude", stop)
        with pytest.raises(OSError, match="power"):
            fitted(case, case.frames, folder)
    assert fitted(case, case.frames, folder)["alice"].exposure.earlier_runs == 0
    assert fitted(case, case.frames, folder)["alice"].exposure.earlier_runs == 1


def changed(frame, name, rows, by=1.0):
    values = frame[name].to_numpy().copy()
    values[rows] += by
    return frame.set_column(frame.column_names.index(name), name, [values])


@pytest.mark.parametrize("party", ["alice", "bob"])
def test_a_second_fit_in_which_one_value_has_changed_is_refused_by_whose_value_it_is(tmp_path, party):
    """Both ran unchanged and remembered; the difference told the other's values of that person to six digits."""
    case, folder = companies(100, 2, 3), remembering(tmp_path)
    fitted(case, case.frames, folder)
    column = case.plan.terms(party).columns[1]
    row = case.frames[party]["id"].to_pylist().index(shared(case)[0])
    updated = case.frames | {party: changed(case.frames[party], column, [row])}
    with pytest.raises(GuardError, match=rf"sums of '{column}', which has changed, would speak of 1 person only"):
        fitted(case, updated, folder)


def test_values_may_change_for_as_many_people_as_a_run_needs(tmp_path):
    ids, values = [b"%d" % number for number in range(300)], np.random.default_rng(0).normal(size=(300, 2))

    def begin(more, by):
        shifted = values.copy()
        shifted[:more, 1] += by
        own = OwnColumns(("a", "b"), shifted)
        EarlierRuns(tmp_path / "runs").begin(ids, 3, fewest=20, records_per_sum=5, own=own)

    begin(0, 0)
    with pytest.raises(GuardError, match="sums of 'b', which has changed, would speak of 19 people only"):
        begin(19, 1.0)
    begin(20, 1.0)
    with pytest.raises(GuardError, match="sums of 'b', which has changed, would speak of 1 person"):
        begin(21, 1.0)
    begin(20, 1.0)


def test_the_same_people_under_other_ids_are_noticed(tmp_path):
    """Without one customer, and by another column of ids, a second fit told that customer's values."""
    ids = [b"%d" % number for number in range(300)]
    begin = EarlierRuns(tmp_path / "runs").begin
    begin(ids, 3, fewest=20, records_per_sum=5, known_by="customer")
    with pytest.raises(GuardError, match="knew our records by 'customer', this one by 'mail'"):
        begin(ids[100:], 3, fewest=20, records_per_sum=5, known_by="mail")
    begin(ids[100:], 3, fewest=20, records_per_sum=5, known_by="mail", despite=True)
    begin(ids, 3, fewest=20, records_per_sum=5, known_by="mail")
