"""Answers far beyond a range: where to look for them, and whether enough is known.

A range search extrapolates the share beyond a range from larger shares nearer by. A few percent of the answers at one
far place would not be seen so, and would bias the mean by far more than all else. So some participants are asked about
thresholds far beyond the range; more are asked only while their answers look like such a place.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.ranges.tails import Tail

APART = 1.3  # times the distance of the end: thresholds from here on are far
FIRST = 6  # thresholds far beyond an end
CLOSER = 3  # thresholds where the outermost answers were found
SUSPECT = (0.8, 1.5, 2.0, 2.4)  # standard errors above what the tail explains, for a further round
PLACED = 1.15  # ratio of two thresholds between which the outermost answers lie: close enough


def far_distances(tail: Tail, end: float, asked: int) -> list[float]:
    """Distances from the centre for the next round about answers far beyond an end; none where it is settled.

    `asked` is how many rounds about far answers there were. The first is always asked if there is room.
    """
    start = APART * end
    if start * APART >= tail.reach:
        return []
    if not asked:
        return [float(place) for place in np.geomspace(start, tail.reach, FIRST + 1)[:-1]]
    places = tail.bits.thresholds
    inner, outer, _ = tail.outermost
    if inner >= start:
        return [] if outer <= PLACED * inner else [float(p) for p in np.geomspace(inner, outer, CLOSER + 2)[1:-1]]
    last = suspected(tail, start, SUSPECT[min(asked, len(SUSPECT)) - 1])
    return [] if last is None else [float(place) for place in places[_often(tail, start) & (places <= last)]]


def _often(tail: Tail, start: float) -> NDArray[np.bool_]:
    """The far thresholds about which many were asked: those of rounds about far answers."""
    far = tail.bits.thresholds >= start
    return np.asarray(far & (3 * tail.bits.asked >= tail.bits.asked[far].max(initial=0.0)))


def suspected(tail: Tail, start: float, least: float) -> float | None:
    """The last threshold of the far answers that stand out most, if they do by so many standard errors; or None."""
    bits, often = tail.bits, _often(tail, start)
    if not often.any():
        return None
    asked, shares, places = bits.asked[often], bits.shares[often], bits.thresholds[often]
    nearer = Tail(bits.within(start), tail.reach)  # a tail fitted to far answers too would explain them
    counts, sums = np.cumsum(asked), np.cumsum(asked * (shares - nearer.share_beyond(places)))
    deviations = _deviations(sums, counts, (bits.own - bits.other) ** 2)
    best = int(np.argmax(deviations))
    return float(places[best]) if deviations[best] > least else None


def _deviations(sums: Floats, counts: Floats, worth: float) -> Floats:
    """Means of answers over their standard errors."""
    return np.asarray(sums / np.maximum(counts, 1) / np.sqrt(0.25 / worth / np.maximum(counts, 1)))


def least_for_far(worth: float) -> int:
    """The participants from which on looking far beyond a range can find something: few answers tell nothing."""
    return math.ceil(10_000 / worth)
