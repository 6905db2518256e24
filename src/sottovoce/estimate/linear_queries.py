"""Batches of linear queries of one answer: from vectors, from shares, or one after another.

A linear query gives a number to every category and asks for the mean of the numbers of all participants. A batch of d
queries of k categories is a matrix with d rows. Three ways lead to its answers:

- Offline through a ball: a participant's column of the matrix is a vector, and any mechanism for vectors of a ball is
  asked for their mean. The error does not depend on k.
- Offline through shares: the matrix times the shares of a frequency oracle.
- In turn: queries that depend on earlier answers, each asked of people of its own.

The true answers lie in the polytope that the columns span, so unbiased answers are projected onto it on request. With
few participants and many queries this removes most of the error.

Reference: Bassily, "Linear queries estimation with local differential privacy", AISTATS 2019; Edmonds, Nikolov, Ullman,
"The power of factorization mechanisms in local and central differential privacy", STOC 2020 (projection).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.domain import Ball, Domain, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Frequency, VectorMean
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import POOR_BELOW, Bounds, Evidence, Flags, Floats
from sottovoce.estimate.request import Method, Target
from sottovoce.tally.tally import Tally

OWNER = "linear queries"
MOST = 1 << 24  # numbers of a matrix
SMALL_PART = 0.1  # of a variance: what is not normal in it hardly shows
ROUNDED_UP = 1 + 1e-12  # radii and ends in floats must not exclude a column by their last digit


@dataclass(frozen=True, eq=False)
class LinearQueries:
    """A batch of linear queries of a categorical answer.

    Args:
        domain: The categories, or integers, that participants answer with.
        numbers: One row for each query, with a number for every category in the order of the domain.
        names: What the queries are called; by default their places.
    """

    domain: Domain
    numbers: Floats
    names: Sequence[object] = ()

    def __post_init__(self) -> None:
        size = None if not isinstance(self.domain, Domain) else self.domain.size
        if size is None:
            raise reject("domain", OWNER, "categories or integers", self.domain)
        object.__setattr__(self, "numbers", _matrix(self.numbers, size))
        names = tuple(self.names) or tuple(range(len(self.numbers)))
        if len(set(names)) != len(self.numbers):
            raise reject("names", OWNER, f"{len(self.numbers)} different names", f"{len(names)} names")
        object.__setattr__(self, "names", names)

    @cached_property
    def centre(self) -> Floats:
        """The middle of the numbers of each query. It is public, and taken from the columns before noise is added."""
        return np.asarray((self.numbers.min(axis=1) + self.numbers.max(axis=1)) / 2)

    @cached_property
    def ball(self) -> Ball:
        """The domain of centred columns, which devices send."""
        lengths = np.linalg.norm(self.numbers - self.centre[:, None], axis=0)
        return Ball(Decimal(repr(float(lengths.max()) * ROUNDED_UP)), len(self.numbers))

    @property
    def question(self) -> VectorMean:
        return VectorMean(self.ball)

    def vectors(self, answers: Iterable[object]) -> Floats:
        """The centred column of each answer: what a device gives to a mechanism for vectors of `ball`."""
        codes = np.array([self.domain.encode(answer) for answer in answers], np.int64)
        return np.asarray((self.numbers - self.centre[:, None]).T[codes])

    def mechanism(self, *, epsilon: Any, method: str = "priv-unit") -> Mechanism:
        """A mechanism for the centred columns."""
        return build(method, self.ball, epsilon=epsilon)

    def of_vectors(self, tally: Tally) -> Estimate:
        """Unbiased answers to all queries from reports about centred columns."""
        if tally.mechanism.domain != self.ball:
            raise ParameterError("The tally is not about the vectors of these queries. Build its mechanism with them.")
        estimate = tally.mechanism.estimate(tally)
        return self._estimate(estimate, None)

    def of_shares(self, shares: Estimate) -> Estimate:
        """Unbiased answers to all queries from shares of all categories, with their covariance."""
        if shares.question != Frequency(self.domain):
            raise ParameterError("The shares are not those of all categories of these queries.")
        return self._estimate(shares, self.numbers)

    def _estimate(self, source: Estimate, rows: Floats | None) -> Estimate:
        evidence = QueriesEvidence(source.evidence, rows, self)
        made = Estimate.of(self.question, evidence, source.sources, simulated=source.simulated)
        return made

    def projected(self, answers: Estimate) -> Estimate:
        """The possible answers nearest to unbiased ones; intervals are those of the unbiased answers."""
        return answers.decoded(PolytopeDecoder(tuple(map(tuple, self.numbers.tolist()))))


def _matrix(numbers: Any, size: int) -> Floats:
    """A matrix with a column for each category."""
    try:
        matrix = np.array(numbers, float)
    except (TypeError, ValueError):
        matrix = np.empty(0)
    wanted = f"at least two rows of {size} finite numbers, not all columns alike"
    if matrix.ndim != 2 or len(matrix) < 2 or matrix.shape[1] != size or not np.isfinite(matrix).all():
        raise reject("numbers", OWNER, wanted, f"an array of shape {matrix.shape}")
    if matrix.size > MOST or not np.ptp(matrix, axis=1).any():
        raise reject("numbers", OWNER, f"{wanted}, at most {MOST:,} numbers", f"an array of shape {matrix.shape}")
    return matrix


@dataclass(frozen=True, slots=True, eq=False)
class QueriesEvidence(Evidence):
    """Answers to linear queries: the means of centred columns, or weighted sums of shares."""

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    default_inside: ClassVar[Method | None] = None
    noun: ClassVar[str] = "linear query"
    source: Evidence
    rows: Floats | None  # the weights of shares; None for means of centred columns
    queries: LinearQueries
    question = delegated("queries.question")

    @property
    def n(self) -> int:
        return int(np.min(self.source.n))

    @property
    def axes(self) -> Axes:
        return Axes.of("query", tuple(self.queries.names), heading="query")

    def values(self) -> Floats:
        own = self.source.values()
        return np.asarray(self.queries.centre + own if self.rows is None else self.rows @ own)

    def variances(self, target: Target) -> Floats:
        if self.rows is None:
            return self.source.variances(target)
        return np.maximum(np.diag(self.covariance(target)), 0)

    def covariance(self, target: Target) -> Floats:
        if self.rows is None:
            return self.source.covariance(target)
        return self.source.functional(self.rows, target).covariance

    @property
    def limits(self) -> tuple[Floats, Floats]:
        numbers = self.queries.numbers
        return numbers.min(axis=1), numbers.max(axis=1)

    def normal_is_poor(self) -> Flags:
        """For shares: whether categories that few reports are about have more than a small part of the variance."""
        if self.rows is None:
            return self.source.normal_is_poor()
        few = self.source.normal_is_poor() & (self.source.values() * self.n < POOR_BELOW)
        parts = (self.rows - self.queries.centre[:, None]) ** 2 * self.source.variances(Target.POPULATION)
        return np.asarray(parts[:, few].sum(axis=1) > SMALL_PART * parts.sum(axis=1))

    def warning(self) -> str | None:
        if self.rows is None:
            return self.source.warning()
        poor = int(self.normal_is_poor().sum())
        if not poor:
            return None
        return (
            f"The normal interval is poor for {poor} linear queries: too few reports are about some of the categories."
        )

    def sentence(self, estimate: Estimate, level: float) -> str:
        count, error = len(estimate.values), float(np.median(estimate.std_errors))
        about = "Intervals hold for one query at a time; simultaneous=True asks for all at once."
        return f"The answers to {count} linear queries are {estimate.quality}, each to about {error:.2g}. {about}"


@dataclass(frozen=True, slots=True)
class PolytopeDecoder(Decoder):
    """The nearest point, in squared distance, of the polytope that the columns of a matrix span.

    Shares are found by accelerated projected gradients. The gap of Frank and Wolfe bounds how much smaller the squared
    distance can be, and ends the search below `tolerance` times the largest squared length of a column.
    """

    name: ClassVar[str] = "polytope"
    rows: tuple[tuple[float, ...], ...]
    tolerance: float = 1e-6
    most: int = 20_000

    def solve(self, evidence: Evidence) -> Decoded:
        matrix = np.array(self.rows)
        centred = matrix - matrix.mean(axis=1, keepdims=True)
        target = evidence.values() - matrix.mean(axis=1)
        shares, gap, steps = nearest_shares(centred, target, self.tolerance, self.most)
        found = np.clip(matrix @ shares, matrix.min(axis=1), matrix.max(axis=1))  # to the last digit
        return Decoded(found, Fit(steps, gap))


def nearest_shares(matrix: Floats, target: Floats, tolerance: float, most: int) -> tuple[Floats, float, int]:
    """Shares p of least |M p - target|**2, a bound of what that exceeds the least by, and the number of steps."""
    count = matrix.shape[1]
    step = 1 / max(float(np.linalg.norm(matrix, 2)) ** 2, 1e-300)
    enough = tolerance * float((matrix**2).sum(axis=0).max())
    shares = ahead = np.full(count, 1 / count)
    momentum, gap, done = 1.0, np.inf, 0
    while done < most and gap > enough:
        done += 1
        moved = simplex(ahead - step * (matrix.T @ (matrix @ ahead - target)))
        if (ahead - moved) @ (moved - shares) > 0:
            momentum = 1.0  # restart: the momentum leads away from the descent
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = moved + (momentum - 1) / following * (moved - shares)
        shares, momentum = moved, following
        slope = 2 * matrix.T @ (matrix @ shares - target)
        gap = float(slope @ shares - slope.min())
    return shares, gap, done


@dataclass(frozen=True, slots=True)
class QueriesInTurn:
    """Linear queries that depend on the answers to earlier ones, each asked of people who answer no other.

    Everyone answers once, with the whole budget. Split the participants into `most` equal groups. The intervals of all
    queries hold at once, however later queries were chosen.

    Args:
        domain: The categories, or integers, that participants answer with.
        epsilon: The privacy budget of one participant.
        most: How many queries will be asked at most.
        method: A mechanism for means.
    """

    domain: Domain
    epsilon: Any
    most: int
    method: str = "designed"

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.size is None:
            raise reject("domain", OWNER, "categories or integers", self.domain)
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, self.epsilon))
        check_integer("most", OWNER, self.most, 1, 1 << 20)

    def mechanism(self, numbers: Sequence[float]) -> Mechanism:
        """The mechanism that asks for the mean of these numbers, one for each category."""
        row = self._row(numbers)
        low, high = (Decimal(repr(float(end))) for end in (row.min(), row.max()))
        return build(self.method, Interval(low, high), epsilon=self.epsilon)

    def numbers_of(self, numbers: Sequence[float], answers: Iterable[object]) -> Floats:
        """The number of each answer: what a device gives to the mechanism of the query."""
        return np.asarray(self._row(numbers)[np.array([self.domain.encode(one) for one in answers], np.int64)])

    def intervals(self, answers: Sequence[Estimate], level: float = 0.95) -> Bounds:
        """Intervals of all answers that hold at once with this probability."""
        if not 0 < len(answers) <= self.most:
            raise ParameterError(f"This batch has room for 1 to {self.most} answers. Got {len(answers)}.")
        ends = [answer.ci(1 - (1 - level) / self.most) for answer in answers]
        return Bounds(*(np.array([float(end[0]) for end in side]) for side in zip(*ends, strict=True)))

    def _row(self, numbers: Sequence[float]) -> Floats:
        size: Any = self.domain.size
        row = np.array(numbers, float)
        if row.shape != (size,) or not np.isfinite(row).all() or not np.ptp(row) > 0:
            raise reject("numbers", OWNER, f"{size} finite numbers that are not all equal", f"{row.size} numbers")
        return row
