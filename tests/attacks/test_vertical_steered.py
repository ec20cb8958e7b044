"""Predictions as a way into a table: made-up moments that choose our coefficients, and several models that add up.

A partner who chose the sums chose what our part of a prediction was made of, and how finely it was told: it read four
whole-number columns of all people. Honest models did the same after four predictions.
"""

import itertools

import numpy as np
import pyarrow as pa
import pytest
from tests.vertical.companies import companies

from kakuran.errors import GuardError, ProtocolError
from kakuran.vertical import Party, VerticalPlan, fit_vertically, gram, predict_together
from kakuran.vertical.messages import CrossSums, InterceptPart, OwnMoments
from kakuran.vertical.party import side_by_side

pytestmark = pytest.mark.usefixtures("ids_are_masked_only")

PEOPLE = 1200
NAMES = ("age", "visits", "children", "ill")
EVERY = np.array(list(itertools.product(range(18, 90), range(14), range(4), range(2))))
RNG = np.random.default_rng(5)
ANSWERS = EVERY[RNG.integers(0, len(EVERY), PEOPLE)]
STANDARDISED = (ANSWERS - ANSWERS.mean(axis=0)) / ANSWERS.std(axis=0)
NOISE = RNG.normal(size=(PEOPLE, 6))
BANK = pa.table({"id": range(PEOPLE), **dict(zip(NAMES, ANSWERS.T, strict=True))})
LENGTHS = "are not those of standardised columns"
THEIR_OWN = "of their own columns are not those"


def shop(target):
    names = ("s0", "s1", "s2", "s3")
    return pa.table({"id": range(PEOPLE), **dict(zip(names, NOISE.T[:4], strict=True)), "y": target})


def agreed(*shops, first=("bank", "shop"), **settings):
    held = {"bank": NAMES, "shop": shops}
    return VerticalPlan.of({name: held[name] for name in first}, target="y", holder="shop", search="none", **settings)


def right(parts, weights):
    """How many values of each column are right, of all people, by whoever knows all but the values themselves."""
    weights = np.asarray(weights) / ANSWERS.std(axis=0)
    candidates, found = (EVERY - ANSWERS.mean(axis=0)) @ weights.T, np.empty(PEOPLE, int)
    for start in range(0, PEOPLE, 200):
        distances = sum(
            (candidates[None, :, at] - parts[start : start + 200, at, None]) ** 2 for at in range(parts.shape[1])
        )
        found[start : start + 200] = distances.argmin(axis=1)
    return dict(zip(NAMES, (EVERY[found] == ANSWERS).sum(axis=0).tolist(), strict=True))


def weights_of(fits):
    found = fits["bank"].inference
    return [found.coefficients[found.names.index(name)] for name in NAMES]


def parts_told(plan, fits, tables, memory=None):
    """The bank's part of each person's prediction, as the shop is left with it, in the target's scale."""

    def run(name, links):
        kept = memory if name == "bank" else None
        return predict_together(links, plan, fits[name], tables[name], receiver="shop", memory=kept)

    found = side_by_side(list(plan.names), run)["shop"]
    fit = fits["shop"]
    own = fit.part({name: tables["shop"][name].to_numpy()[found.rows] for name in fit.own}, PEOPLE)
    parts = np.empty(PEOPLE)
    parts[found.rows] = (found.values - own) / fit.target_scale
    return parts


def telling_others(weights, explained):
    """An owner of the key who tells sums by which the bank's columns, so weighted, explain so much of the target."""
    honest, weights = gram.cross_moments_as_owner, np.asarray(weights, float)

    def lie(link, columns, theirs, bits, decoys):
        own, send = gram.moments_of(columns, bits), link.send
        known = STANDARDISED.T @ STANDARDISED / PEOPLE @ weights
        scale = np.sqrt(explained * (own[1, 1] - own[0, 1] ** 2) / (weights @ known))
        moments = np.column_stack([np.zeros(4), known * scale])
        told = CrossSums(np.rint(moments * PEOPLE * 4.0**bits).astype(np.int64))
        link.send = lambda message: send(told if isinstance(message, CrossSums) else message)
        _, projections = honest(link, columns, theirs, bits, decoys)
        link.send = send
        return moments, projections

    return lie


