"""Reports of a tally read as numbers: all readings, and their mean and variance exactly."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.facets import Scale, outputs_of, scales_of
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.evidence import Floats, Ints

_SAFE = 1 << 62


class ReadSums(NamedTuple):
    """Number, mean and sample variance of the readings, exactly; a single report has no variance."""

    n: int
    mean: Fraction
    variance: Fraction | None


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """The distinct readings, their counts, and the range of possible readings."""

    numbers: Floats
    counts: Ints
    low: float
    high: float
    sums: ReadSums


def scale_of(channel: Channel, origin: Fraction) -> tuple[list[Scale], list[int]]:
    """How outputs are read as answers, and where each scale ends; `origin` maps codes to answers."""
    scales, outputs = scales_of(channel), outputs_of(channel)
    if scales is None or outputs is None:
        raise ParameterError(f"The reports of this {channel.kind} channel are not read as numbers.")
    moved = [Scale(first, start - origin * slope, slope) for first, start, slope in scales]
    return moved, [*(scale.first for scale in moved[1:]), outputs]


def numbers_at(scales: list[Scale], ends: list[int], outputs: Ints) -> Floats:
    """The reading of each of these outputs."""
    numbers = np.empty(len(outputs))
    for scale, end in zip(scales, ends, strict=True):
        here = (outputs >= scale.first) & (outputs < end)
        # Apart from its whole part an origin is small, so that the difference is exact.
        whole = round(scale.origin)
        numbers[here] = (outputs[here] - whole - float(scale.origin - whole)) / float(scale.slope)
    return numbers


def read(channel: Channel, cells: Ints, origin: Fraction) -> Readings:
    """The readings of a tally of outputs."""
    scales, ends = scale_of(channel, origin)
    used = np.flatnonzero(cells)
    borders = [s.read(output) for s, end in zip(scales, ends, strict=True) for output in (s.first, end - 1)]
    sums = exact_sums(scales, ends, used, cells[used])
    numbers = numbers_at(scales, ends, used)
    return Readings(numbers, cells[used], float(min(borders)), float(max(borders)), sums)


def exact_sums(scales: list[Scale], ends: list[int], outputs: Ints, counts: Ints) -> ReadSums:
    """Sums over whole numbers, combined as fractions: only the result is a float."""
    stretches = [(outputs >= scale.first) & (outputs < end) for scale, end in zip(scales, ends, strict=True)]
    powers = [_power_sums(outputs[h] - s.first, counts[h]) for s, h in zip(scales, stretches, strict=True)]
    return sums_of_powers(scales, powers)


def sums_of_powers(scales: Sequence[Scale], powers: Iterable[Sequence[int]]) -> ReadSums:
    """From n, the sum and the sum of squares of the outputs of each stretch, counted from its first output on."""
    total, first, second = 0, Fraction(0), Fraction(0)
    for (start, origin, slope), (n, linear, square) in zip(scales, powers, strict=True):
        shift = start - origin
        total += n
        first += (linear + n * shift) / slope
        second += (square + 2 * shift * linear + n * shift**2) / slope**2
    mean = first / total
    variance = (second - total * mean**2) / (total - 1) if total > 1 else None
    return ReadSums(total, mean, variance)


def _power_sums(places: Ints, counts: Ints) -> tuple[int, int, int]:
    """Sums of counts, of counts times places and of counts times their squares, in integers that do not overflow."""
    largest = int(places.max(initial=0))
    n = sum(map(int, counts))
    if n * largest**2 < _SAFE:
        return n, int(np.dot(counts, places)), int(np.dot(counts, places**2))
    pairs = list(zip(map(int, counts), map(int, places), strict=True))
    return n, sum(c * y for c, y in pairs), sum(c * y * y for c, y in pairs)
