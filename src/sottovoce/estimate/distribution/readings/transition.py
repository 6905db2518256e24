"""Transitions: from the shares of buckets to the probabilities of reports, and back, without a matrix where possible.

A wave adds the same constant to all outputs and one more for those near the code, so both products are sums over
windows, computed from running sums in a time linear in the number of buckets and outputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from sottovoce.core.arithmetic.rational import units
from sottovoce.core.channel import ArcSets, Block, Channel, ShiftSets, Window
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.channel.shapes import after_rounding, alternatives_of, block_of
from sottovoce.core.declared import delegated
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.estimate.distribution.readings.branches import LevelReports, branches_of
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.mixture import Mixture, Product
from sottovoce.fast.compiled import compiled
from sottovoce.tally.laws import law_row

MAX_DENSE = 1 << 24  # entries of a matrix


def undetermined(buckets: int) -> ParameterError:
    """The error where several shares give the reports the same law."""
    return ParameterError(
        f"The reports do not determine the shares of {buckets} buckets: some changes of the shares leave the law of a"
        " report as it is, or nearly."
    )


class Transition(ABC):
    """The law of a report given the bucket of an answer, which is spread evenly inside its bucket."""

    buckets: int
    outputs: int

    @abstractmethod
    def forward(self, shares: Floats) -> Floats:
        """The probability of each output."""

    @abstractmethod
    def backward(self, ratios: Floats) -> Floats:
        """The transposed product: the mean of the ratios of the outputs, for each bucket."""

    def likelihood(self, counts: Floats) -> Mixture:
        """The likelihood of the shares of the buckets, given a count of each output."""
        return BucketMixture(self, counts)

    @cached_property
    def uniform(self) -> Floats:
        """The probability of each output where all buckets are equally common."""
        return self.forward(np.full(self.buckets, 1 / self.buckets))

    @cached_property
    def matrix(self) -> Floats:
        """The probabilities themselves, one row for each output and one column for each bucket."""
        if self.buckets * self.outputs > MAX_DENSE:
            raise TooLargeError(f"A matrix of {self.outputs} x {self.buckets} probabilities is too large.")
        return np.column_stack([self.forward(one) for one in np.eye(self.buckets)])


class DenseTransition(Transition):
    """Any law."""

    def __init__(self, matrix: Floats) -> None:
        self.matrix = np.ascontiguousarray(matrix)
        self.outputs, self.buckets = matrix.shape

    def forward(self, shares: Floats) -> Floats:
        return np.asarray(self.matrix @ shares)

    def backward(self, ratios: Floats) -> Floats:
        return np.asarray(ratios @ self.matrix)


class WindowLaw(NamedTuple):
    """With probability `inside` one of the `width` outputs from stride * code on, which may go around a circle."""

    outputs: int
    stride: int
    width: int
    inside: float
    circular: bool


def window_law(channel: Channel) -> WindowLaw | None:
    """The windows of a channel; None where reports do not lie in windows."""
    if isinstance(channel, Window):
        return WindowLaw(channel.outputs, channel.stride, channel.width, float(units(channel.inside)), False)
    block = block_of(channel)
    if block is None or not isinstance(block.sets, ArcSets):
        return None
    return WindowLaw(block.outputs, 1, block.sets.size, float(units(block.inside)), True)


class WaveTransition(Transition):
    """`high` for the `width` outputs from stride * code on, `low` for all others.

    Each bucket holds `per_bucket` codes; or, where numbers are rounded, so many steps of the grid, whose points are the
    codes: an even spread gives both ends of a step the same weight, so that the edges of a bucket are ramps.
    """

    def __init__(self, window: WindowLaw, buckets: int, per_bucket: int, rounded: bool) -> None:
        self.outputs, self.stride, self.width, inside, self.circular = window
        self.buckets, self.per_bucket, self.rounded = buckets, per_bucket, rounded
        self.high, self.low = inside / self.width, (1 - inside) / (self.outputs - self.width)

    @property
    def moves_by_one(self) -> bool:
        """Whether each window lies one output after that of the code before, where a bucket is one code, or its ends
        lie between the points of a grid that tell a line.
        """
        told = self.per_bucket > 1 if self.rounded else self.per_bucket == 1
        return self.stride == 1 and told and not self.circular

    def forward(self, shares: Floats) -> Floats:
        """The probability of each output."""
        out = np.zeros(self.outputs)
        _forward(
            shares, self.per_bucket, self.rounded, self.circular, self.stride, self.width, self.low, self.high, out
        )
        return out

    def backward(self, ratios: Floats) -> Floats:
        """The transposed product."""
        out = np.zeros(self.buckets)
        _backward(
            ratios, self.per_bucket, self.rounded, self.circular, self.stride, self.width, self.low, self.high, out
        )
        return out

    def rounded_points(self, places: Floats) -> Floats:
        """The law of an answer at each place, in buckets, one column each: it is rounded to either side of the grid."""
        steps = self.buckets * self.per_bucket
        at = np.clip(places * self.per_bucket, 0, steps)
        before = np.minimum(at.astype(np.int64), steps - 1)
        ends = []
        for point in (before, before + 1):
            inside = (np.arange(self.outputs)[:, None] - self.stride * point) % self.outputs < self.width
            ends.append(np.where(inside, self.high, self.low))
        after = at - before
        return np.asarray(ends[0] * (1 - after) + ends[1] * after)


@compiled
def _forward(shares, per_bucket, rounded, circular, stride, width, low, high, out):
    """Each code opens its window at its start and closes it behind its end; a running sum fills it."""
    outputs = out.shape[0]
    steps = np.zeros(outputs + 1)
    total, over = 0.0, 0.0  # `over`: windows that are open at output 0 because they started before it
    cells = shares.shape[0] * per_bucket
    points = cells + 1 if rounded else cells
    for point in range(points):
        if rounded:
            weight = 0.0
            if point < cells:
                weight += shares[point // per_bucket] / (2 * per_bucket)
            if point > 0:
                weight += shares[(point - 1) // per_bucket] / (2 * per_bucket)
        else:
            weight = shares[point // per_bucket] / per_bucket
        total += weight
        start = stride * point
        if circular and start >= outputs:
            start -= outputs
        end = start + width
        steps[start] += weight
        if end <= outputs:
            steps[end] -= weight
        else:
            steps[end - outputs] -= weight
            over += weight
    level = over
    for y in range(outputs):
        level += steps[y]
        out[y] = low * total + (high - low) * level


@compiled
def _backward(ratios, per_bucket, rounded, circular, stride, width, low, high, out):
    outputs = ratios.shape[0]
    sums = np.empty(outputs + 1)
    sums[0] = 0.0
    for y in range(outputs):
        sums[y + 1] = sums[y] + ratios[y]
    base = low * sums[outputs]
    cells = out.shape[0] * per_bucket
    points = cells + 1 if rounded else cells
    for point in range(points):
        start = stride * point
        if circular and start >= outputs:
            start -= outputs
        end = start + width
        if end <= outputs:
            inside = sums[end] - sums[start]
        else:
            inside = sums[outputs] - sums[start] + sums[end - outputs]
        mean = base + (high - low) * inside
        if rounded:
            if point < cells:
                out[point // per_bucket] += mean / (2 * per_bucket)
            if point > 0:
                out[(point - 1) // per_bucket] += mean / (2 * per_bucket)
        else:
            out[point // per_bucket] += mean / per_bucket


class LevelsTransition(Transition):
    """The law of a report given the leaf: that of its node, in the branch of each level."""

    def __init__(self, branches: Sequence[LevelReports]) -> None:
        self.branches = tuple(branches)
        self.buckets = self.branches[0].sets.codes
        self.outputs = self.branches[-1].cells.stop

    def forward(self, shares: Floats) -> Floats:
        return np.concatenate(
            [
                one.share * one.law(np.add.reduceat(shares, np.arange(0, self.buckets, one.sets.width)))
                for one in self.branches
            ]
        )

    def backward(self, ratios: Floats) -> Floats:
        total = np.zeros(self.buckets)
        for one in self.branches:
            own, (low, high) = ratios[one.cells], one.levels
            nodes = one.share * (low * own.sum() + (high - low) * one.gather(own))
            total += np.repeat(nodes, one.sets.width)[: self.buckets]
        return total


class ShiftTransition(Transition):
    """`high` where a shifted pattern has a 1, else `low`: both products are convolutions around the circle of cells."""

    def __init__(self, channel: Block, sets: ShiftSets, buckets: int) -> None:
        self.buckets, self.outputs, self.cells = buckets, sets.outputs, sets.cells
        self.per_bucket = sets.codes // buckets
        inside = float(units(channel.inside))
        self.high, self.low = inside / sets.size, (1 - inside) / (sets.outputs - sets.size)
        bits = np.array([[bit == "1" for bit in pattern] for pattern in sets.patterns], float)
        self.waves = np.fft.rfft(bits)

    def forward(self, shares: Floats) -> Floats:
        """The probability of each output; of several rows of shares, one row each."""
        codes = np.repeat(shares / self.per_bucket, self.per_bucket, axis=-1)
        waves = np.fft.rfft(codes, self.cells)[..., None, :] * self.waves.conj()
        met = np.fft.irfft(waves, self.cells).reshape(*shares.shape[:-1], -1)
        return np.asarray(self.low * codes.sum(axis=-1)[..., None] + (self.high - self.low) * met)

    def backward(self, ratios: Floats) -> Floats:
        """The transposed product, of each row."""
        rows = ratios.shape[:-1]
        shifts = np.fft.rfft(ratios.reshape(*rows, len(self.waves), self.cells))
        met = np.fft.irfft((shifts * self.waves).sum(axis=-2), self.cells)[..., : self.buckets * self.per_bucket]
        mean = self.low * ratios.sum(axis=-1)[..., None] + (self.high - self.low) * met
        return np.asarray(mean.reshape(*rows, self.buckets, self.per_bucket).mean(axis=-1))


class MixTransition(Transition):
    """One of several transitions, chosen by a coin that a report shows."""

    def __init__(self, shares: Sequence[float], parts: Sequence[Transition]) -> None:
        self.shares, self.parts = tuple(shares), tuple(parts)
        self.buckets = self.parts[0].buckets
        self.ends = np.cumsum([part.outputs for part in self.parts])
        self.outputs = int(self.ends[-1])

    def forward(self, shares: Floats) -> Floats:
        return np.concatenate([own * part.forward(shares) for own, part in zip(self.shares, self.parts, strict=True)])

    def backward(self, ratios: Floats) -> Floats:
        pieces = zip(self.shares, self.parts, np.split(ratios, self.ends[:-1]), strict=True)
        return np.asarray(sum(own * part.backward(piece) for own, part, piece in pieces))

    def likelihood(self, counts: Floats) -> Mixture:
        """Given the coins, whose law says nothing about the shares."""
        pieces = zip(self.parts, np.split(counts, self.ends[:-1]), strict=True)
        return Product([part.likelihood(piece) for part, piece in pieces])


class BucketMixture(Mixture):
    """The likelihood of the shares of buckets given a count of each output."""

    apply = delegated("transition.forward")
    adjoint = delegated("transition.backward")

    def __init__(self, transition: Transition, counts: Floats) -> None:
        self.transition, self.counts = transition, np.asarray(counts, np.float64)
        self.codes, self.n = transition.buckets, float(self.counts.sum())

    def points(self, places: Floats) -> Floats:
        if isinstance(self.transition, WaveTransition) and self.transition.rounded:
            return self.transition.rounded_points(places)
        return super().points(places)


@lru_cache(maxsize=16)
def transition_of(channel: Channel, buckets: int) -> Transition:
    """The transition of a channel whose codes, or the steps of whose grid, fill buckets of equal size."""
    grid = rounding_of(channel)
    cells = channel.inputs if grid is None else grid.steps
    if cells % buckets:
        raise ParameterError(f"A grid of {cells} parts cannot be cut into {buckets} equal buckets.")
    levels = branches_of(channel)
    if levels and buckets == channel.inputs and levels[-1].sets.width == 1:
        return LevelsTransition(levels)
    inner = after_rounding(channel) or channel
    window, block, parts = window_law(inner), block_of(inner), alternatives_of(channel)
    if window is not None:
        return WaveTransition(window, buckets, cells // buckets, grid is not None)
    if block is not None and isinstance(block.sets, ShiftSets) and grid is None:
        return ShiftTransition(block, block.sets, buckets)
    if len(parts) > 1 and grid is None:
        shares = [float(units(weight)) for weight, _ in parts]
        return MixTransition(shares, [transition_of(part, buckets) for _, part in parts])
    outputs = outputs_of(channel)
    if outputs is None or channel.publics:
        raise ParameterError(f"The reports of a {channel.kind} channel are not numbered.")
    if channel.inputs * outputs > MAX_DENSE:
        raise TooLargeError(f"The law of this {channel.kind} channel has {channel.inputs} x {outputs} entries.")
    law = np.array([law_row(channel, code) for code in range(channel.inputs)])
    if grid is not None:
        law = (law[1:] + law[:-1]) / 2
    return DenseTransition(law.reshape(buckets, cells // buckets, outputs).mean(axis=1).T)
