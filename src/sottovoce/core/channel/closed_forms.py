"""Properties of a law beside its ratio: by a node's closed form if it has one, else by enumeration of the law."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction

from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.facets import Divergent, Extremal, Facet, facet, outputs_of
from sottovoce.core.errors import TooLargeError

MAX_SUMMED = 1 << 18  # entries of a law that are enumerated one by one
MAX_PAIRED = 1 << 20  # of the laws of all pairs of codes


class Guarded(Facet):
    """Some codes may have reports that no other code sends; the ratio of all other reports has a closed form."""

    lacking = "have no closed form for the ratio of those that are protected"
    __slots__ = ()

    @property
    @abstractmethod
    def protected(self) -> frozenset[int]:
        """The codes without a report of their own; all of them for most channels."""

    @abstractmethod
    def guarded_ratio(self, sensitive: frozenset[int]) -> Fraction | None:
        """The ratio over reports that more than one code, or a sensitive one alone, can send; None if infinite."""


def extremes(channel: Channel) -> tuple[list[Fraction], list[Fraction]]:
    """For each output its largest and its smallest likelihood over all codes; zero where no code can report it."""
    known = facet(channel, Extremal)
    return extremes_by_law(channel) if known is None else known.extremes()


def extremes_by_law(channel: Channel) -> tuple[list[Fraction], list[Fraction]]:
    """The `extremes` of a channel, computed from its law output by output."""
    outputs = outputs_of(channel)
    if outputs is None or channel.publics or outputs * channel.inputs > MAX_SUMMED:
        raise TooLargeError(
            f"A {channel.kind} channel has no closed form for its extremes, and is too large to enumerate."
        )
    columns = [
        [channel.likelihood(y, code) for code in channel.codes()] if channel.contains(y) else [Fraction(0)]
        for y in range(outputs)
    ]
    return [max(column) for column in columns], [min(column) for column in columns]


def delta(channel: Channel, odds: Fraction) -> Fraction:
    """Hockey-stick divergence at `odds`, over all pairs of codes.

    The result is the delta that belongs to epsilon = ln(odds), where the ratio is larger or infinite.
    """
    known = facet(channel, Divergent)
    return delta_by_law(channel, odds) if known is None else known.delta(odds)


def delta_by_law(channel: Channel, odds: Fraction) -> Fraction:
    """The `delta` of a channel, computed from its law for each pair of codes."""
    outputs = outputs_of(channel)
    if outputs is None or channel.publics or outputs * channel.inputs**2 > MAX_PAIRED:
        raise TooLargeError(
            f"A {channel.kind} channel has no closed form for its delta, and is too large to enumerate."
        )
    reports = [report for report in range(outputs) if channel.contains(report)]
    rows = [[channel.likelihood(report, code) for report in reports] for code in channel.codes()]
    return max(excess(one, other, odds) for one in rows for other in rows)


def excess(one: Sequence[Fraction], other: Sequence[Fraction], odds: Fraction) -> Fraction:
    """Sum over outputs of max(0, likelihood of one code - `odds` * likelihood of another)."""
    return sum((p - odds * q for p, q in zip(one, other, strict=True) if p > odds * q), Fraction(0))
