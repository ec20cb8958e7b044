"""Shuffled releases of a few people, counted out."""

import math
from collections import Counter


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
