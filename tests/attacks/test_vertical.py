"""What one company can learn of the other's columns: everything under S2's protocol, next to nothing under ours."""

import itertools
import warnings

import numpy as np
import pyarrow as pa
import pytest
from scipy.linalg import qr

from kakuran.errors import GuardError
from kakuran.vertical import Limits, Party, VerticalPlan, fit_vertically
from kakuran.vertical.encryption import precision
from kakuran.vertical.gram import moments_of, rounded
from kakuran.vertical.leakage import bits_of, bits_told
from kakuran.vertical.messages import FittedPart
from kakuran.vertical.party import side_by_side

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

KNOWN = 25
RECORDS, P, Q = 400, 6, 8


def companies(protocol, **settings):
    """Bob's first column is yes/no; nothing explains the target well, so that most variables are dropped."""
    rng = np.random.default_rng(11)
    A, B = rng.normal(size=(RECORDS, P)), rng.normal(size=(RECORDS, Q))
    B[:, 0] = rng.random(RECORDS) < 0.4
    y = A[:, 0] + B[:, 1] + 8 * rng.normal(size=RECORDS)
    names = {"alice": [f"a{j}" for j in range(P)], "bob": [f"b{j}" for j in range(Q)]}
    tables = {
        "alice": pa.table({"id": range(RECORDS), **dict(zip(names["alice"], A.T, strict=True)), "y": y}),
        "bob": pa.table({"id": range(RECORDS), **dict(zip(names["bob"], B.T, strict=True))}),
    }
    limits = Limits(bits_per_bit_told=0)  # 400 records are few for a yes/no column beside eight sums
    return tables, VerticalPlan.of(names, target="y", holder="alice", protocol=protocol, limits=limits, **settings), B


def what_alice_receives(protocol, **settings):
    """Every message that reaches alice, the fits, and bob's table in alice's order of records."""
    tables, plan, B = companies(protocol, **settings)
    received, rows = [], {}

    def run(name, links):
        for link in links.values():
            hear = link.receive
            if name == "alice":
                link.receive = lambda kind, hear=hear, **k: (received.append(hear(kind, **k)), received[-1])[1]
        party = Party(name, plan, tables[name])
        align = party._aligned_rows
        party._aligned_rows = lambda *a: rows.setdefault(name, align(*a))
        return party.fit(links)

    fits = side_by_side(list(plan.names), run)
    return received, fits, B[rows["bob"]]


@pytest.fixture(scope="module")
def residual():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return what_alice_receives("residual", ranking="s2")


def space_seen(received):
    """An orthonormal basis of the fitted parts alice was sent, with a constant."""
    parts = np.column_stack([message.values for message in received if isinstance(message, FittedPart)])
    directions, strengths, _ = np.linalg.svd(parts / np.linalg.norm(parts, axis=0), full_matrices=False)
    return np.column_stack([np.ones(RECORDS), directions[:, strengths > 1e-8 * strengths[0]]])


def test_residual_shows_everything_bobs_columns_span_and_the_meter_says_so(residual):
    received, fits, B = residual
    space = space_seen(received)
    left = B - space @ np.linalg.lstsq(space, B, rcond=None)[0]
    assert np.abs(left).max() < 1e-12
    exposure = fits["bob"].exposure
    assert exposure.rank == Q
    assert min(exposure.shares.values()) > 0.999999
    assert exposure.unlocking_records == Q + 1


def test_residual_lets_alice_rebuild_bobs_table_from_a_few_known_records(residual):
    received, fits, B = residual
    space = space_seen(received)
    assert fits["bob"].exposure.unlocking_records <= KNOWN
    rule = np.linalg.lstsq(space[:KNOWN], B[:KNOWN], rcond=None)[0]
    assert np.abs(space @ rule - B).max() < 1e-12


