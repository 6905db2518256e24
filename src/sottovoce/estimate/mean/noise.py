"""The average noise of reports over the answers of those who sent them, estimated from the reports.

The variance V(x) of a reading depends on the answer x, which nobody knows. Let g be a function of the report with
E[g | x] >= V(x) for every answer. Its mean is an upper bound of the average noise, whatever the answers are. The
functions tried are sums of the reading, its square, and powers of the clipped reading. A linear program finds the one
with the least mean for the reports at hand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy  # loads its parts at their first use

from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.mean.moments import holds_every_code, numbers_of, profile
from sottovoce.estimate.mean.readings import numbers_at, scale_of
from sottovoce.tally.laws import law_row

MOST_POINTS, MOST_CELLS = 257, 1 << 17  # of a grid, and of its table: larger ones keep the bound of `Profile.noise`
POWERS = (1, 2, 3, 4)  # of the reading, clipped to the range of the answers


@dataclass(frozen=True, slots=True, eq=False)
class NoiseTable:
    """What each function of a report is for each output (`of_output`) and on average for each answer (`of_answer`).

    Answers are the grid points and the quarters between them. Numbers are in units of half the range.
    """

    of_output: Floats
    of_answer: Floats
    variances: Floats

    def upper(self, counts: Floats) -> Floats:
        """The value at each output of the function whose mean is least for these counts of outputs."""
        n, functions = counts.sum(), self.of_output.shape[1]
        means = counts @ self.of_output / n
        # A steep function has a noisy mean, which the least of many would exploit: its standard error counts too.
        errors = np.sqrt(np.maximum(counts @ self.of_output**2 / n - means**2, 0) / n)
        rising = np.hstack([self.of_answer, -self.of_answer])
        cost = np.concatenate([means + errors, errors - means, [1.0]])
        above = -np.column_stack([rising, np.ones(len(rising))])
        bounds = [(0, None)] * (2 * functions) + [(None, None)]
        optimum = scipy.optimize.linprog(cost, A_ub=above, b_ub=-self.variances, bounds=bounds, method="highs")
        if optimum.status != 0:
            return np.full(len(self.of_output), self.variances.max())
        slopes = optimum.x[:functions] - optimum.x[functions:-1]
        return np.asarray(self.of_output @ slopes + optimum.x[-1])


@lru_cache(maxsize=32)
def noise_table(mechanism: Mechanism) -> NoiseTable | None:
    """The table of a mechanism whose law is small enough to be listed, else None."""
    channel, numbers = mechanism.channel, numbers_of(mechanism)
    grid = rounding_of(channel)
    if grid is None or grid.steps >= MOST_POINTS:
        return None
    law = np.array([law_row(channel, point) for point in range(grid.steps + 1)])
    if law.size > MOST_CELLS:
        return None
    low, high = numbers.ends
    half, known = (high - low) / 2, profile(channel)
    read = (numbers_at(*scale_of(channel, numbers.origin), np.arange(law.shape[1])) - (low + high) / 2) / half
    clipped = np.clip(read, -1, 1)
    of_output = np.column_stack([read, read**2, *(clipped**power for power in POWERS)])
    at_points, variances = law @ of_output, known.variances / half**2
    if holds_every_code(mechanism.domain, grid):
        return NoiseTable(of_output, at_points, variances)
    # Between two grid points the variance is a parabola: it is held down at its quarters, above which it rises by a
    # 64th of the squared step at most.
    step = float(np.diff(known.means).max()) / half
    up = np.array([0, 0.25, 0.5, 0.75])[:, None]
    places = (np.arange(grid.steps) + up).ravel()
    points = np.arange(grid.steps + 1)
    of_answer = np.column_stack([np.interp(places, points, column) for column in at_points.T])
    between = np.interp(places, points, variances) + (places % 1 * (1 - places % 1) + 1 / 64) * step**2
    return NoiseTable(
        of_output, np.vstack([of_answer, at_points[-1:]]), np.append(between, variances[-1] + step**2 / 64)
    )


def average_noise(mean: MeanEvidence) -> float:
    """An upper bound of the average variance of a report given its answer, from the tally.

    `MeanEvidence.noise` is another bound, from two moments of the readings. It is loose if the channel was designed for
    answers away from the middle of the range.
    """
    if mean.counted is None:
        return mean.noise
    counted = mean.counted
    table = noise_table(counted.mechanism)
    if table is None or mean.few:
        return mean.noise
    counts = np.asarray(counted.cells, float)
    half = (mean.ends[1] - mean.ends[0]) / 2
    return min(mean.noise, float(counts @ table.upper(counts)) / counted.n * half**2)
