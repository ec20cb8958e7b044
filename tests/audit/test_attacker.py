import itertools

import numpy as np
import pytest

from kakuran.audit import Attacker, attacker as attacking, exact_posteriors, likelihoods as likelihoods_module, risk_of
from kakuran.mechanism import PRAM, Apart, BoundedLaplace, Laplace, RetentionReplacement
from kakuran.randomness import Randomness


def codes(*values):
    return np.array(values, np.int32)


@pytest.fixture
def mixed():
    """Every way a likelihood is found: narrow, looked up, pair by pair, and public."""
    rng = np.random.default_rng(0)
    mechanisms = {
        "job": RetentionReplacement(5, 0.4),
        "sex": PRAM([[0.9, 0.1], [0.3, 0.7]]),
        "age": BoundedLaplace(60, 1, 9.0),
        "pay": Laplace(3000, 1, 200.0),
    }
    original = {name: rng.integers(0, m.size, 40).astype(np.int32) for name, m in mechanisms.items()}
    original["year"] = rng.integers(0, 2, 40).astype(np.int32)
    return original, mechanisms


def brute_force(original, mechanisms, released):
    count = len(released["job"])
    total = np.zeros((count, len(original["job"])))
    for s, i in itertools.product(*map(range, total.shape)):
        for name, mechanism in mechanisms.items():
            total[s, i] += mechanism.log_likelihood(released[name][[s]], original[name][[i]])[0]
        if released["year"][s] != original["year"][i]:
            total[s, i] = -np.inf
    return total


def release(original, mechanisms):
    dice = Randomness.seeded(1)
    return {
        name: mechanisms[name].sample(column, dice) if name in mechanisms else column
        for name, column in original.items()
    }


def test_likelihoods_agree_with_the_mechanisms_pair_by_pair(mixed, monkeypatch):
    monkeypatch.setattr(likelihoods_module, "_LARGEST_TABLE", 60 * 60)
    original, mechanisms = mixed
    released = release(original, mechanisms)
    expected = brute_force(original, mechanisms, released)
    found = Attacker(original, [Apart(mechanisms)]).log_likelihoods(released)
    possible = np.isfinite(expected)
    assert np.allclose(found[possible], expected[possible], atol=1e-9)
    assert (found[~possible] < -1e11).all()


def test_exact_posteriors_are_doubly_stochastic_and_agree_with_a_permanent():
    logs = np.random.default_rng(2).normal(size=(5, 5))
    posterior = exact_posteriors(logs)
    assert np.allclose(posterior.sum(axis=0), 1)
    assert np.allclose(posterior.sum(axis=1), 1)

    def permanent(matrix):
        n = len(matrix)
        return sum(np.prod([matrix[i, p[i]] for i in range(n)]) for p in itertools.permutations(range(n)))

    weights = np.exp(logs)
    minor = np.delete(np.delete(weights, 2, axis=0), 3, axis=1)
    assert posterior[2, 3] == pytest.approx(weights[2, 3] * permanent(minor) / permanent(weights))


def test_without_noise_every_unique_record_is_linked():
    original = {"x": np.arange(50, dtype=np.int32)}
    mechanisms = {"x": RetentionReplacement(50, 1.0)}
    owners = Randomness.seeded(3).permutation(50)
    released = {"x": original["x"][owners]}
    attack = Attacker(original, [Apart(mechanisms)]).attack(released, owners, np.random.default_rng(0))
    assert attack.linked == attack.linked_one_to_one == 1
    assert np.allclose(attack.posteriors, 1)


def test_with_nothing_kept_links_are_no_better_than_chance():
    original = {"x": np.arange(50, dtype=np.int32)}
    mechanisms = {"x": RetentionReplacement(50, 0.0)}
    owners = Randomness.seeded(4).permutation(50)
    released = {"x": mechanisms["x"].sample(original["x"][owners], Randomness.seeded(5))}
    attack = Attacker(original, [Apart(mechanisms)]).attack(released, owners, np.random.default_rng(0))
    assert attack.linked == pytest.approx(1 / 50)
    assert np.allclose(attack.posteriors, 1 / 50)


