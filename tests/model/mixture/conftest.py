import numpy as np
import pytest

from kakuran.mechanism import BoundedGaussian, BoundedLaplace, Laplace, RetentionReplacement
from kakuran.model.mixture.channel import LaplaceBins, LaplacePoints
from kakuran.model.mixture.observations import Components, observations, of_codes
from kakuran.randomness import Randomness

S0 = Components(
    np.array([0.1, 0.6, 0.2, 0.1]),
    np.array([[-1.0], [3.0], [5.0], [9.0]]),
    np.sqrt([[0.1], [0.2], [0.5], [0.01]]),
)
"""The mixture of S0 §5.1."""

MECHANISMS = {
    "laplace": Laplace(61, 0.5, 2.0),
    "bounded-laplace": BoundedLaplace(61, 0.5, 2.0),
    "bounded-gaussian": BoundedGaussian(61, 0.5, 3.0),
    "retention": RetentionReplacement(61, 0.4, 0.5),
}


def draw(components, count, dice):
    labels = dice.choice(len(components), count, p=components.weights)
    return components.means[labels, 0] + components.sigmas[labels, 0] * dice.standard_normal(count)


def channel_and_places(kind, seed=3, count=3000):
    """Two clusters on 0 … 30 seen through each kind of channel."""
    dice = np.random.default_rng(seed)
    truth = np.clip(np.where(dice.random(count) < 0.4, dice.normal(8, 2, count), dice.normal(21, 3, count)), 0, 30)
    if kind == "points":
        points, places = np.unique((truth + dice.laplace(0, 2, count)).round(1), return_inverse=True)
        return LaplacePoints(points, 2.0), places
    if kind == "bins":
        bins, places = np.unique(np.floor((truth + dice.laplace(0, 2, count)) / 0.7), return_inverse=True)
        return LaplaceBins(0.7 * bins, 0.7 * (bins + 1), 2.0), places
    mechanism = MECHANISMS[kind]
    codes = mechanism.sample(np.rint(truth / 0.5).astype(np.int32), Randomness.seeded(seed))
    return of_codes(codes, mechanism, 0.0, 0.5, np.arange(62))


@pytest.fixture(params=["points", "bins", *MECHANISMS])
def observed(request):
    """The same clusters, seen through every kind of channel; a penalty where noise is Laplace on cells."""
    smoothing = 0.5 if request.param == "laplace" else 0.0
    return observations([channel_and_places(request.param)], smoothing=smoothing)


@pytest.fixture
def two():
    """A start for two clusters on 0 … 30."""
    return Components(np.array([0.5, 0.5]), np.array([[10.0], [18.0]]), np.array([[3.0], [2.0]]))
