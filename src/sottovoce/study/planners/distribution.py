"""Plans for distributions and what is read from them: mechanisms ranked by the error of what is wanted.

Whatever is read from a distribution, such as a quantile, is planned by the width of its own interval. Shares up to some
points, and shares of ranges, are also asked through bins that end at these points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import Distribution
from sottovoce.core.question.distribution_domain import DistributionQuestion
from sottovoce.core.registry import mechanism as build
from sottovoce.core.workload import Workload
from sottovoce.estimate.distribution.evidence import buckets_of
from sottovoce.estimate.distribution.expected import ExpectedDistribution
from sottovoce.estimate.distribution.readings.linear import is_projection
from sottovoce.estimate.prior import Prior
from sottovoce.protocols.quantile.expected import ExpectedRounds
from sottovoce.study import search, workloads
from sottovoce.study.planners.base import OWNER, Option, Planner, Request, RootWays, Ways, no_method, normal_quantile

BUCKETS = 64  # of a range for which all methods are compared, where the question names no number
MOST_VALUES = 256  # whole numbers that are buckets of their own, where the question names no number
DESIGNED = ("designed-distribution", "coded-wave", "mixed-wave")  # built by a program that takes seconds
AFTER = 11  # decimal places after the first one of a domain, at which a bin ends that holds a point of a continuum
NEAR = 1.1  # of the least possible error
AT_POINTS = "binned (at the points)"
ONE_ROUND = ("coded-wave",)  # what rounds are compared with
MANY = 10**9  # people whose noise is far below the width of a bucket
ROUNDS = "rounds"  # the method for quantiles that takes several


@dataclass(frozen=True, slots=True)
class DistributionPlanner(Planner):
    """By the standard error of the unbiased estimates of the workload: of cumulative shares, at the edges of all
    buckets, of the shares of all ranges or of all buckets, or of the mean.

    All methods tell the same buckets apart: one that has fewer of them has less noise, but does not see what is inside.
    On a circle, where nothing is cumulative, it is the share of a bucket unless arcs are asked for.
    """

    subject: ClassVar[str] = "The distribution"

    question: Distribution
    methods: tuple[str, ...]
    prior: Any = None

    @property
    def measure(self) -> str:
        return workloads.ranked_by(self.question).measure(circular=self.question.domain.circular)

    def ways(self, epsilon: Decimal) -> RootWays:
        built = built_for(self.question, epsilon, self.methods)
        candidates = [(workloads.error_of(mechanism, self.question, self.prior), mechanism) for mechanism in built]
        if not candidates:
            raise no_method(epsilon, self.methods)
        least = min(error for error, _ in candidates)
        options = (
            Option(
                *(mechanism.name, mechanism, error, codec.payload_bytes(mechanism.channel)),
                workloads.reason(error / least, mechanism, self.question),
            )
            for error, mechanism in sorted(candidates, key=lambda item: item[0])
        )
        return RootWays(tuple(options), least)

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterator[str]:
        one = workloads.least_possible(best.mechanism, self.question) if self.prior is None else None
        if one is not None:
            least = one / math.sqrt(participants)
            near = ": a better method would gain little" if best.std_error <= NEAR * least else ""
            yield f"No unbiased estimate through any channel has less than {least:.4g}{near}."


@dataclass(frozen=True, slots=True)
class ReadingPlanner(Planner):
    """By half the width of the interval to expect, as a multiple of a normal one of a standard error.

    Errors of what is read from buckets do not fall with the root of the participants: the width of a bucket remains.
    """

    question: DistributionQuestion
    methods: tuple[str, ...]
    prior: Any
    level: float

    @property
    def subject(self) -> str:
        return f"A {self.question.noun}"

    @property
    def measure(self) -> str:
        several = any(isinstance(value, list) for value in self.question.fields().values())
        return f"the {self.question.noun}, by the width of its interval{', root mean square over all' * several}"

    @property
    def in_rounds(self) -> bool:
        """Whether rounds can answer: quantiles of numbers."""
        return self.question.ends_at_buckets and self.question.domain.line is not None

    def rounds(self, epsilon: Decimal) -> ExpectedRounds:
        """The search in rounds."""
        return ExpectedRounds(self.question, epsilon, self.prior)  # type: ignore[arg-type]

    def ways(self, epsilon: Decimal) -> ReadingWays:
        rounds = self.rounds(epsilon) if ROUNDS in self.methods else None
        if self.methods == (ROUNDS,):
            return ReadingWays(self.question, self.level, {}, rounds)
        exact = at_points(self.question, epsilon)
        # Bins that end at the points are better than any design for all shares.
        methods = self.methods if exact is None else tuple(name for name in self.methods if name not in DESIGNED)
        expected = {
            mechanism.name: ExpectedDistribution.of(mechanism, self.prior)
            for mechanism in built_for(Distribution(self.question.domain), epsilon, methods, counted=True)
        }
        if exact is not None:
            expected[AT_POINTS] = ExpectedDistribution.of(exact, self.prior)
        if not expected:
            raise no_method(epsilon, self.methods)
        return ReadingWays(self.question, self.level, expected, rounds)

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterator[str]:
        if self.in_rounds:
            yield self._rounds_compared(best, epsilon, participants)
        if self.question.ends_at_buckets and best.method != ROUNDS:
            buckets = buckets_of(best.mechanism, participants)
            wide = float(buckets.widths.max())
            if wide > 1.000001 * (buckets.step or 0):
                yield (
                    f"The ends of its interval are ends of buckets, which are {wide:.3g} wide: more participants do not"
                    " make it narrower than one."
                )

    def _rounds_compared(self, best: Option, epsilon: Decimal, participants: int) -> str:
        """How many people one round, five rounds and the floor take for the error of the best option."""
        rounds, error = self.rounds(epsilon), best.std_error
        people = max(participants, rounds.fewest)
        floor = search.least(rounds.least, error, search.participants(1))
        if best.method == ROUNDS:
            compared = self._in_one_round(error, epsilon, participants)
        else:
            needed = search.least(rounds.error, error, search.participants(rounds.fewest))
            compared = (
                f'In five rounds (methods=["{ROUNDS}"]) the standard error would be about {rounds.error(people):.3g}'
            )
            if needed is not None and needed < participants:
                compared += f", and {needed:,} people would reach the one above"
        return (
            f"{compared}. No method that asks about thresholds has less than {rounds.least(people):.3g}, or reaches"
            f" {error:.3g} with fewer than {floor:,} people."
        )

    def _in_one_round(self, error: float, epsilon: Decimal, participants: int) -> str:
        """The error of one round, and how many people it takes for that of a search."""
        ways = replace(self, methods=ONE_ROUND).ways(epsilon)
        said = f"In one round ({ONE_ROUND[0]}) the standard error would be about {ways.least(participants):.3g}"
        if ways.least(MANY) > error:
            return f"{said}, and no number of people would reach that of rounds: buckets stay as wide as they are"
        people = float(participants)
        for _ in range(2):  # errors fall about with the root; a full search would take seconds
            people *= (ways.least(math.ceil(people)) / error) ** 2
        return f"{said}, and about {float(f'{people:.2g}'):,.0f} people would reach that of rounds"


@dataclass(frozen=True, slots=True, eq=False)
class ReadingWays(Ways):
    """Mechanisms for distributions, by what is read from them."""

    question: DistributionQuestion
    level: float
    expected: dict[str, ExpectedDistribution]
    rounds: ExpectedRounds | None = None
    ranked: dict[int, tuple[Option, ...]] = field(default_factory=dict)

    def options(self, participants: int) -> tuple[Option, ...]:
        if participants not in self.ranked:
            unit = normal_quantile(self.level)
            errors = {
                name: one.half_width(self.question, participants, self.level) / unit
                for name, one in self.expected.items()
            }
            rounds = (
                [] if self.rounds is None or self._too_few(participants) else [in_rounds(self.rounds, participants)]
            )
            least = min([*errors.values(), *(option.std_error for option in rounds)])
            options = [
                Option(
                    *(name, self.expected[name].mechanism, error),
                    *(codec.payload_bytes(self.expected[name].mechanism.channel), self._reason(name, error, least)),
                )
                for name, error in errors.items()
            ]
            self.ranked[participants] = tuple(sorted([*options, *rounds], key=lambda option: option.std_error))
        return self.ranked[participants]

    def _too_few(self, participants: int) -> bool:
        """Whether a search has too few people, where something else answers too."""
        return self.rounds is not None and participants < self.rounds.fewest and bool(self.expected)

    def _reason(self, name: str, error: float, least: float) -> str:
        ratio = error / least if least else 1.0
        if name == AT_POINTS:
            return f"{workloads.placed(ratio)}: its bins end where the question does, and nothing else is told apart."
        return workloads.reason(ratio, self.expected[name].mechanism, Distribution(self.question.domain))

    def least(self, participants: int) -> float:
        return self.options(participants)[0].std_error


def in_rounds(rounds: ExpectedRounds, participants: int) -> Option:
    """A search in rounds as an option."""
    people = math.ceil(participants / len(rounds.question.shares))
    reason = (
        f"in five rounds, each person is asked on which side of one threshold they are; {people:,} people for each"
        f" quantile. Asked about the true quantile, they would have {rounds.least(participants):.4g}."
    )
    return Option(ROUNDS, rounds.protocol(participants), rounds.error(participants), 1, reason)


def built_for(
    question: Distribution, epsilon: Decimal, methods: tuple[str, ...], *, counted: bool = False
) -> Iterator[Mechanism]:
    """The mechanisms that can answer; `counted` ones only, where what they will say must be predicted."""
    for name in methods:
        try:
            mechanism = _built(name, question.domain, epsilon, buckets_for(question), question.workload)
            buckets_of(mechanism, 1)
            if is_projection(mechanism.channel):
                continue  # its error without what it leaves out is not comparable with that of the others
            if counted:
                ExpectedDistribution.of(mechanism)
            yield mechanism
        except (ParameterError, TooLargeError):
            continue


@lru_cache(maxsize=128)
def _built(name: str, domain: Domain, epsilon: Decimal, buckets: int, workload: Workload) -> Mechanism:
    """Built once: some are designed by a program, and several questions of a study may ask the same."""
    return build(name, domain, epsilon=epsilon, buckets=buckets, workload=workload)


def buckets_for(question: Distribution) -> int:
    """As many as the question names; else one for each value where there are few, and 64 of a range."""
    domain = question.domain
    if question.buckets is not None:
        return question.buckets
    values = domain.points
    if values is not None and (values <= MOST_VALUES or domain.line is None):
        return values
    return BUCKETS


def at_points(question: DistributionQuestion, epsilon: Decimal) -> Mechanism | None:
    """Bins that end where the question does, if it names points of numbers."""
    inside = edges_at(question)
    return build("binned", question.domain, epsilon=epsilon, edges=inside) if inside else None


def edges_at(question: Any) -> list[Decimal]:
    """Where bins end such that they tell the intervals of a question exactly; none where it names no points."""
    domain = question.domain.line
    ends: tuple[Any, ...] = getattr(question, "intervals", tuple)()
    if domain is None:
        return []
    # A bin ends before its edge: the next possible answer above a point, or right after the point on a continuum.
    size = max(abs(Decimal(domain.low)), abs(Decimal(domain.high)))
    after = domain.spacing or Decimal((0, (1,), size.adjusted() - AFTER))
    edges = {Decimal(low) for low, _ in ends if low is not None}
    edges |= {Decimal(high) + after for _, high in ends if high < domain.high}
    return sorted(edge for edge in edges if domain.low < edge <= domain.high)


def planner(request: Request) -> Planner:
    """Checks the request; the prior is a `Prior`, answers of earlier days, or the shares of categories."""
    request.refuse_mechanism()
    question: Any = request.question
    wanted = request.methods or ()
    rounds = ROUNDS in wanted and question.ends_at_buckets and question.domain.line is not None
    others = replace(request, methods=tuple(name for name in wanted if name != ROUNDS)) if rounds else request
    methods = (*others.registered(Distribution), *([ROUNDS] if rounds else []))
    prior = expected_of(question.domain, request.prior)
    if isinstance(question, Distribution):
        workloads.check(question)
        return DistributionPlanner(question, methods, prior)
    if question.needs_prior and prior is None:
        raise ParameterError(f"A plan for a {question.noun} needs a prior: of answers all around it is undefined.")
    if not question.read_from_curve:
        raise ParameterError(f"There is no plan for a question of kind {question.kind}: plan for the distribution.")
    if not request.includes_sampling:
        raise reject("target", OWNER, "'population' for what is read from a distribution", request.target)
    return ReadingPlanner(question, methods, prior, request.level)


def expected_of(domain: Domain, prior: Any) -> Any:
    """The prior in a form that buckets take."""
    if prior is None or isinstance(prior, Prior) or domain.scalar is None:
        return prior if prior is None or isinstance(prior, Prior) else np.asarray(prior, float)
    return Prior.of(prior)
