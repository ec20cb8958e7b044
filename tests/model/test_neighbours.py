"""Ordered values whose neighbours draw each other along, where records that are held out prefer it."""

import numpy as np

import kakuran as kk
from kakuran.mechanism import SquareWave
from kakuran.model import reconstruction

WEEKS = np.arange(26)
SHAPES = {
    "waves": np.exp(-(((WEEKS - 10) / 2.6) ** 2)) + 1.6 * np.exp(-(((WEEKS - 21.4) / 2.9) ** 2)) + 0.03,
    "growth": np.exp(WEEKS / 5),
    "spike": np.where(WEEKS == 8, 16.0, 1.0),
}
WAVE = SquareWave.at_swap_cost(kk.Date("onset", "2020-01-27", "2020-07-26", step="week"), 6.3)
BEYOND = np.arange(-WAVE.half_width, 26 + WAVE.half_width + 1)


def wrong_week(shape, draws=12, people=5_000):
    """The share of people in the wrong one of 26 weeks, on average over some draws, always the same."""
    transition, dice = WAVE.transition(np.arange(27), BEYOND), np.random.default_rng(1)
    shares, wrong = SHAPES[shape] / SHAPES[shape].sum(), []
    for truth in dice.multinomial(people, shares, draws):
        told = sum(dice.multinomial(count, row) for count, row in zip(truth, transition.matrix.T, strict=True))
        found = kk.reconstruct(told, [transition]).counts
        wrong.append(np.abs(found - truth).sum() / 2 / people)
    return np.mean(wrong)


def test_neighbouring_weeks_are_drawn_together_where_that_predicts_and_not_else(monkeypatch):
    now = {shape: wrong_week(shape) for shape in SHAPES}
    monkeypatch.setattr(reconstruction, "SMOOTH", ())
    before = {shape: wrong_week(shape) for shape in SHAPES}
    assert now["waves"] < 0.85 * before["waves"]
    assert now["waves"] < 0.05
    assert now["growth"] < 0.75 * before["growth"]
    assert now["spike"] < 1.05 * before["spike"]


def test_a_missing_value_is_no_neighbour_of_the_last_week():
    attribute = kk.Date("onset", "2020-01-27", "2020-07-26", step="week", missing="category")
    transition = SquareWave.at_swap_cost(attribute, 6.3).transition()
    assert (transition.size, transition.line) == (27, 26)
    told = transition.forward(np.append(np.linspace(0, 100, 26), 5_000.0), 0)
    found = reconstruction.blend(told[None], reconstruction.Operator([transition]), {reconstruction.SMOOTH[-1]: 1.0})[0]
    assert found[25] < 250
    pairs = np.append(np.arange(26) // 2, 13)
    assert transition.lumped(pairs, np.ones(27)).line == 13
    assert transition.lumped(np.append(np.arange(26) % 2, 2), np.ones(27)).line == 0
