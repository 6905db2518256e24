"""Plans for shares and distributions within groups: methods for all cells of a table, by the error within a group."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import numpy as np

from sottovoce.core.domain import Bins, Cells, Domain, Integers, Pair
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import count_text, reject
from sottovoce.core.question import Distribution, WithinGroups
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.distribution.buckets import coded_buckets
from sottovoce.estimate.distribution.expected import ExpectedDistribution, lines_of, shares_of
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.estimate.within_groups.evidence import of_table, predicted_variance
from sottovoce.estimate.within_groups.table import LEAST_ERRORS, CellTable, GroupDistribution, flat
from sottovoce.mechanisms.distribution.tree_common import MOST_LEAVES
from sottovoce.mechanisms.group.cells import NAME as KEYED
from sottovoce.mechanisms.group.cells import build as keyed_response
from sottovoce.study.planners.base import (
    OWNER,
    Expectation,
    Option,
    Planner,
    Request,
    Ways,
    no_method,
    normal_quantile,
)
from sottovoce.study.planners.distribution import edges_at

METHODS = ("binned", "hierarchy", "haar")
TRIED = (8, 16, 32, 64)  # buckets of numbers from which quantiles are read
USUAL = 32  # buckets of a distribution within groups, where the question names no number
MOST_VALUES = 64  # numbers with a step that have a bucket each


@dataclass(frozen=True, slots=True)
class WithinPlanner(Planner):
    """By the standard error of a number within a group, root mean square over its numbers, in the middle group.

    What is read from buckets counts with the width of the interval of the expected tally.
    """

    question: WithinGroups
    methods: tuple[str, ...]
    sizes: Floats
    inside: tuple[Any, ...]
    level: float
    target: Target
    keyed: bool = False  # the published method, which is asked for by name: others have less error

    @property
    def subject(self) -> str:
        inner = self.question.question
        what = "Shares" if self.question.counts_answers else f"A {inner.noun}"
        return f"{what} within {len(self.question.groups)} groups"

    @property
    def measure(self) -> str:
        return f"a {self.question.noun}, root mean square, in the middle one of the groups"

    def ways(self, epsilon: Decimal) -> WithinWays:
        candidates: list[Candidate] = []
        if self.keyed:
            asked = keyed_response(self.question, epsilon=epsilon)
            candidates.append(Candidate(asked, self._truth(asked.domain)))  # type: ignore[arg-type]
        for value in value_domains(self.question):
            cells = Cells(Pair(self.question.by, value), self.question.reasons)
            truth = self._truth(cells)
            for name in self.methods:
                try:
                    shadow = _built(name, cells, epsilon)
                    ExpectedDistribution.of(shadow)
                    about = (self.question, shadow.channel, epsilon, shadow.statistic, cells)
                    candidates.append(Candidate(Mechanism(name, *about), truth))
                except (ParameterError, TooLargeError):
                    continue
        if not candidates:
            raise no_method(epsilon, self.methods)
        return WithinWays(self, tuple(candidates))

    def _truth(self, cells: Cells) -> Floats:
        """The expected share of each cell."""
        buckets = coded_buckets(cells.of.value)
        rows = [size * shares_of(buckets, prior) for size, prior in zip(self.sizes, self.inside, strict=False)]
        return np.concatenate([*rows, self.sizes[len(rows) :]])

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterable[str]:
        small = [one for one in best.expected if one.needed > participants]
        for one in small[:3]:
            yield (
                f'Group "{one.label}" is too small to be shown: from about {count_text(one.needed)} participants on'
                " its numbers are."
            )


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism for all cells, and the shares of the cells that are expected."""

    mechanism: Mechanism
    truth: Floats

    def table(self, n: int) -> CellTable:
        """The table of cells that is expected of n reports."""
        shadow = flat(self.mechanism)
        expected = ExpectedDistribution(shadow, coded_buckets(shadow.domain), self.truth).evidence(n)
        asked: Any = self.mechanism.question
        return CellTable(asked, self.mechanism.domain, ((1.0, expected),))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class WithinWays(Ways):
    """Mechanisms for the cells of a table, by the error within groups."""

    planner: WithinPlanner
    candidates: tuple[Candidate, ...]
    ranked: dict[int, tuple[Option, ...]] = field(default_factory=dict)

    def options(self, participants: int) -> tuple[Option, ...]:
        if participants not in self.ranked:
            options = sorted(
                (self._option(one, participants) for one in self.candidates), key=lambda one: one.std_error
            )
            self.ranked[participants] = tuple(_best_of_each(options))
        return self.ranked[participants]

    def least(self, participants: int) -> float:
        return self.options(participants)[0].std_error

    def _option(self, one: Candidate, n: int) -> Option:
        planner, table = self.planner, one.table(n)
        numbers = self._errors(one, table, n)
        by_group = np.sqrt(np.mean(numbers**2, axis=1))
        needed = _needed(table, n)
        labels = zip(planner.question.groups, by_group.tolist(), needed, strict=True)
        expected = tuple(Expectation(label, error, count) for label, error, count in labels)
        error = float(np.median(by_group))
        return Option(
            *(one.mechanism.name, one.mechanism, error, codec.payload_bytes(one.mechanism.channel)),
            *(f"{table.width} answers or buckets in each group.", "linear", expected),
        )

    def _errors(self, one: Candidate, table: CellTable, n: int) -> Floats:
        """The standard error of each number of each group; for intervals, the part of a normal one."""
        groups = len(table.groups)
        if self.planner.question.counts_answers:
            return np.sqrt(predicted_variance(one.mechanism, one.truth, n)).reshape(groups, -1)
        if self.planner.question.question.is_distribution:
            inside = [GroupDistribution(table, group) for group in range(groups)]
            return np.sqrt([one.spreads(lines_of(one.buckets)) for one in inside])
        evidence = of_table(table)
        low, high = evidence.interval(IntervalRequest(self.planner.level, evidence.default))
        halves = (high - low) / 2 / normal_quantile(self.planner.level)
        errors = np.sqrt(evidence.variances(Target.POPULATION))  # an interval of whole numbers may be a single one
        return np.asarray(np.fmax(halves, errors).reshape(groups, -1))