STEERED = [([2.0**-11, 2.0**-7, 2.0**-2, 1], 1.0), ([0, 0, 0.45, 1], 0.9), ([0, 0, 0.45, 1], 0.6)]


@pytest.mark.parametrize(("weights", "explained"), STEERED)
def test_an_owner_of_the_key_cannot_choose_our_coefficients(weights, explained, monkeypatch):
    """Told sums that no column has leave uniform numbers where decoys were: they look right once in 10⁷ times."""
    tables, plan = {"bank": BANK, "shop": shop(NOISE[:, 5])}, agreed("s0")
    monkeypatch.setattr(gram, "cross_moments_as_owner", telling_others(weights, explained))
    with pytest.raises(ProtocolError, match=LENGTHS):
        fit_vertically(tables, plan)


@pytest.fixture
def without_decoys(monkeypatch):
    """Nobody looks how long the others' columns are, as if a lie had been lucky."""
    monkeypatch.setattr(gram, "_check_projections", lambda *_: None)
    monkeypatch.setattr(gram, "check_lengths", lambda *_: None)


@pytest.mark.usefixtures("without_decoys")
@pytest.mark.parametrize(("weights", "explained"), STEERED)
def test_a_part_that_tells_one_column_is_not_sent_whoever_made_it_so(weights, explained, monkeypatch):
    tables, plan = {"bank": BANK, "shop": shop(NOISE[:, 5])}, agreed("s0")
    monkeypatch.setattr(gram, "cross_moments_as_owner", telling_others(weights, explained))
    fits = fit_vertically(tables, plan)
    assert fits["bank"].quality.r_squared == pytest.approx(explained, abs=1e-3)
    with pytest.raises(GuardError, match="bits of each person's"):
        parts_told(plan, fits, tables)


@pytest.mark.usefixtures("without_decoys")
def test_a_model_that_explains_everything_by_a_lie_does_not_switch_the_rounding_off(monkeypatch):
    tables, plan = {"bank": BANK, "shop": shop(NOISE[:, 5])}, agreed("s0")
    monkeypatch.setattr(gram, "cross_moments_as_owner", telling_others([1, 0.6, 0.4, 0.3], 1.0))
    fits = fit_vertically(tables, plan)
    assert fits["bank"].quality.r_squared > 0.999
    found = right(parts_told(plan, fits, tables)[:, None], [weights_of(fits)])
    assert found["age"] < 0.1 * PEOPLE  # of 72, and all were read
    assert found["visits"] < 0.15 * PEOPLE
    assert found["children"] < 0.4 * PEOPLE
    assert found["ill"] < 0.6 * PEOPLE


def endings(plan, tables):
    """What every party's run ends with: its fit, or why there is none."""

    def run(name, links):
        try:
            return Party(name, plan, tables[name]).fit(links)
        except ProtocolError as error:
            return error

    return side_by_side(list(plan.names), run)


@pytest.mark.parametrize("times", [20, 8])
def test_a_multiplier_cannot_steer_our_coefficients_by_a_column_longer_than_the_plan_s(times, monkeypatch):
    """It is told nothing. A column of eight times the length passes once in 10⁵ runs."""
    tables, used = {"bank": BANK, "shop": shop(NOISE[:, 5])}, []
    honest = gram.cross_moments_as_multiplier

    def inflate(link, columns, theirs, bits, decoys):
        used.append(link)
        longer = np.rint(times * columns[:, :4].sum(axis=1) / 2).astype(np.int64)
        return honest(link, np.column_stack([columns[:, :4], longer]), theirs, bits, decoys)

    monkeypatch.setattr(gram, "cross_moments_as_multiplier", inflate)
    ended = endings(agreed("s0", "s1", "s2", "s3", first=("shop", "bank")), tables)
    assert LENGTHS in str(ended["bank"])
    assert str(ended["shop"]) == "bank stopped: it cannot go on"
    assert "CrossSums" not in [kind for _, kind, _, _ in used[0].transcript.to_dict()["messages"]]


