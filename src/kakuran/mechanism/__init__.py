"""Mechanisms: random maps on codes, each with its privacy and its transition known exactly."""

from kakuran.mechanism.base import Mechanism, k_for, k_of
from kakuran.mechanism.noise import BoundedGaussian, BoundedLaplace, Laplace, Noise
from kakuran.mechanism.pram import PRAM
from kakuran.mechanism.registry import NOISE, mechanism_of
from kakuran.mechanism.retention import RetentionReplacement
from kakuran.mechanism.transition import DenseTransition, Transition, UniformMixture

__all__ = [
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
]