def _best_of_each(options: Sequence[Option]) -> Iterator[Option]:
    """The best number of buckets of each method."""
    seen = set()
    for option in options:
        if option.method not in seen:
            seen.add(option.method)
            yield option


def _needed(table: CellTable, n: int) -> list[int]:
    """From how many participants on the numbers of each group are shown."""
    errors = np.sqrt(n * table.spreads(table.by_group, Target.POPULATION))
    sizes = np.maximum(table.sizes, 1e-9)
    return [min(1 << 53, math.ceil(count)) for count in ((LEAST_ERRORS * errors / sizes) ** 2).tolist()]


def value_domains(question: WithinGroups) -> Iterator[Domain]:
    """The answers, or the buckets of them that are tried."""
    inner: Any = question.question
    domain = inner.domain
    groups = len(question.groups)
    if domain.size is not None and (domain.choices is not None or question.counts_answers):
        yield domain
        return
    edges = edges_at(inner)
    if edges:
        yield Bins(domain.line, edges)
        return
    points = domain.points
    if points is not None and points <= MOST_VALUES and getattr(inner, "buckets", None) is None:
        yield domain if domain.size is not None else Bins.even(domain, points)
        return
    wanted = getattr(inner, "buckets", None) or (USUAL if inner.is_distribution else None)
    for count in (wanted,) if wanted else TRIED:
        if count * groups <= MOST_LEAVES and count <= (points or count):
            yield Bins.even(domain, count)


def _built(name: str, cells: Cells, epsilon: Decimal) -> Mechanism:
    return build(name, Integers(0, cells.size - 1), epsilon=epsilon, buckets=cells.size)


def planner(request: Request) -> WithinPlanner:
    """Checks the request; the prior is the shares of the groups and reasons, and what is expected within each group."""
    request.refuse_mechanism()
    question: Any = request.question
    count, groups = question.by.size, len(question.groups)
    sizes, inside = (None, None) if request.prior is None else request.prior
    sizes = np.full(count, 1 / count) if sizes is None else np.asarray(sizes, float)
    if sizes.shape != (count,) or sizes.min() < 0 or abs(sizes.sum() - 1) > 1e-9:
        raise reject("prior", OWNER, f"{count} shares of groups and reasons that sum to 1, and a list", request.prior)
    inside = [None] * groups if inside is None else list(inside)
    if getattr(question.question, "needs_prior", False) and inside[0] is None:
        noun = question.question.noun
        raise ParameterError(f"A plan for a {noun} needs a prior: of answers all around it is undefined.")
    # Cells have no order that waves and series could use.
    wanted = None if request.methods is None else tuple(one for one in request.methods if one != KEYED)
    keyed = request.methods is not None and KEYED in request.methods
    methods: tuple[str, ...] = METHODS if wanted is None else ()
    if wanted:
        methods = tuple(replace(request, methods=wanted).registered(Distribution))
    return WithinPlanner(question, methods, sizes, tuple(inside[:groups]), request.level, request.target, keyed)
