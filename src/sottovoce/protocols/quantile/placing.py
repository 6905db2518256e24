"""Where the next thresholds of a search for a quantile lie."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np

from sottovoce.core.domain import Integers, Interval
from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.quantile.answers import line_of
from sottovoce.protocols.quantile.curve import MOST_BENT, ThresholdCurve
from sottovoce.protocols.quantile.ordered import ratios
from sottovoce.protocols.ranges.bits import RATIO, inside, short

SURE = 3.5  # deviates beyond which the likelihood of rising shares rules places out
REACH = 3.0  # standard errors on either side of the quantile within which thresholds are placed
TAIL = 0.05  # of plausible places on either side, beyond which the share of answers is not counted
STRICT = 1e-9  # by which the measure of plausible places rises at least
WIDE = 2.0  # least standard error for that, in those that all participants would have at the quantile
APART = 1.5  # standard errors between thresholds, to the power 2 / 3
STEEP = 5.0  # squared standard errors of one threshold in the square of a share, to see where most of it lies
PEOPLE = 40  # answers at a threshold, in variances of one answer
FEWEST, MOST, MOST_FIRST = 3, 15, 31  # thresholds of a round
SMALLER = 4  # further thresholds of a piece that reaches down to zero, each smaller by RATIO


@dataclass(frozen=True, slots=True)
class RoundSize:
    """How many are asked about one quantile in the next round, and in all rounds."""

    people: float
    everyone: float
    last: bool


def first_places(ends: tuple[float, float], people: float, variance: float) -> Floats:
    """Evenly spaced thresholds for the first round."""
    count = int(np.clip(people / (PEOPLE * variance), FEWEST, MOST_FIRST))
    return np.asarray(np.linspace(*ends, count + 2)[1:-1])


def next_places(curve: ThresholdCurve, level: float, size: RoundSize) -> Floats:
    """Thresholds spread over the places where the quantile may be.

    Two measures of what is plausible share the thresholds evenly. On the curve, a place is as plausible as the distance
    of its height from the level, in standard errors that include what the shape of the curve within a piece leaves
    open. By the likelihood of rising shares, a piece is as plausible as its likelihood times the root of its width: so
    a heap of answers that the curve does not show is met, too, also where earlier thresholds are crowded elsewhere.
    """
    variance, piece, doubts = float(curve.answers.variance(level)), curve.piece(level), ratios(curve.answers, level)
    possible = np.flatnonzero(doubts <= SURE**2)
    points = curve.points(min(possible[0], piece), max(possible[-1], piece))
    least = WIDE * np.sqrt(variance / size.everyone)
    errors = np.maximum(np.hypot(curve.error(level), points.slack), least)
    scale = np.maximum.accumulate((points.heights - level) / errors)
    chances = np.where(doubts <= REACH**2, np.exp(-doubts / 2), 0.0) * np.sqrt(np.diff(curve.places))
    below = np.concatenate([[0.0], np.cumsum(chances)]) / chances.sum()
    measure = np.clip(scale / REACH, -1, 1) / 2 + np.interp(points.places, curve.places, below)
    measure = (measure - measure[0]) / (measure[-1] - measure[0]) + STRICT * np.arange(len(measure))
    share = float(np.diff(np.interp([TAIL, 1 - TAIL], measure, points.heights))[0])
    # On a straight curve few thresholds are enough; many find a narrow heap that holds most of the share.
    straight = (share / (APART * np.sqrt(variance / size.people))) ** (2 / 3)
    heaped = share**2 * size.people / (STEEP * variance)
    count = int(np.clip(min(max(straight, heaped), size.people / (PEOPLE * variance)), FEWEST, MOST))
    places = np.interp((np.arange(count) + 0.5) / count, measure, points.places)
    if size.last:
        return np.asarray(places)
    weak = [edge for edge in (piece, piece + 1) if curve.asked[edge] < size.people / count]
    return np.concatenate([places, curve.places[weak], _smaller(curve, piece)])


def _smaller(curve: ThresholdCurve, piece: int) -> Floats:
    """Places of other magnitudes, where most of a piece that reaches down to zero may lie close to it."""
    low, high = curve.places[piece], curve.places[piece + 1]
    inner, outer = sorted((abs(low), abs(high)))
    if low < 0 < high or outer <= RATIO**2 * inner or curve.bends()[piece] < MOST_BENT * curve.shares[piece]:
        return np.empty(0)
    magnitudes = outer * RATIO ** -np.arange(1.0, SMALLER + 1)
    return np.asarray(np.sign(low + high) * magnitudes[magnitudes > inner])


def as_thresholds(domain: Integers | Interval, places: Iterable[float], known: Floats) -> list[Decimal]:
    """Different thresholds of few digits near these places; places that were asked about before stay as they are."""
    spacing, wanted = domain.spacing, np.sort(np.asarray(list(places), float))
    if spacing is not None:
        steps = {round(step) for step in ((wanted - float(domain.low)) / float(spacing)).tolist()}
        possible = sorted(Decimal(domain.low) + step * spacing for step in steps)
        return [place for place in possible if domain.low < place <= domain.high]
    everything = np.unique(np.concatenate([wanted, known, line_of(domain)[0]]))
    rounded = []
    for place in wanted.tolist():
        if place in known:
            rounded.append(Decimal(repr(place)))
        else:
            distances = np.abs(everything - place)
            rounded.append(short(place, float(distances[distances > 0].min()) / 4))
    return inside(domain, rounded)