def test_people_with_equal_records_share_the_link():
    original = {"x": codes(0, 0, 0, 1)}
    mechanisms = {"x": RetentionReplacement(2, 1.0)}
    attack = Attacker(original, [Apart(mechanisms)]).attack(original, np.arange(4), np.random.default_rng(0))
    assert np.allclose(attack.posteriors, [1 / 3, 1 / 3, 1 / 3, 1])
    assert attack.linked == pytest.approx((3 / 3 + 1) / 4)


def test_matching_all_at_once_by_scaling_links_about_as_many_as_the_best_assignment(monkeypatch):
    rng = np.random.default_rng(6)
    mechanisms = {f"x{j}": RetentionReplacement(6, 0.75) for j in range(5)}
    original = {name: rng.integers(0, 6, 400).astype(np.int32) for name in mechanisms}
    dice = Randomness.seeded(7)
    owners = dice.permutation(400)
    released = {name: mechanisms[name].sample(original[name][owners], dice) for name in mechanisms}
    attacker = Attacker(original, [Apart(mechanisms)])
    assigned = attacker.attack(released, owners, rng)
    monkeypatch.setattr(attacking, "ASSIGNABLE", 0)
    scaled = attacker.attack(released, owners, rng)
    assert assigned.linked_one_to_one > assigned.linked > 0.2
    assert scaled.linked_one_to_one > 0.9 * assigned.linked_one_to_one


def scaled_by_hand(logs, steps):
    """Sinkhorn's prices person by person."""
    prices = np.zeros(logs.shape[1])
    for _ in range(steps):
        shares = np.exp(logs - prices)
        prices += np.log((shares / shares.sum(axis=1, keepdims=True)).sum(axis=0))
    return prices


@pytest.mark.parametrize("matched_exactly", [True, False])
def test_attacking_alike_records_and_people_once_gives_what_attacking_all_gives(monkeypatch, matched_exactly):
    if not matched_exactly:
        monkeypatch.setattr(attacking, "ASSIGNABLE", 0)
        monkeypatch.setattr(likelihoods_module, "_BLOCK_CELLS", 32)
    rng = np.random.default_rng(8)
    mechanisms = {"x": RetentionReplacement(3, 0.6), "y": RetentionReplacement(40, 0.7)}
    original = {"x": rng.integers(0, 3, 300).astype(np.int32), "y": rng.integers(0, 8, 300).astype(np.int32)}
    original["public"] = (original["x"] > 1).astype(np.int32)
    dice, told = Randomness.seeded(9), []
    owners = dice.permutation(300)
    released = {name: mechanisms[name].sample(original[name][owners], dice) for name in mechanisms}
    released["public"] = original["public"][owners]

    attacker = Attacker(original, [Apart(mechanisms)])
    attack = attacker.attack(released, owners, np.random.default_rng(0), told.append)

    logs = attacker.log_likelihoods(released).astype(float)
    likelihoods = np.exp(logs)
    assert np.allclose(attack.posteriors, likelihoods.max(axis=1) / likelihoods.sum(axis=1), rtol=1e-4)
    assert np.allclose(attack.densities, np.log(likelihoods.mean(axis=1)), atol=1e-4)
    is_best = logs >= logs.max(axis=1, keepdims=True) - 1e-4
    assert attack.linked == pytest.approx((is_best[np.arange(300), owners] / is_best.sum(axis=1)).mean())
    assert sum(told) == 300
    if not matched_exactly:
        luck = np.random.default_rng(0).random(300, np.float32)
        guessed = (logs - scaled_by_hand(logs, attacking._SCALINGS) + 1e-4 * luck).argmax(axis=1)
        assert attack.linked_one_to_one == pytest.approx((guessed == owners).mean(), abs=1 / 300)


def test_risk_counts_uniques_classes_and_the_average_prosecutor():
    risk = risk_of({"a": codes(0, 0, 1, 1, 1), "b": codes(0, 0, 0, 0, 1)})
    assert (risk.uniques, risk.smallest_class, risk.prosecutor, risk.worst) == (1 / 5, 1, 3 / 5, 1.0)
