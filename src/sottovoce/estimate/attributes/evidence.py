"""Shares and means of several attributes that were reported side by side."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Each, Fakes
from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, check_integer
from sottovoce.core.question import Attributes, Question
from sottovoce.core.statistic.each import CountEach, starts, statistic_of
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import refuse
from sottovoce.estimate.evidence import Bounds, Contributions, Evidence, Offer
from sottovoce.estimate.reading import Curve
from sottovoce.estimate.request import check_target
from sottovoce.estimate.shares.supports import SupportsEvidence
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
READS = (CountEach,)


@dataclass(frozen=True, slots=True)
class MarginalSharesEvidence(SupportsEvidence):
    """Shares of one attribute among fakes: the law of its reports is not that of a channel of its own."""

    asked: Question | None = None

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        return Axes.of("value", range(len(self.counts)) if self.asked is None else self.asked.domain)

    @property
    def question(self) -> Question | None:  # type: ignore[override]
        return self.asked


@dataclass(frozen=True, slots=True, eq=False)
class AttributesEvidence(Evidence):
    """The evidence of each attribute, one after another. `answer` takes the question of a single one.

    Method "each" is the default method of each attribute.
    """

    methods: ClassVar[tuple[str, ...]] = ("each", "normal")
    default: ClassVar[str] = "each"
    noun: ClassVar[str] = "value of an attribute"
    names: tuple[str, ...]
    each: tuple[Evidence, ...]
    n: int
    question: Question | None = None

    @property
    def axes(self) -> Axes:  # type: ignore[override]
        """Ragged: each attribute has values of its own."""
        parts = zip(self.names, self.each, strict=True)
        return Axes.ragged(("attribute", "value"), ((name, label) for name, part in parts for label in part.labels))

    @property
    def also(self) -> tuple[Evidence, ...]:  # type: ignore[override]
        return self.each

    def values(self) -> Floats:
        return np.concatenate([part.values() for part in self.each])

    def variances(self, target: str) -> Floats:
        return np.concatenate([part.variances(target) for part in self.each])

    def contributions(self) -> Contributions | None:
        found = [one for one in (part.contributions() for part in self.each) if one is not None]
        if len(found) < len(self.each):
            return None
        return Contributions(*(np.concatenate(ends) for ends in zip(*found, strict=True)))

    def interval(self, level: float, method: str, target: str) -> Bounds:
        chosen = [part.default if method == "each" else method for part in self.each]
        found = [part.interval(level, own, target) for part, own in zip(self.each, chosen, strict=True)]
        return Bounds(*(np.concatenate(ends) for ends in zip(*found, strict=True)))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        ends = [np.repeat([part.limits], len(part.labels), axis=0) for part in self.each]
        low, high = np.concatenate(ends).astype(float).T
        return low, high

    @property
    def offers(self) -> frozenset[Offer]:
        return frozenset()

    def normal_is_poor(self) -> NDArray[np.bool_]:
        return np.concatenate([part.normal_is_poor() for part in self.each])

    def warning(self) -> str | None:
        return next(filter(None, (part.warning() for part in self.each)), None)

    def sentence(self, found: Any, level: float) -> str:
        return (
            f"The estimates of {len(self.each)} attributes are {found.quality}, {len(found.values)} values in all; use"
            " answer(question) for one attribute."
        )


def part_mechanisms(mechanism: Mechanism) -> list[Mechanism]:
    """The mechanism of each attribute by itself, which has a share of the budget; for channels side by side."""
    question, channel = mechanism.question, mechanism.channel
    if not isinstance(question, Attributes) or not isinstance(channel, Each) or isinstance(channel, Fakes):
        raise ParameterError(f"The attributes of {mechanism.name} are not reported by mechanisms of their own.")
    pairs = zip(question.parts, channel.channels, strict=True)
    most = Decimal(MAX_EPSILON)
    return [Mechanism(mechanism.name, asked, part, most, statistic_of(part)) for asked, part in pairs]


def part_cells(mechanism: Mechanism, cells: Ints) -> list[Ints]:
    """The cells of each attribute."""
    return np.split(cells, starts(mechanism.channel)[1:-1])


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> AttributesEvidence:
    """The evidence of a tally."""
    refuse(mechanism, candidates)
    return from_cells(mechanism, tally.n, tally.cells)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> AttributesEvidence:
    """The evidence of cells."""
    question, channel = mechanism.question, mechanism.channel
    if not isinstance(question, Attributes):
        raise TypeError(f"{mechanism.name} does not ask for several attributes.")
    each: list[Evidence] = []
    if isinstance(channel, Fakes):
        for place, (asked, own) in enumerate(zip(question.parts, part_cells(mechanism, cells), strict=True)):
            rates = channel.marginal(place)
            each.append(MarginalSharesEvidence(own, n, float(rates.own), float(rates.other), None, asked))
    else:
        for part, own in zip(part_mechanisms(mechanism), part_cells(mechanism, cells), strict=True):
            each.append(load(f"estimate.{part.question.room}.evidence:from_cells")(part, n, own))
    names = tuple(name for name, _ in question.fields_of)
    return AttributesEvidence(names, tuple(each), n, question)


def answer(found: Evidence, question: Question) -> Evidence | None:
    """Attributes are read from their own reports only."""
    return None


def predicted_variance(
    mechanism: Mechanism, truth: Mapping[str, Any], n: int = 1, *, target: str = "population"
) -> Floats:
    """The exact variance of each value, for the true shares, or a number that all hold, of each attribute by name."""
    check_target(target)
    check_integer("n", "variance", n, 1, 1 << 53)
    question, channel = mechanism.question, mechanism.channel
    if not isinstance(question, Attributes) or {*truth} != {name for name, _ in question.fields_of}:
        raise ParameterError("The truth of several attributes must have the shares, or the mean, of each by its name.")
    if isinstance(channel, Fakes):
        found = []
        for place, (name, part) in enumerate(question.fields_of):
            rates = channel.marginal(place)
            shares, own, other = np.asarray(truth[name], float), float(rates.own), float(rates.other)
            curve: Curve = SupportsEvidence(np.zeros(part.size or 0, np.int64), n, own, other).curve(target)
            found.append(curve.at(shares))
        return np.concatenate(found)
    parts = zip(question.fields_of, part_mechanisms(mechanism), strict=True)
    return np.concatenate([np.atleast_1d(part.variance(truth[name], n, target=target)) for (name, _), part in parts])