def test_residual_lets_a_yes_no_column_fall_out_without_any_known_record(residual):
    """A combination of the directions that is 0 or 1 everywhere is found from as many records as directions.

    She takes records that differ much: where all have the same answer, it cannot be told from the constant.
    """
    received, _, B = residual
    space = space_seen(received)
    size = space.shape[1]
    _, pivots = qr(space.T, mode="r", pivoting=True)
    guesses = np.array(list(itertools.product([0.0, 1.0], repeat=size)))
    candidates = np.linalg.solve(space[pivots[:size]], guesses.T)
    trial = space[:64] @ candidates
    fits_so_far = (np.minimum(np.abs(trial), np.abs(trial - 1)).max(axis=0)) < 1e-4
    found = {tuple(np.rint(space @ c).astype(int)) for c in candidates[:, fits_so_far].T}
    found = {column for column in found if 0 < sum(column) < RECORDS}
    secret = tuple(B[:, 0].astype(int))
    assert found == {secret, tuple(1 - value for value in secret)}


def test_gram_sends_alice_nothing_of_the_length_of_the_table():
    received, fits, _ = what_alice_receives("gram")
    for message in received:
        for value in vars(message).values():
            if isinstance(value, np.ndarray):
                assert max(value.shape) <= P + Q + 1
    assert fits["bob"].exposure.rank == 0


def test_gram_gives_alice_no_record_beyond_those_she_knew():
    """Her best guess from moments and known records: the shortest columns that satisfy all equations."""
    _, fits, _ = what_alice_receives("gram")
    tables, _, B = companies("gram")
    A = np.column_stack([tables["alice"][name].to_numpy() for name in (*[f"a{j}" for j in range(P)], "y")])
    # As the worst case would have it, she also knows bob's means and scales.
    Z, S = (B - B.mean(axis=0)) / B.std(axis=0), (A - A.mean(axis=0)) / A.std(axis=0)
    equations = np.column_stack([np.ones(RECORDS), S])

    def guess(known):
        unknown = slice(known, None)
        told = equations.T @ Z - equations[:known].T @ Z[:known]
        return np.linalg.lstsq(equations[unknown].T, told, rcond=None)[0], Z[unknown]

    guessed, truth = guess(KNOWN)
    assert ((guessed - truth) ** 2).sum() / (truth**2).sum() > 0.9
    yes_no = guessed[:, 0] > np.median(guessed[:, 0])
    assert abs((yes_no == (truth[:, 0] > 0)).mean() - 0.5) < 0.2
    # The meter's count of unlocking records is where the attack would start to work, and not before.
    guessed, truth = guess(RECORDS - equations.shape[1])
    assert np.abs(guessed - truth).max() < 1e-6
    assert RECORDS - equations.shape[1] - Q <= fits["bob"].exposure.unlocking_records <= RECORDS - equations.shape[1]


def test_few_records_let_moments_pin_down_a_yes_no_column_and_the_guard_refuses_them():
    records, columns = 20, 2
    rng = np.random.default_rng(3)
    A, secret = rng.normal(size=(records, columns)), rng.permutation(np.r_[np.ones(9), np.zeros(11)])
    S = (A - A.mean(axis=0)) / A.std(axis=0)
    bits = precision(records)
    ours, theirs = rounded(S, bits), rounded(((secret - secret.mean()) / secret.std())[:, None], bits)
    told = moments_of(np.hstack([ours, theirs]), bits)[:columns, columns:]
    found = []
    for block in range(16):
        numbers = np.arange(block << 16, (block + 1) << 16)
        every = (numbers[:, None] >> np.arange(records)) & 1
        every = every[every.sum(axis=1) == 9]
        standard = (every - 9 / records) / np.sqrt(9 / records * 11 / records)
        found.append(every[np.abs(standard @ S / records - told.T).max(axis=1) < 1e-7])
    np.testing.assert_array_equal(np.vstack(found), [secret])
    assert bits_told(columns, 1) > bits_of(secret)

    tables = {
        "alice": pa.table({"id": range(records), "a0": A[:, 0], "y": A[:, 1]}),
        "bob": pa.table({"id": range(records), "b0": secret}),
    }
    plan = VerticalPlan.of(
        {"alice": ["a0"], "bob": ["b0"]},
        target="y",
        holder="alice",
        limits=Limits(smallest_group=5, bits_per_bit_told=1.4),
    )
    with pytest.raises(GuardError, match=r"up to 290 bits of 'b0', which takes 20 to write down for 20 records"):
        fit_vertically(tables, plan)
