"""The laws of two answers beside the blanket of a channel: what every answer's law has in common.

A channel's blanket gives each report the least probability that any answer gives it, or less. Others draw from it with
the probability of its total mass, whatever they answer, and such reports hide a person's. For two answers with the laws
a and b only the ratios a / blanket and b / blanket matter, and how likely the blanket gives them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from math import comb

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel import Bits, Channel, Hitting, Public, Subset, Then, Window
from sottovoce.core.channel.facets import outputs_of, rounding_of
from sottovoce.core.channel.shapes import shared_rates
from sottovoce.core.errors import ParameterError
from sottovoce.tally.laws import law_row

Floats = NDArray[np.float64]
ROUNDED = 2e-6  # by which a rounded coin changes the probability of a report, at most
MOST_CELLS = 1 << 23  # of all pairs of answers: answers squared times outputs


@dataclass(frozen=True, slots=True)
class Beside:
    """Two answers beside the blanket: `mass` of the blanket has the ratios `one` and `two` of their laws to it."""

    mass: Floats
    one: Floats
    two: Floats


@singledispatch
def pairs(channel: Channel) -> tuple[Beside, ...]:
    """One entry for each kind of ordered pair of answers; empty where the law is too large to be listed.

    Where a channel rounds first, answers between two grid points mix the laws of both. The loss of a mixture is at most
    the largest of its parts, so the grid points are enough.
    """
    return _listed(channel)


def _listed(channel: Channel) -> tuple[Beside, ...]:
    outputs, answers = outputs_of(channel), channel.inputs
    if outputs is None or answers is None or answers**2 * outputs > MOST_CELLS:
        return ()
    try:
        law = np.array([law_row(channel, code) for code in range(answers)])
    except ParameterError:
        return ()
    return tuple(_of_law(law))


def _of_law(law: Floats) -> Iterator[Beside]:
    """All ordered pairs of rows; pairs with the same ratios and masses once."""
    law = law[:, law.max(axis=0) > 0]  # outputs that no answer gives
    blanket = law.min(axis=0)
    if not (blanket > 0).all():
        return
    ratios, known = np.round(law / blanket, 12), set()
    for first, one in enumerate(ratios):
        for second, two in enumerate(ratios):
            if first == second:
                continue
            kinds, place = np.unique(np.column_stack([one, two]), axis=0, return_inverse=True)
            mass = np.asarray(np.bincount(place.ravel(), blanket), np.float64)
            key = kinds.tobytes() + np.round(mass, 12).tobytes()
            if key not in known:
                known.add(key)
                # A ratio is rounded to 12 digits; what that may have taken away is given back.
                yield Beside(mass * (1 + 1e-10), kinds[:, 0] * (1 + 1e-10), kinds[:, 1])


def _two_levels(ratio: float, alone: float, both: float, neither: float) -> Beside:
    """Reports that `ratio` times as many people send whose answer they support: supported by one, both or neither."""
    mass = np.array([alone, alone, both, neither])
    return Beside(mass, np.array([ratio, 1, ratio, 1]), np.array([1, ratio, ratio, 1]))


@pairs.register
def _(channel: Then) -> tuple[Beside, ...]:
    return pairs(channel.second) if rounding_of(channel) is channel.first else _listed(channel)


@pairs.register
def _(channel: Window) -> tuple[Beside, ...]:
    """The two windows that overlap least; the blanket is the law outside of windows.

    A report that supports one answer spreads the sum further than one that supports both or neither, at the same mean,
    so less overlap loses more.
    """
    width, outputs = channel.width, channel.outputs
    both = max(0, width - (channel.k - 1) * channel.stride)
    outside = (1 - channel.inside / UNIT) / (outputs - width)
    alone, neither = outside * (width - both), outside * (outputs - 2 * width + both)
    return (_two_levels(float(channel.ratio()), alone, outside * both, neither),)


@pairs.register
def _(channel: Subset) -> tuple[Beside, ...]:
    """Some answer lies outside of every set, so the blanket is uniform over all sets."""
    k, w, rest = channel.k, channel.w, 1 - channel.keep / UNIT
    alone, both = rest * w / (k - 1), rest * w * (w - 1) / ((k - 1) * (k - w))
    return (_two_levels(float(channel.ratio()), alone, both, rest * (k - 1 - w) / (k - 1)),)


@pairs.register
def _(channel: Hitting) -> tuple[Beside, ...]:
    """Two people who hold nothing in common, which loses most; the blanket is the law of reports without a hit.

    With an element in common some reports move from "one of them" to "both" and "neither", which spread the sum less at
    the same mean. The coin of the first hit is rounded, by at most a part in a million: the first law is rounded up.
    """
    elements, most, hit = channel.elements, channel.most, channel.hit / UNIT
    every = comb(elements, channel.picked)
    missed = float(Fraction(comb(elements - most, channel.picked), every))
    neither = float(Fraction(comb(elements - 2 * most, channel.picked), every))
    scale = (1 - hit) / missed * (1 - ROUNDED)
    levels = _two_levels(
        float(channel.ratio()), scale * (missed - neither), scale * (1 - 2 * missed + neither), scale * neither
    )
    return (Beside(levels.mass, levels.one * (1 + 4 * ROUNDED), levels.two),)


@pairs.register
def _(channel: Bits) -> tuple[Beside, ...]:
    """One bit for each answer: the blanket is the law of an answer whose bit is not set."""
    if channel.encoding != "onehot" or not isinstance(channel.p, int) or not isinstance(channel.q, int):
        return ()
    p, q = float(units(channel.p)), float(units(channel.q))
    clear = (1 - p) / (1 - q)
    return (_two_levels(float(channel.ratio()), clear * q * (1 - q), clear * q * q, clear * (1 - q) ** 2),)


@pairs.register
def _(channel: Public) -> tuple[Beside, ...]:
    """Public words are part of a report. They map two answers to the same value with a known probability."""
    response, rates = _response(channel.inner), shared_rates(channel)
    if response is None or rates is None:
        return ()
    own, values = response
    other = (1 - own) / (values - 1)
    same = (float(rates.other) - other) / (own - other)  # another answer's value is reported if it is the same
    neither = other * ((1 - same) * (values - 2) + same * (values - 1))
    return (_two_levels(own / other, other * (1 - same), other * same, neither),)


@singledispatch
def _response(inner: Channel) -> tuple[float, int] | None:
    """How often randomized response keeps a value, and of how many; None for other channels."""
    return None


@_response.register
def _(inner: Subset) -> tuple[float, int] | None:
    return (inner.keep / UNIT, inner.k) if inner.w == 1 else None


@_response.register
def _(inner: Bits) -> tuple[float, int] | None:
    return (float(inner.own_rate), 2) if inner.encoding == "signed" and inner.k == 1 else None
