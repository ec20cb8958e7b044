"""Mechanisms: random maps on codes, each with its privacy and its transition known exactly."""

from kakuran.mechanism.base import (
    MECHANISMS,
    AliasTable,
    Apart,
    ExactWeights,
    Mechanism,
    Telling,
    integer_weights,
    k_for,
    mechanism_of,
    register,
)
from kakuran.mechanism.noise import NOISE, BoundedGaussian, BoundedLaplace, Laplace, Noise
from kakuran.mechanism.pram import PRAM
from kakuran.mechanism.square_wave import SquareWave, Window
from kakuran.mechanism.subset import Shifts, SubsetSelection
from kakuran.mechanism.transition import CirculantTransition, DenseTransition, Transition, UniformMixture
from kakuran.mechanism.two_level import (
    Itself,
    Neighbourhood,
    RetentionReplacement,
    Together,
    TwoLevel,
    neighbourhood_of,
)

__all__ = [
    "MECHANISMS",
    "NOISE",
    "PRAM",
    "AliasTable",
    "Apart",
    "BoundedGaussian",
    "BoundedLaplace",
    "CirculantTransition",
    "DenseTransition",
    "ExactWeights",
    "Itself",
    "Laplace",
    "Mechanism",
    "Neighbourhood",
    "Noise",
    "RetentionReplacement",
    "Shifts",
    "SquareWave",
    "SubsetSelection",
    "Telling",
    "Together",
    "Transition",
    "TwoLevel",
    "UniformMixture",
    "Window",
    "integer_weights",
    "k_for",
    "mechanism_of",
    "neighbourhood_of",
    "register",
]
