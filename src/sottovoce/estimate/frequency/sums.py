"""Shares from sums of noisy bins, one for each code."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Binwise
from sottovoce.core.declared import delegated
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Counted, Flags, Floats, Ints
from sottovoce.estimate.frequency.base import score_bounds
from sottovoce.estimate.frequency.read import ReadSharesEvidence
from sottovoce.estimate.reading import CodeReading
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.tally.laws import law_row

TILTS = np.geomspace(1e-4, 4, 160)  # of exponential bounds, in standard deviations of a bin


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BinReading(CodeReading):
    """The laws of a bin without a one and with it: how the sum over bins is read.

    `tilted` has, for each tilt up and down, the logarithms of the mean of e**(tilt (y - start)) under both laws.
    """

    tilts: Floats
    tilted: Floats


@lru_cache(maxsize=8)
def bins(channel: Channel) -> BinReading:
    """How the sums of a noisy histogram are read."""
    histogram = need(channel, Binwise).histogram
    part = histogram.part
    laws = [law_row(part, code) for code in (0, part.inputs - 1)]
    outputs = np.arange(len(laws[0]))
    start, end = (float(law @ outputs) for law in laws)
    off, on = (float(law @ (outputs - mean) ** 2) for law, mean in zip(laws, (start, end), strict=True))
    tilts = np.concatenate([TILTS, -TILTS]) / np.sqrt(max(off, on))
    exponents = tilts[:, None] * (outputs - start)
    most = exponents.max(axis=1, keepdims=True)
    powers = np.exp(exponents - most)
    tilted = np.stack([np.log(powers @ law) + most[:, 0] for law in laws])
    largest = float(max(histogram.sums))
    return BinReading(start, end - start, off, on, most=largest, tilts=tilts, tilted=tilted)


@dataclass(frozen=True)
class SumsEvidence(ReadSharesEvidence):
    """sums[v] of n bins: each has mean `start`, and `slope` more for those who hold v."""

    sums: Ints
    n: int
    bins: BinReading
    counted: Counted | None = None
    reading = delegated("bins")

    @property
    def means(self) -> Floats:
        return np.asarray(self.sums / self.n)

    def exact(self, level: float, target: Target) -> Bounds:
        """Shares that no exponential bound on the tail of the sum refutes; for each tilt it is linear in the share."""
        mean = self.means - self.bins.start
        log_alpha = np.log((1 - level) / 2) / self.n
        low, high = np.full(len(mean), -np.inf), np.full(len(mean), np.inf)
        for tilt, off, on in zip(self.bins.tilts, *self.bins.tilted, strict=True):
            bound = tilt * mean + log_alpha
            if target == Target.POPULATION:
                share = (np.exp(bound - off) - 1) / np.expm1(on - off)
            else:
                share = (bound - off) / (on - off)
            low, high = (np.maximum(low, share), high) if tilt > 0 else (low, np.minimum(high, share))
        return Bounds(np.minimum(low, self.values()), np.maximum(high, self.values()))

    def wilson(self, level: float) -> Bounds:
        return score_bounds(self.values(), self.curve(Target.POPULATION), level)

    def excess(self, request: IntervalRequest) -> Floats:
        """Sums of noise with a known variance are close to normal from `POOR_BELOW` reports on."""
        return np.zeros(len(self.sums))

    def restricted(self, codes: Ints, labels: Sequence[object]) -> SumsEvidence:
        return replace(self, sums=self.sums[codes], counted=self._among(codes, labels))

    def _second_moments(self, counted: Counted, codes: Ints) -> Floats:
        """Bins are independent, and at most one of two has a mean score."""
        return np.diag(self.bins.at(self.values(), Target.SAMPLE))

    def moved(self) -> tuple[SumsEvidence, SumsEvidence]:
        least, most = (self.n * mean for mean in (self.bins.start, self.bins.start + self.bins.slope))
        return (
            replace(self, sums=np.maximum(self.sums, int(np.ceil(least)))),
            replace(self, sums=np.minimum(self.sums, int(np.floor(most)))),
        )

    def normal_is_poor(self) -> Flags:
        return np.full(len(self.sums), self.n < POOR_BELOW)


def from_cells(counted: Counted) -> SumsEvidence:
    """The evidence of a tally of sums."""
    return SumsEvidence(counted.cells, counted.n, bins(counted.mechanism.channel), counted)


def predicted_variance(mechanism: Mechanism, truth: Floats, n: int, target: Target) -> Floats:
    """The exact variance of each share, for these true shares."""
    return bins(mechanism.channel).at(truth, target) / n