def test_a_party_cannot_tell_other_moments_of_its_own_columns_than_those_it_multiplied_with(monkeypatch):
    """That its columns, the target among them, are nearly one would let it choose; by decoys they are five."""
    tables, plan = {"bank": BANK, "shop": shop(NOISE[:, 5])}, agreed("s0", "s1", "s2", "s3")
    honest = gram.moments_of
    nearly_one = 0.98 + 0.02 * np.eye(5)
    monkeypatch.setattr(gram, "moments_of", lambda *own: nearly_one if own[0].shape[1] == 5 else honest(*own))
    assert THEIR_OWN in str(endings(plan, tables)["bank"])


def test_two_of_three_cannot_tell_the_third_other_moments_between_them_than_those_of_their_columns(monkeypatch):
    """Two pairs of their columns are said to be nearly the same; decoys would show both so once in 10⁷ runs."""
    tables = {"bank": BANK, "club": shop(NOISE[:, 5]), "shop": shop(NOISE[:, 5])}
    columns = {"club": ["s0", "s1"], "bank": NAMES, "shop": ["s2", "s3"]}
    plan = VerticalPlan.of(columns, target="y", holder="shop", search="none")
    honest = gram._tell_all

    def lie(links, plan, me, peer, ours, blocks):
        nearly_the_same = np.array([[0.99, 0, 0], [0, 0.99, 0]])
        told = {**blocks, ("club", "shop"): nearly_the_same} if (me, peer) == ("club", "bank") else blocks
        return honest(links, plan, me, peer, ours, told)

    monkeypatch.setattr(gram, "_tell_all", lie)
    assert THEIR_OWN in str(endings(plan, tables)["bank"])


SIGNS = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


def test_predictions_of_several_models_end_before_they_tell_whole_records(tmp_path):
    """Four honest models told visits, children and ill of everybody, two 39 % of the visits; one is let pass."""
    plan, parts, weights, refused = agreed("s0"), [], [], 0
    for signs in SIGNS:
        tables = {"bank": BANK, "shop": shop(0.8 * STANDARDISED @ signs + 0.6 * NOISE[:, 5])}
        fits = fit_vertically(tables, plan)
        try:
            parts.append(parts_told(plan, fits, tables, tmp_path / "earlier.runs"))
        except GuardError:
            refused += 1
        else:
            weights.append(weights_of(fits))
            again = parts_told(plan, fits, tables, tmp_path / "earlier.runs")  # told alike, so it costs nothing
            assert (again == parts[-1]).all()
    assert refused == 3
    found = right(np.column_stack(parts), weights)
    assert found["age"] < 0.05 * PEOPLE
    assert found["visits"] < 0.15 * PEOPLE
    assert found["children"] < 0.4 * PEOPLE
    assert found["ill"] < 0.7 * PEOPLE


def test_a_party_that_hangs_up_and_comes_back_with_other_moments_gets_the_same_part_of_the_intercept(tmp_path):
    """Each model's part is one equation in our means, and models were for the asking: three told all of three."""
    case, parts = companies(120, 3, 3, search="none"), []

    def run(name, links, more):
        party = Party(name, case.plan, case.frames[name], state=tmp_path / name)
        if name == "bob":
            link = links["alice"]
            send, receive = link.send, link.receive

            def lie(message):
                if isinstance(message, OwnMoments):
                    told = message.moments.copy()
                    told[0, 1:] += more
                    told[1:, 0] += more
                    message = OwnMoments(told, message.target_scale)
                send(message)

            def hang_up(kind, **options):
                message = receive(kind, **options)
                if kind is InterceptPart:
                    parts.append(message.value)
                    raise OSError("enough")
                return message

            link.send, link.receive = lie, hang_up
        party.fit(links)

    for more in (0.0, 0.05, -0.05):
        with pytest.raises(OSError, match="enough"):
            side_by_side(["alice", "bob"], lambda name, links, more=more: run(name, links, more))
    assert len(parts) == 3
    assert len(set(parts)) == 1
