"""The exact loss of shuffled reports for few participants: every crowd, every pair of answers, every histogram.

The judge of the bounds, and the best answer itself for yes or no, where a histogram is one number.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

Floats = NDArray[np.float64]
MAX_YES_NO = 1000  # participants up to which every crowd of yes and no is tried
MAX_CELLS = 2_000_000  # of a histogram's law


def crowds(people: int, answers: int) -> Iterator[tuple[int, ...]]:
    """All ways in which people may hold answers."""
    if answers == 1:
        yield (people,)
        return
    for first in range(people + 1):
        for others in crowds(people - first, answers - 1):
            yield (first, *others)


def delta(law: Floats, n: int, epsilon: float) -> float:
    """The exact delta of n shuffled reports with the law `law[answer, output]`, over all crowds and pairs."""
    answers, outputs = law.shape
    if (n + 1) ** (outputs - 1) > MAX_CELLS:
        raise ValueError("The exact loss of shuffled reports is for few participants and outputs.")
    worst = 0.0
    for crowd in crowds(n - 1, answers):
        others = np.zeros((n + 1,) * (outputs - 1))
        others[(0,) * (outputs - 1)] = 1.0
        for answer, count in enumerate(crowd):
            for _ in range(count):
                others = joined(others, law[answer])
        own = [joined(others, one) for one in law]
        for one, two in permutations(own, 2):
            worst = max(worst, float(np.maximum(one - np.exp(epsilon) * two, 0).sum()))
    return worst


def joined(counts: Floats, law: Floats) -> Floats:
    """The law of the counts of all outputs but the last, with one report more."""
    joint = law[-1] * counts
    for output in range(len(law) - 1):
        # The counts are at most n, so nothing is rolled over the end.
        joint = joint + law[output] * np.roll(counts, 1, axis=output)
    return np.asarray(joint)


class YesNo:
    """The exact delta of n shuffled answers of yes or no, each kept with probability `keep`; every crowd is tried."""

    def __init__(self, n: int, keep: float) -> None:
        self._pairs: list[tuple[Floats, Floats]] = []
        for yes in range(n):
            others = np.convolve(_binomial(yes, keep), _binomial(n - 1 - yes, 1 - keep))
            self._pairs.append((_one_more(others, keep), _one_more(others, 1 - keep)))

    def delta(self, epsilon: float) -> float:
        """The largest over crowds and both directions, rounded against privacy."""
        odds = np.exp(epsilon)
        worst = max(
            max(np.maximum(one - odds * two, 0).sum(), np.maximum(two - odds * one, 0).sum())
            for one, two in self._pairs
        )
        return float(worst * (1 + 1e-9))


def _binomial(trials: int, chance: float) -> Floats:
    return np.asarray(binom.pmf(np.arange(trials + 1), trials, chance))


def _one_more(counts: Floats, chance: float) -> Floats:
    return np.convolve(counts, [1 - chance, chance])
