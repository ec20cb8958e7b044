"""Shuffled releases of a few people, counted out."""

import math
from collections import Counter

import numpy as np
from scipy.stats import binom


def shuffled(people):
    """How likely each release is, of people of whom it is known how likely each output is."""
    found = Counter({(): 1.0})
    for chances in people:
        grown = Counter()
        for shown, chance in found.items():
            for output, more in chances.items():
                grown[tuple(sorted((*shown, output)))] += chance * more
        found = grown
    return found


def divergence(one, other, epsilon):
    """δ: by how much the releases of one table exceed e^ε times those of another."""
    return sum(max(chance - math.exp(epsilon) * other[output], 0.0) for output, chance in one.items())


def bound_for_one_person(local, levels, n, k):
    """b of theorem B, term by term: how often a person is linked above 1/k, at most."""
    ratio = math.exp(local)
    near = 1 / (ratio + levels - 1)
    others = n - 1
    parts = np.concatenate([np.arange(0.6, 0.96, 0.01), np.arange(0.96, 0.999, 0.001)]) / k
    shown = np.zeros(len(parts))
    for close in range(min(others, math.ceil(k / 0.6)) + 1):
        trials, chance = others - close, (levels - 1) * near / (1 - near)
        low, high = binom.ppf([1e-30, 1 - 1e-15], trials, chance).clip(0, ratio * k / 0.6 + 1)
        far = np.arange(low, high + 1)
        own_is_far = 1 / (close + (far + 1) / ratio) if close else 1 / (far + 1)
        for surest, own in ((1 / (1 + close + far / ratio), ratio * near), (own_is_far, 1 - ratio * near)):
            excess = np.maximum(surest[:, None] - parts, 0.0)
            shown += binom.pmf(close, others, near) * own * (binom.pmf(far, trials, chance) @ excess)
    return (shown / (1 / k - parts)).min()
