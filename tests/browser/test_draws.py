"""perturb.js in a real browser: the same words give the same release as in Python, its own words the claimed law."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from kakuran.collect import Question, Survey
from kakuran.collect.site import served
from kakuran.mechanism import (
    PRAM,
    BoundedGaussian,
    BoundedLaplace,
    Laplace,
    RetentionReplacement,
    SubsetSelection,
    TwoLevel,
    Window,
)
from kakuran.perturbation import Kernel
from kakuran.randomness import Randomness
from kakuran.schema import Categorical, Numeric


@dataclass(frozen=True)
class Square(TwoLevel):
    """Any window, as square waves have."""

    kind = "square"
    window: Window
    retention: float

    @property
    def neighbourhood(self):
        return self.window

    @property
    def size(self):
        return self.window.size

    def log_likelihood(self, released, original):
        """Missing stands for several outputs."""
        every = np.arange(-self.reach, self.size + self.reach + 1)
        with np.errstate(divide="ignore"):
            return np.log(self.transition(None, every).matrix[released + self.reach, original])

    of = at_swap_cost = variance = parameters = None


MATRIX = [[0.6, 0.3, 0.1, 0.0], [0.2, 0.5, 0.2, 0.1], [0.25, 0.05, 0.6, 0.1], [0.1, 0.1, 0.1, 0.7]]
MECHANISMS = {
    "a coin": RetentionReplacement(2, 0.5),
    "categories": RetentionReplacement(7, 0.31),
    "nothing kept": RetentionReplacement(5, 0.0),
    "everything kept": RetentionReplacement(5, 1.0),
    "replaced numbers": RetentionReplacement(1001, 0.2, step=0.5),
    "a window": Square(Window(74, 18), 0.4),
    "a window or missing": Square(Window(12, 4, may_be_missing=True), 0.55),
    "a window, near for sure": Square(Window(9, 2), 1.0),
    "a window, never on purpose": Square(Window(9, 2), 0.0),
    "a window of one": Square(Window(5, 0), 0.5),
    "a difference set": SubsetSelection(7, 0.4, [0, 1, 3]),
    "subsets": SubsetSelection.for_swap_cost(226, 2.0, 61),
    "bounded laplace": BoundedLaplace(121, 1.0, 30.0),
    "weak bounded laplace": BoundedLaplace(11, 1.0, 0.3),
    "infinite bounded laplace": BoundedLaplace(13, 1.0, math.inf),
    "no laplace": BoundedLaplace(13, 1.0, 0.0),
    "two points": BoundedLaplace(2, 1.0, 1.0),
    "laplace": Laplace(11, 1.0, 6.0),
    "bounded gaussian": BoundedGaussian(41, 0.5, 7.0),
    "pram": PRAM(MATRIX),
    "invariant pram": PRAM.invariant(MATRIX, [4, 3, 2, 1]),
}
LARGEST = (1 << 32) - 1
VECTORS = 200

DRAWS = 20_000
FALSE_ALARMS = 1e-6
"""All draws of a run together raise a false alarm in at most one run in a million; each place of each mechanism, and
what is told together, get an equal part of it, and half of that because χ² is an approximation in the far tail."""
ALPHA = FALSE_ALARMS / (3 * len(MECHANISMS) + 1) / 2
LEAST_EXPECTED = 50

RELEASE_BY_WORDS = """([mechanism, cases]) => {
    const { draw } = Perturb.telling({ threshold: null }, [mechanism]);
    return cases.map(([code, words]) => {
        let used = 0;
        const [released] = draw([code], () => BigInt(words[used++]));
        return [released, used];
    });
}"""
RELEASE_BY_CHANCE = """([mechanism, code, draws]) => {
    const { draw } = Perturb.telling({ threshold: null }, [mechanism]);
    const seen = {};
    for (let one = 0; one < draws; one += 1) {
        const [released] = draw([code]);
        seen[released] = (seen[released] ?? 0) + 1;
    }
    return seen;
}"""
EPSILON = "([tell, mechanisms]) => Perturb.telling(tell, mechanisms).epsilon()"
IS_TAKEN = """(told) => {
    try {
        return Boolean(Definition.read({ ...told, state: "open" }));
    } catch {
        return false;
    }
}"""


class Scripted(Randomness):
    """A stream that hands out given 32-bit words."""

    def __init__(self, words):
        super().__init__(bytes(32), is_seeded=True)
        self._left = np.array(words, "<u4")
        self.used = 0

    def fill(self, out):
        needed = out.nbytes // 4
        assert self.used + needed <= len(self._left), "the script is too short"
        out.view(np.uint32)[...] = self._left[self.used : self.used + needed].reshape(out.view(np.uint32).shape)
        self.used += needed


@pytest.fixture(scope="module")
def page(browser):
    """A page that holds perturb.js, and the scripts that read what it draws from."""
    blank = browser.new_page()
    for name in ("texts", "page", "perturb", "questions", "definition"):
        blank.add_script_tag(content=served()[f"{name}.js"].decode())
    yield blank
    blank.close()


@pytest.fixture(params=MECHANISMS, ids=lambda name: name.replace(" ", "-"))
def mechanism(request):
    return MECHANISMS[request.param]


def python_release(mechanism, code, words):
    stream = Scripted(words)
    released = int(mechanism.sample(np.array([code], np.int32), stream)[0])
    return released, stream.used


def scripts(mechanism):
    """Words to draw from: any, and such that decide a draw by a hair, each with more to go on with."""
    stream = Randomness.seeded(7)
    yield from (stream.below(1 << 32, 40).tolist() for _ in range(VECTORS))
    for start in edges(mechanism):
        for word in start:
            assert 0 <= word <= LARGEST
        yield [*start, *stream.below(1 << 32, 38).tolist()]


def edges(mechanism):
    if isinstance(mechanism, TwoLevel):
        high = min(mechanism.threshold >> 32, LARGEST)
        yield from ([coin, word] for coin in {0, max(high - 1, 0), high, LARGEST} for word in (0, 1, LARGEST))
        return
    tables = mechanism._tables if isinstance(mechanism, PRAM) else mechanism._table
    for cut in tables.cut.tolist():
        yield from ([word % (1 << 32), word >> 32] for word in (cut - 1, cut, cut + 1) if 0 <= word < 1 << 64)


def test_the_same_words_give_the_same_release_in_python_and_in_the_browser(page, mechanism):
    cases = [(at % mechanism.size, words) for at, words in enumerate(scripts(mechanism))]
    expected = [python_release(mechanism, code, words) for code, words in cases]
    got = page.evaluate(RELEASE_BY_WORDS, [mechanism.drawn_by(), cases])
    assert [released for released, _ in got] == [released for released, _ in expected]
    if any(used for _, used in expected):
        assert [used for _, used in got] == [used for _, used in expected]


def test_words_that_decide_by_a_hair_release_both_ways(page):
    """The vectors would show a cut that is off by one."""
    mechanism = RetentionReplacement(7, 0.31)
    high, low = divmod(mechanism.threshold, 1 << 32)
    kept, lost = ([high, 0, word] for word in (low - 1, low))
    got = page.evaluate(RELEASE_BY_WORDS, [mechanism.drawn_by(), [(3, [*kept, LARGEST]), (3, [*lost, LARGEST])]])
    assert [released for released, _ in got] == [3, python_release(mechanism, 3, [*lost, LARGEST])[0]]
    assert got[0][0] != got[1][0]


@pytest.mark.parametrize("place", ["lower bound", "middle", "upper bound"])
def test_draws_in_the_browser_follow_the_mechanism(page, mechanism, place):
    code = {"lower bound": 0, "middle": mechanism.size // 2, "upper bound": mechanism.size - 1}[place]
    seen = page.evaluate(RELEASE_BY_CHANCE, [mechanism.drawn_by(), code, DRAWS])
    released = np.arange(-mechanism.reach, mechanism.size + mechanism.reach, dtype=np.int32)
    observed = np.array([seen.pop(str(one), 0) for one in released])
    assert not seen
    assert p_value(observed, np.exp(mechanism.log_likelihood(released, np.int32(code)))) > ALPHA


def test_the_browser_computes_the_epsilon_of_what_it_draws_from(page, mechanism):
    released = np.arange(-mechanism.reach, mechanism.size + mechanism.reach, dtype=np.int32)
    with np.errstate(divide="ignore", invalid="ignore"):
        chances = mechanism.log_likelihood(released[:, None], np.arange(mechanism.size, dtype=np.int32))
        worst = np.nanmax(chances.max(axis=1) - chances.min(axis=1))
    computed = page.evaluate(EPSILON, [{"threshold": None}, [mechanism.drawn_by()]])
    assert computed == pytest.approx(worst, abs=1e-9)
    assert computed <= mechanism.epsilon + 1e-9


def told_of(mechanism):
    """A survey with a question that has this mechanism."""
    points = mechanism["size"] - mechanism.get("may_be_missing", False)
    told = survey_of(Numeric("steps", 0, points - 1, step=1), tell="all").definition()
    told["questions"][0] |= {"mechanism": mechanism} | ({"missing": "skipped"} if points < mechanism["size"] else {})
    return told | {"epsilon": 1e9}


def test_every_mechanism_of_ours_is_taken_unless_it_keeps_everything(page, mechanism):
    assert page.evaluate(IS_TAKEN, told_of(mechanism.drawn_by())) == math.isfinite(mechanism.epsilon)


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "retention", "size": 1},
        {"kind": "retention", "threshold": "-18446744073709551616"},
        {"kind": "retention", "threshold": str(2 << 64)},
        {"kind": "window", "size": 4},
        {"kind": "window", "half_width": -1},
        {"kind": "window", "half_width": 0.5},
        {"kind": "window", "half_width": "1"},
        {"kind": "window", "threshold": str(2 << 64)},
        {"kind": "shifts", "size": 4},
        {"kind": "shifts", "shifts": []},
        {"kind": "shifts", "shifts": [0, 0]},
        {"kind": "shifts", "shifts": [0, 3]},
        {"kind": "shifts", "shifts": [0, -1]},
        {"kind": "shifts", "shifts": [0, 0.5]},
        {"kind": "shifts", "shifts": [0, "1"]},
        {"kind": "noise", "size": 4},
        {"kind": "noise", "reach": -1},
        {"kind": "noise", "reach": 1},
        {"kind": "noise", "weights": [str(1 << 62), str(1 << 62), "0"]},
        {"kind": "noise", "weights": ["1", "1"]},
        {"kind": "noise", "weights": ["1", "-1", "1"]},
        {"kind": "pram", "weights": [[str(1 << 63), "0", "0"]] * 2},
        {"kind": "pram", "weights": [[str(1 << 62), "0", "0"]] * 3},
        {"kind": "pram", "weights": [[str(1 << 63), "0"]] * 3},
        {"kind": "pram", "weights": [[str(3 << 62), str(-1 << 62), "0"]] * 3},
    ],
    ids=str,
)
def test_numbers_that_are_no_chances_are_seen_through(page, changes):
    """Each would let a server pretend to more noise than is drawn."""
    honest = {
        "retention": RetentionReplacement(3, 0.5),
        "window": Square(Window(3, 1), 0.5),
        "shifts": SubsetSelection(3, 0.5, [0, 1]),
        "noise": BoundedLaplace(3, 1.0, 1.0),
        "pram": PRAM(np.full((3, 3), 1 / 3)),
    }[changes["kind"]]
    told = told_of(honest.drawn_by())
    assert page.evaluate(IS_TAKEN, told)
    told["questions"][0]["mechanism"] |= changes
    assert not page.evaluate(IS_TAKEN, told)


TELL_BY_WORDS = """([{tells, questions}, cases]) => {
    const mechanisms = Object.fromEntries(questions.map(({ name, mechanism }) => [name, mechanism]));
    const choose = Perturb.choice(tells).draw;
    return cases.map(([codes, words]) => {
        let used = 0;
        const next = words ? () => BigInt(words[used++]) : undefined;
        const tell = tells[choose(next)];
        const { draw } = Perturb.telling(tell, tell.questions.map((name) => mechanisms[name]));
        return [tell.told, draw(tell.questions.map((name) => codes[name]), next), used];
    });
}"""


def survey_of(*attributes, tell=2):
    questions = [Question(attribute, {"en": "?"}) for attribute in attributes]
    return Survey("told", ("en",), {"en": "Told"}, questions, epsilon=2.0, tell=tell)


TOWNS = Categorical("town", [f"town {number}" for number in range(226)])
ALL_KINDS = (Categorical("job", list("abcd")), Numeric("hours", 0, 80, step=1), TOWNS)
FEW = (Categorical("sex", list("fm")), Categorical("job", list("abc")), Numeric("age", 0, 4, step=1))


def python_tell(survey, codes, words):
    """The tell, the codes of what is told, and how many words that took."""
    stream = Scripted(words)
    drawn = Kernel(survey.plan).sample({name: np.array([code], np.int32) for name, code in codes.items()}, stream)
    tell = survey.plan.tells[int(drawn["told"][0])] if "told" in drawn else survey.plan.tells[0]
    return [tell.named, [int(drawn[name][0]) for name in tell.columns], stream.used]


def tell_scripts(survey):
    """Any words; and such that choose a tell by a hair, then whether its answers are near."""
    stream = Randomness.seeded(8)
    yield from (stream.below(1 << 32, 40).tolist() for _ in range(VECTORS))
    cuts = Kernel(survey.plan)._draws.cut.tolist() if len(survey.plan.tells) > 1 else []
    for cut in cuts:
        for word in (cut - 1, cut, cut + 1):
            if not 0 <= word < 1 << 64:
                continue
            for tell in survey.plan.tells:
                high, low = divmod(tell.telling.threshold, 1 << 32)
                for coin in ([high - 1], [high, low - 1], [high, low], [high + 1]):
                    yield [word % (1 << 32), word >> 32, *coin, *stream.below(1 << 32, 30).tolist()]


@pytest.mark.parametrize("tell", [1, 2, 3, [["town"], ["job", "hours"]]], ids=str)
def test_the_same_words_tell_the_same_in_python_and_in_the_browser(page, tell):
    survey = survey_of(*ALL_KINDS, tell=tell)
    sizes = {attribute.name: attribute.size for attribute in survey.schema.perturbed}
    cases = [
        ({name: (7 * at) % size for name, size in sizes.items()}, words)
        for at, words in enumerate(tell_scripts(survey))
    ]
    expected = [python_tell(survey, codes, words) for codes, words in cases]
    assert page.evaluate(TELL_BY_WORDS, [survey.definition(), cases]) == expected
    assert {told for told, _, _ in expected} == {one.named for one in survey.plan.tells}


def test_what_is_told_in_the_browser_follows_the_plan(page):
    survey, truth = survey_of(*FEW), {"sex": 1, "job": 2, "age": 0}
    told = page.evaluate(TELL_BY_WORDS, [survey.definition(), [(truth, None)] * DRAWS])
    seen, chances = [], []
    for tell in survey.plan.tells:
        bounds = [(tell.telling.reach(name), tell.telling.size(name)) for name in tell.columns]
        axes = [np.arange(-reach, size + reach) for reach, size in bounds]
        for codes in np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes)):
            released = dict(zip(tell.columns, codes.astype(np.int32), strict=True))
            chances.append(tell.share * np.exp(tell.telling.log_likelihood(released, truth)))
            seen.append(told.count([tell.named, codes.tolist(), 0]))
    assert sum(seen) == DRAWS
    assert math.isclose(sum(chances), 1)
    assert p_value(np.array(seen), np.array(chances)) > ALPHA


@pytest.mark.parametrize("tell", [1, 2, 3, "all"])
def test_the_browser_computes_the_epsilon_of_every_tell(page, tell):
    survey = survey_of(*ALL_KINDS, tell=tell)
    definition = survey.definition()
    assert page.evaluate(IS_TAKEN, definition)
    mechanisms = {question["name"]: question["mechanism"] for question in definition["questions"]}
    for said, one in zip(definition["tells"], survey.plan.tells, strict=True):
        told = [mechanisms[name] for name in said["questions"]]
        computed = page.evaluate(EPSILON, [said, told])
        assert computed == pytest.approx(one.telling.epsilon, abs=1e-9)


EVEN = (1 << 63) // 3


@pytest.mark.parametrize(
    "weights",
    [
        [1 << 63, 0, 0],
        [(1 << 63) - 2, 1, 1],
        [EVEN + (1 << 20), EVEN - (1 << 20), EVEN + 2],
        [EVEN, EVEN, EVEN],
        [(1 << 64), -(1 << 62), -(1 << 62)],
    ],
    ids=str,
)
def test_sets_of_questions_that_are_not_equally_likely_are_seen_through(page, weights):
    definition = survey_of(*FEW).definition()
    for tell, weight in zip(definition["tells"], weights, strict=True):
        tell["weight"] = str(weight)
    assert not page.evaluate(IS_TAKEN, definition)


@pytest.mark.parametrize(
    "changes",
    [
        {"questions": ["sex", "sex"]},
        {"questions": ["sex", "name"]},
        {"questions": ["sex", "constructor"]},
        {"threshold": str(2 << 64)},
        {"threshold": "-1"},
        {"threshold": None},
    ],
    ids=str,
)
def test_a_set_of_questions_that_is_none_or_has_no_chances_is_seen_through(page, changes):
    definition = survey_of(*FEW).definition()
    definition["tells"][0] |= changes
    assert not page.evaluate(IS_TAKEN, definition)


def test_a_question_that_is_left_out_of_all_sets_is_noticed(page):
    """So is a server that pretends to draw and asks everybody the same."""
    definition = survey_of(*FEW).definition()
    definition["tells"] = [definition["tells"][0] | {"weight": str(1 << 63)}]
    assert not page.evaluate(IS_TAKEN, definition)


def test_a_mechanism_that_is_off_is_found_out(page):
    seen = page.evaluate(RELEASE_BY_CHANCE, [RetentionReplacement(7, 0.25).drawn_by(), 0, DRAWS])
    observed = np.array([seen[str(code)] for code in range(7)])
    claimed = np.exp(RetentionReplacement(7, 0.31).log_likelihood(np.arange(7), np.int32(0)))
    assert p_value(observed, claimed) < ALPHA


def p_value(observed, probabilities):
    """Of χ², with neighbours joined until each expects enough; 0 where something impossible was seen."""
    if observed[probabilities == 0].any():
        return 0.0
    expected = probabilities / probabilities.sum() * observed.sum()
    starts, running = [0], 0.0
    for place, count in enumerate(expected):
        if running >= LEAST_EXPECTED and expected[place:].sum() >= LEAST_EXPECTED:
            starts.append(place)
            running = 0.0
        running += count
    seen, wanted = np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)
    return float(stats.chi2.sf(((seen - wanted) ** 2 / wanted).sum(), len(seen) - 1)) if len(seen) > 1 else 1.0
