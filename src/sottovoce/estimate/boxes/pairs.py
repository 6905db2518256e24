"""Shares of boxes over many fields from reports about one or two of them at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.declared import delegated
from sottovoce.core.domain import Select
from sottovoce.core.domain.places import base_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Boxes
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.boxes.estimates import BoxesEstimate
from sottovoce.estimate.boxes.grid import Limits
from sottovoce.estimate.boxes.grids import all_inside, consistent, pair_table
from sottovoce.estimate.boxes.partitions import PartitionBoxes, PartReading, partition_boxes
from sottovoce.estimate.distribution.answers import PartAnswer
from sottovoce.estimate.distribution.share_sums import kept_inside
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Evidence, Flags, Floats, Offer, deviate
from sottovoce.estimate.request import IntervalRequest, Method, Target

Pair = tuple[str, str]
USUAL = 0.95  # the level of the interval that standard errors are read from, where no variance is known


@dataclass(frozen=True, eq=False)
class PairBoxes(Evidence):
    """The shares of the cells of all pairs of fields, one table after another.

    A box that limits three or more fields is as even as the pairs allow; its interval holds for any distribution.
    """

    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    noun: ClassVar[str] = "share of a cell of two fields"
    estimate_class: ClassVar[type[Estimate]] = BoxesEstimate
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.FITTED})
    asked: Boxes
    pairs: Mapping[Pair, PartitionBoxes]
    readings: tuple[PartReading, ...]
    question = delegated("asked")

    @property
    def n(self) -> int:
        return round(sum(one.n for one in self.readings))

    @property
    def sizes(self) -> dict[str, int]:
        """The number of cells of each field."""
        each = (zip(pair, one.buckets.shape, strict=True) for pair, one in self.pairs.items())
        return {name: size for pair in each for name, size in pair}

    @cached_property
    def spans(self) -> dict[Pair, slice]:
        """Where the table of each pair lies among the values."""
        ends = np.cumsum([0, *(len(one.buckets) for one in self.pairs.values())]).tolist()
        return {pair: slice(low, high) for pair, low, high in zip(self.pairs, ends[:-1], ends[1:], strict=True)}

    @property
    def axes(self) -> Axes:
        rows = (
            (" x ".join(pair), ", ".join(map(str, cell)))
            for pair, one in self.pairs.items()
            for cell in zip(*one.axes.columns(), strict=True)
        )
        return Axes.ragged(("fields", "cell"), rows)

    def values(self) -> Floats:
        return np.concatenate([one.values() for one in self.pairs.values()])

    def fitted_shares(self) -> Floats:
        """The shares that the authors of HDG find."""
        grids = {one.names: one.shares.reshape(one.shape) for one in self.readings}
        tables = consistent(grids, self.sizes)
        return np.concatenate([pair_table(tables, pair, self.sizes).ravel() for pair in self.pairs])

    def variances(self, target: Target) -> Floats:
        return np.concatenate([one.variances(target) for one in self.pairs.values()])

    def normal_is_poor(self) -> Flags:
        return np.concatenate([one.normal_is_poor() for one in self.pairs.values()])

    def warning(self) -> str | None:
        return next((said for one in self.pairs.values() if (said := one.warning())), None)

    def boxes(self, boxes: Sequence[Limits], *, outside: bool = False) -> PairAnswer:
        """The share of a box, or of all others; of several boxes where they limit the same two fields."""
        names = {name for box in boxes for name in box}
        known = [name for name in self.sizes if name in names]
        if len(known) < len(names):
            raise ParameterError(f"A box has limits for the fields {', '.join(self.sizes)} only.")
        if len(known) > 2 and (len(boxes) > 1 or outside):
            raise ParameterError(
                "Unions and complements of boxes are given for two fields; ask for one box of these fields."
            )
        asked = list(combinations(known, 2)) or [next(pair for pair in self.pairs if {*known} <= {*pair})]
        answers = []
        for pair in asked:
            parts = [{name: limits for name, limits in box.items() if name in pair} for box in boxes]
            answers.append((pair, self.pairs[pair].boxes(parts, outside=outside)))
        label = answers[0][1].axes.labels[0] if len(answers) == 1 else self._label(boxes[0])
        return PairAnswer(self, dict(answers), Axes.of("box", [label]), self._lines(boxes[0], known))

    def _label(self, box: Limits) -> str:
        said = (
            self.pairs[next(pair for pair in self.pairs if name in pair)].buckets.label({name: limits})
            for name, limits in box.items()
        )
        return ", ".join(said)

    def _lines(self, box: Limits, names: Sequence[str]) -> dict[str, tuple[Pair, PartAnswer]]:
        """The share inside the limits of each field by itself, where a box limits three or more."""
        if len(names) < 3:
            return {}
        found = {}
        for name in names:
            pair = next(pair for pair in self.pairs if name in pair)
            found[name] = (pair, self.pairs[pair].boxes([{name: box[name]}]))
        return found

    def sentence(self, estimate: Estimate, level: float) -> str:
        return (
            f"The estimates of the shares of the cells of {len(self.pairs)} pairs of fields are {estimate.quality}. Use"
            " range(...) for the share of a box of any of the fields."
        )


@dataclass(frozen=True, eq=False)
class PairAnswer(Evidence):
    """The share of a box: of one or two fields from one table, of more fields from the tables of all pairs.

    With more fields the interval is what the pairs leave possible: at most the least share of a pair, and at least what
    the shares outside leave, each with a part of the error probability.
    """

    noun: ClassVar[str] = "share of a box"
    methods: ClassVar[tuple[Method, ...]] = (Method.NORMAL,)
    default: ClassVar[Method] = Method.NORMAL
    ends: ClassVar[tuple[float, float]] = (0.0, 1.0)
    source: PairBoxes
    tables: Mapping[Pair, PartAnswer]
    label: Axes
    lines: Mapping[str, tuple[Pair, PartAnswer]]
    axes = delegated("label")
    n = delegated("source.n")
    question = delegated("source.asked")

    @property
    def quality(self) -> str:
        return "unbiased" if not self.lines else "of maximum entropy, from unbiased shares of pairs"

    def values(self) -> Floats:
        return self.read(self.source.values())

    def read(self, values: Floats) -> Floats:
        """The share from any tables of all pairs, such as those of a decoder."""
        spans = self.source.spans
        found = {pair: float(one.read(values[spans[pair]])[0]) for pair, one in self.tables.items()}
        if not self.lines:
            return np.array([*found.values()])
        names = list(self.lines)
        inside = [float(np.clip(one.read(values[spans[pair]])[0], 0, 1)) for pair, one in self.lines.values()]
        places = {tuple(map(names.index, pair)): share for pair, share in found.items()}
        return np.array([all_inside(inside, places)])  # type: ignore[arg-type]

    def _parts(self) -> Iterator[PartAnswer]:
        yield from self.tables.values()
        yield from (one for _, one in self.lines.values())

    def interval(self, request: IntervalRequest) -> Bounds:
        if not self.lines:
            (one,) = self.tables.values()
            return one.interval(request)
        count = len(self.tables) + len(self.lines)
        each = request.at(1 - (1 - request.level) / count)
        pairs = {pair: one.interval(each) for pair, one in self.tables.items()}
        lines = {name: one.interval(each) for name, (_, one) in self.lines.items()}
        high = min(float(bounds.high[0]) for bounds in (*pairs.values(), *lines.values()))
        # Of those inside one condition, at most what is inside it and outside another one is lost to that other one.
        lows = (
            sum(float(bounds.low[0]) for pair, bounds in pairs.items() if name in pair)
            - (len(lines) - 2) * float(lines[name].high[0])
            for name in lines
        )
        value = float(self.values()[0])
        return Bounds(np.array([min(max(0.0, *lows), value)]), np.array([max(min(1.0, high), value)]))

    def inside(self, request: IntervalRequest) -> Bounds:
        return kept_inside(self.interval(request), self.limits)

    def variances(self, target: Target) -> Floats:
        if not self.lines:
            (one,) = self.tables.values()
            return np.asarray(one.variances(target), np.float64)
        (low,), (high,) = self.interval(IntervalRequest(USUAL, Method.NORMAL, target))
        return np.array([((high - low) / 2 / deviate(USUAL)) ** 2])

    def normal_is_poor(self) -> Flags:
        return np.array([self.warning() is not None])

    def warning(self) -> str | None:
        return next((said for one in self._parts() if (said := one.warning())), None)

    def doubt(self, request: IntervalRequest, most: float = 4 / 3) -> str | None:
        return next((said for one in self._parts() if (said := one.doubt(request, most))), None)


def pair_tables(
    question: Boxes, base: Select, tallies: Sequence[Any]
) -> tuple[dict[Pair, PartitionBoxes], tuple[PartReading, ...]]:
    """The evidence about each pair of fields, and all readings."""
    pairs: dict[Pair, PartitionBoxes] = {}
    for first, second in combinations(base.names, 2):
        chosen: list[tuple[Any, Any]] = [(one, base_of(one.mechanism.domain)) for one in tallies]
        own = [one for one, view in chosen if {*view.names} <= {first, second}]
        pairs[first, second] = partition_boxes(question, Select(base.of, (first, second)), own)
    readings = {reading.names: reading for one in pairs.values() for reading in one.readings}
    return pairs, tuple(readings.values())


def pair_boxes(question: Boxes, base: Select, tallies: Sequence[Any]) -> PartitionBoxes | PairBoxes:
    """The evidence of reports about one or two fields; of two fields the evidence about their grid itself."""
    pairs, readings = pair_tables(question, base, tallies)
    return PairBoxes(question, pairs, readings) if len(pairs) > 1 else pairs[base.names[0], base.names[1]]
