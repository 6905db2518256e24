"""Shares and means of several attributes that were reported side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Bundled, each_of
from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, check_people
from sottovoce.core.question import Attributes, Question
from sottovoce.core.statistic.each import CountEach, starts, statistic_of
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import of_all_cells
from sottovoce.estimate.evidence import (
    Bounds,
    Contributions,
    Evidence,
    Flags,
    Floats,
    Functional,
    Ints,
    Offer,
    floats_of,
)
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.reading import CodeReading
from sottovoce.estimate.request import IntervalRequest, Method, Target

READS = (CountEach,)


@dataclass(frozen=True, slots=True)
class MarginalSharesEvidence(SupportsEvidence):
    """Shares of one attribute among fakes: the law of its reports is not that of a channel of its own."""

    asked: Question | None = None
    question = delegated("asked")

    @property
    def axes(self) -> Axes:
        return Axes.of("value", range(len(self.counts)) if self.asked is None else self.asked.domain)


@dataclass(frozen=True, slots=True, eq=False)
class AttributesEvidence(Evidence):
    """The evidence of each attribute, one after another. `answer` takes the question of a single one.

    Method "each" is the default method of each attribute.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.EACH, Method.NORMAL)
    default: ClassVar[Method] = Method.EACH
    noun: ClassVar[str] = "value of an attribute"
    offers: ClassVar[frozenset[Offer]] = frozenset()
    names: tuple[str, ...]
    parts: tuple[Evidence, ...]
    n: int
    question: Question | None = None
    also = delegated("parts")

    @property
    def axes(self) -> Axes:
        """Ragged: each attribute has values of its own."""
        parts = zip(self.names, self.parts, strict=True)
        return Axes.ragged(("attribute", "value"), ((name, label) for name, part in parts for label in part.labels))

    def values(self) -> Floats:
        return np.concatenate([part.values() for part in self.parts])

    def variances(self, target: Target) -> Floats:
        return np.concatenate([part.variances(target) for part in self.parts])

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """Sums over one attribute. Answers to two attributes may depend on each other, which reports do not show."""
        rows, start = np.atleast_2d(weights), 0
        for part in self.parts:
            inside = slice(start, start + len(part.labels))
            if rows[:, inside].any() and np.count_nonzero(rows) == np.count_nonzero(rows[:, inside]):
                return part.functional(rows[:, inside], target)
            start = inside.stop
        return Evidence.functional(self, rows, target)

    def contributions(self) -> Contributions | None:
        parts = [known for part in self.parts if (known := part.contributions()) is not None]
        if len(parts) < len(self.parts):
            return None
        return Contributions(*map(np.concatenate, zip(*parts, strict=True)))

    def interval(self, request: IntervalRequest) -> Bounds:
        parts = [part.interval(request.instead_of(Method.EACH, use=part.default)) for part in self.parts]
        return Bounds(*map(np.concatenate, zip(*parts, strict=True)))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        ends = [np.repeat([part.limits], len(part.labels), axis=0) for part in self.parts]
        low, high = np.concatenate(ends).astype(float).T
        return low, high

    def normal_is_poor(self) -> Flags:
        return np.concatenate([part.normal_is_poor() for part in self.parts])

    def warning(self) -> str | None:
        return next(filter(None, (part.warning() for part in self.parts)), None)

    def sentence(self, estimate: Any, level: float) -> str:
        return (
            f"The estimates of {len(self.parts)} attributes are {estimate.quality}, {len(estimate.values)} values in"
            " all; use answer(question) for one attribute."
        )


def part_mechanisms(mechanism: Mechanism) -> list[Mechanism]:
    """The mechanism of each attribute by itself, which has a share of the budget; for channels side by side."""
    question, bundle = mechanism.question, each_of(mechanism.channel)
    if not isinstance(question, Attributes) or bundle is None or bundle.marginal(0) is not None:
        raise ParameterError(f"The attributes of {mechanism.name} are not reported by mechanisms of their own.")
    pairs = zip(question.parts, bundle.channels, strict=True)
    most = Decimal(MAX_EPSILON)
    return [Mechanism(mechanism.name, asked, part, most, statistic_of(part)) for asked, part in pairs]


def _marginals(mechanism: Mechanism) -> list[tuple[float, float]] | None:
    """The support rates of each attribute among fakes; None where attributes have mechanisms of their own."""
    bundle = need(mechanism.channel, Bundled).bundle
    rates = [rate for place in range(len(bundle.channels)) if (rate := bundle.marginal(place)) is not None]
    return [(float(own), float(other)) for own, other in rates] or None


def part_cells(mechanism: Mechanism, cells: Ints) -> list[Ints]:
    """The cells of each attribute."""
    return np.split(cells, starts(mechanism.channel)[1:-1])


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> AttributesEvidence:
    """The evidence of cells."""
    question, rates = mechanism.question, _marginals(mechanism)
    if not isinstance(question, Attributes):
        raise TypeError(f"{mechanism.name} does not ask for several attributes.")
    parts: list[Evidence] = []
    if rates is not None:
        for asked, pair, counts in zip(question.parts, rates, part_cells(mechanism, cells), strict=True):
            parts.append(MarginalSharesEvidence(counts, n, *pair, None, asked))
    else:
        for part, counts in zip(part_mechanisms(mechanism), part_cells(mechanism, cells), strict=True):
            parts.append(load(f"estimate.{part.question.room}.evidence:from_cells")(part, n, counts))
    names = tuple(name for name, _ in question.fields_of)
    return AttributesEvidence(names, tuple(parts), n, question)


evidence = of_all_cells(from_cells)


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Attributes are read from their own reports only."""
    return None


def predicted_variance(
    mechanism: Mechanism, truth: Mapping[str, Any], n: int = 1, *, target: Target = Target.POPULATION
) -> Floats:
    """The exact variance of each value, for the true shares, or a number that all hold, of each attribute by name."""
    check_people("n", "variance", n)
    question, rates = mechanism.question, _marginals(mechanism)
    known = truth if isinstance(truth, Mapping) else {}
    if not isinstance(question, Attributes) or {*known} != {name for name, _ in question.fields_of}:
        raise ParameterError("The truth of several attributes must have the shares, or the mean, of each by its name.")
    if rates is not None:
        shares = [floats_of(truth[name]) for name, _ in question.fields_of]
        sizes = [(domain.size,) for _, domain in question.fields_of]
        if [one.shape for one in shares] != sizes or any(one.min() < 0 or abs(one.sum() - 1) > 1e-9 for one in shares):
            raise ParameterError("The shares of each attribute must be one for each of its values, and sum to 1.")
        pairs = zip(shares, rates, strict=True)
        return np.concatenate([CodeReading.of_rates(*pair).at(one, target) / n for one, pair in pairs])
    parts = zip(question.fields_of, part_mechanisms(mechanism), strict=True)
    return np.concatenate([np.atleast_1d(part.variance(truth[name], n, target=target)) for (name, _), part in parts])
