"""Mechanisms: random maps on codes, each with its privacy and its transition known exactly."""

from kakuran.mechanism.base import Mechanism, k_for, k_of
from kakuran.mechanism.noise import NOISE, BoundedGaussian, BoundedLaplace, Laplace, Noise
from kakuran.mechanism.pram import PRAM
from kakuran.mechanism.registry import MECHANISMS, mechanism_of, register
from kakuran.mechanism.retention import RetentionReplacement
from kakuran.mechanism.transition import DenseTransition, Transition, UniformMixture

__all__ = [
    "MECHANISMS",
    "NOISE",
    "PRAM",
    "BoundedGaussian",
    "BoundedLaplace",
    "DenseTransition",
    "Laplace",
    "Mechanism",
    "Noise",
    "RetentionReplacement",
    "Transition",
    "UniformMixture",
    "k_for",
    "k_of",
    "mechanism_of",
    "register",
]
