"""The mean of each place of sparse vectors, with intervals one by one and for all places at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.channel.facets import Summed, facet
from sottovoce.core.channel.vector.signs import score
from sottovoce.core.domain.sparse import Code, Sparse
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Question
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Flags, Floats, Ints
from sottovoce.estimate.frequency.walsh import hadamard_counts
from sottovoce.estimate.mean.single import bernstein, hoeffding
from sottovoce.estimate.request import IntervalRequest, Method, Target
from sottovoce.estimate.vector_mean.base import UNNAMED
from sottovoce.estimate.vector_mean.combine import VectorOfTally


@dataclass(frozen=True, slots=True, eq=False)
class SparseEvidence(VectorOfTally):
    """Of n reports, plus[j] have + at place j and minus[j] have -; the others have no sign there.

    Reports are read as +`scale`, -`scale` and 0, so that the mean of all is unbiased. Its variance is known from the
    tally: the square of a reading is scale**2 or 0. For the "sample" the squares of the answers would be subtracted;
    reports do not determine them, and they are small compared with the noise. So the same variance is used for both, as
    an upper bound for the sample.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL, Method.BERNSTEIN, Method.HOEFFDING)
    default: ClassVar[Method] = Method.NORMAL
    plus: Ints
    minus: Ints
    n: int
    scale: float
    bound: float
    axes: Axes = UNNAMED
    question: Question | None = None

    def values(self) -> Floats:
        return np.asarray(self.scale * ((self.plus - self.minus) / self.n))

    @property
    def hits(self) -> Ints:
        """Reports with a sign at each place."""
        return np.asarray(self.plus + self.minus)

    @property
    def spreads(self) -> Floats:
        """Sample variances of the readings; for a single reading, the largest possible variance."""
        if self.n == 1:
            return np.full(len(self.plus), self.scale**2)
        return np.asarray((self.scale**2 * (self.hits / self.n) - self.values() ** 2) * (self.n / (self.n - 1)))

    def variances(self, target: Target) -> Floats:
        return np.asarray(np.maximum(self.spreads, 0) / self.n)

    def other_interval(self, request: IntervalRequest) -> Bounds:
        reach = 2 * self.scale
        if request.method == Method.HOEFFDING:
            half = np.full(len(self.plus), hoeffding(reach, self.n, request.level))
        else:
            half = np.broadcast_to(
                bernstein(reach, np.maximum(self.spreads, 0), self.n, request.level), self.plus.shape
            )
        return Bounds(self.values() - half, self.values() + half)

    @property
    def limits(self) -> tuple[float, float]:
        return -self.bound, self.bound

    def normal_is_poor(self) -> Flags:
        """Few reports have a sign at a place, or nearly all have the same."""
        return np.asarray((self.hits < POOR_BELOW) | (self.spreads * self.n < POOR_BELOW * self.scale**2 / 4))

    def _doubt(self, poor: int) -> str:
        return f"{poor} of {len(self.plus)} places: too few reports support them. The Bernstein interval holds."


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> SparseEvidence:
    """The evidence of cells."""
    channel, domain = mechanism.channel, _vectors(mechanism)
    known = score(channel)
    if facet(channel, Summed) is not None:  # the signs + of all places, and where some are not sent the signs - too
        plus, minus = cells[: domain.dimensions], cells[domain.dimensions :]
        minus = minus if len(minus) else n - plus
    else:
        plus, hits = hadamard_counts(channel.second.sets.rows, cells)  # type: ignore[attr-defined]
        minus = hits - plus
    return SparseEvidence(
        plus, minus, n, float(known.scale), float(domain.bound), Axes.of("coordinate", domain), mechanism.question
    )


def _vectors(mechanism: Mechanism) -> Sparse:
    if not isinstance(mechanism.domain, Sparse):
        raise ParameterError(f"{mechanism.name} is not for sparse vectors.")
    return mechanism.domain


def predicted_variance(mechanism: Mechanism, truth: Any, n: int = 1, *, target: Target = Target.POPULATION) -> Floats:
    """The exact variance of the mean of each place from n reports, for a given truth.

    A vector: all participants hold it. A list of vectors: for the population they are equally likely; for the sample
    each is held by the same number of the n participants.
    """
    domain = _vectors(mechanism)
    crowd = _crowd(domain, truth)
    known = score(mechanism.channel)
    groups = np.arange(domain.dimensions) % known.groups
    members = np.bincount(groups, minlength=known.groups)
    first, square = np.zeros(domain.dimensions), np.zeros(domain.dimensions)
    shares = np.zeros(known.groups)  # of slots that turn out in each group
    for code in crowd:
        held, taken = len(code), np.zeros(known.groups)
        for place, number in code:
            first[place] += float(number)
            square[place] += float(number) ** 2
            taken[groups[place]] += 1
        free = (members - taken) * (domain.most - held) / max(1, domain.dimensions - held) if known.padded else 0
        shares += known.entries * (taken + free) / domain.most
    size = len(crowd)
    hit = float(known.hit_other) + float(known.hit_own - known.hit_other) * shares[groups] / size
    less = (first / size) ** 2 if target == Target.POPULATION else square / size
    return np.asarray((float(known.scale) ** 2 * hit - less) / n)


def _crowd(domain: Sparse, truth: Any) -> list[Code]:
    """The codes of one vector or of several."""
    must_be = "a vector of the domain, or a list of such vectors"
    try:
        return [domain.encode(truth)]
    except DomainError:
        if isinstance(truth, Mapping) or not isinstance(truth, Iterable):
            raise reject("truth", "variance", must_be, truth) from None
    try:
        codes = [domain.encode(value) for value in truth]
    except DomainError:
        raise reject("truth", "variance", must_be, truth) from None
    return codes
