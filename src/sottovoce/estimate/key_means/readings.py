"""Shares of keys and sums of their numbers from counts, with the exact law of what one report says about a key.

A key is absent, held with its number at the lower end, or held with it at the upper end. The numbers lie between -1 and
1. Each kind of report has a small law: what it says about a key, given that state.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from sottovoce.core.arithmetic.rational import units
from sottovoce.core.channel import AskedKey, Channel, KeyEnds, SampledKey
from sottovoce.core.statistic.ends import item_channels
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.request import Target

_STATES = np.array([[0.0, 0.0], [1.0, -1.0], [1.0, 1.0]])  # what each state adds to the share and to the sum


class StateLaw(NamedTuple):
    """What reports of one kind say about a key.

    Attributes:
        part: how many of all reports are of this kind; for a key that ids choose, those about it.
        classes: the probability of each thing that a report can say, one row for each state.
        scores: the share and the sum that each of these is read as; their mean is right in each state.
    """

    part: float
    classes: Floats
    scores: Floats

    def rarest(self) -> float:
        """The probability of the rarest thing that makes a twentieth of the noise of a key that nobody holds."""
        noise = self.classes[0][:, None] * self.scores**2
        loud = (noise >= noise.sum(axis=0) / 20).any(axis=1) & (self.classes[0] > 0)
        return float(self.classes[0][loud].min())

    def moments(self, states: Floats) -> Floats:
        """The covariance of share and sum of one report, where these shares of people are in each state."""
        chances = states @ self.classes
        mean = chances @ self.scores
        squares = np.einsum("kc,ca,cb->kab", chances, self.scores, self.scores)
        return np.asarray(squares - mean[:, :, None] * mean[:, None, :])


@dataclass(frozen=True, slots=True, eq=False)
class KeyTotals:
    """Unbiased shares of keys and sums of their numbers, each divided by the number of people.

    `laws`, `reports` and `weights` belong to the kinds of reports; `reports` has a number for each key, and `weights`
    says how much each kind counts for the share. The last kind tells the sum.
    """

    n: float
    shares: Floats
    sums: Floats
    laws: tuple[StateLaw, ...]
    reports: tuple[Floats, ...]
    weights: Floats

    def covariance(self, target: Target) -> Floats:
        """The 2 x 2 covariance of share and sum of each key."""
        shares = np.clip(self.shares, 0.0, 1.0)
        sums = np.clip(self.sums, -shares, shares)
        states = np.stack([1 - shares, (shares - sums) / 2, (shares + sums) / 2], axis=1)
        total = np.zeros((len(shares), 2, 2))
        for place, (law, count) in enumerate(zip(self.laws, self.reports, strict=True)):
            tells = np.array([1.0, float(place == len(self.laws) - 1)])
            factor = np.stack([self.weights[place], np.ones_like(shares)], axis=1) * tells
            part = law.moments(states) / np.maximum(count, 1e-300)[:, None, None]
            total += part * factor[:, :, None] * factor[:, None, :]
        if target == Target.SAMPLE:
            total -= _people(shares, sums) / self.n
        return total


def _people(shares: Floats, sums: Floats) -> Floats:
    """The least covariance of the answers themselves: that of people who all give the same number."""
    square = np.divide(sums**2, shares, out=np.zeros_like(sums), where=shares > 0)
    mixed = sums * (1 - shares)
    return np.stack([np.stack([shares * (1 - shares), mixed], 1), np.stack([mixed, square - sums**2], 1)], 1)


def totals(channel: Channel, n: float, cells: Any) -> KeyTotals:
    """The totals of a tally; cells may be expectations."""
    laws = key_laws(channel)
    return _read(channel, laws, float(n), np.asarray(cells, float))


def expected(channel: Channel, n: float, shares: Floats, sums: Floats) -> KeyTotals:
    """The totals that n people with these shares and sums lead to on average."""
    laws = key_laws(channel)
    reports = tuple(np.full(len(shares), n * law.part) for law in laws)
    return KeyTotals(n, shares, sums, laws, reports, _weights(laws, reports))


def _weights(laws: tuple[StateLaw, ...], reports: tuple[Floats, ...]) -> Floats:
    """How much each kind of report counts for the share: by its variance for a key that nobody holds."""
    nobody = np.array([[1.0, 0.0, 0.0]])
    precision = np.array([count / law.moments(nobody)[0, 0, 0] for law, count in zip(laws, reports, strict=True)])
    return np.asarray(precision / np.where(precision.sum(axis=0) > 0, precision.sum(axis=0), 1.0))


@singledispatch
def key_laws(channel: Channel) -> tuple[StateLaw, ...]:
    """The laws of all kinds of reports of a channel."""
    raise TypeError(f"The reports of a {channel.kind} channel say nothing about keys with numbers.")


@singledispatch
def _read(channel: Channel, laws: tuple[StateLaw, ...], n: float, cells: Floats) -> KeyTotals:
    """The totals of a tally of a channel."""
    raise NotImplementedError(channel.kind)


def _solved(part: float, classes: Floats) -> StateLaw:
    """The law with the unbiased scores of least variance for a key that nobody holds."""
    scaled = classes / classes[0]
    return StateLaw(part, classes, scaled.T @ np.linalg.solve(scaled @ classes.T, _STATES))


def _counted(laws: tuple[StateLaw, ...], n: float, counts: Floats, reports: Floats) -> KeyTotals:
    """The totals of counts[key, class] of so many reports about each key."""
    (law,) = laws
    shares, sums = (counts @ law.scores / np.maximum(reports, 1e-300)[:, None]).T
    return KeyTotals(n, shares, sums, laws, (reports,), np.ones((1, len(shares))))


# --- one key of the list ------------------------------------------------------------------------------------------
@key_laws.register
def _(channel: AskedKey) -> tuple[StateLaw, ...]:
    states = [[channel.inner.likelihood(report, state) for report in range(channel.outputs)] for state in range(3)]
    return (_solved(1 / channel.dimensions, np.array(states, float)),)


@_read.register
def _(channel: AskedKey, laws: tuple[StateLaw, ...], n: float, cells: Floats) -> KeyTotals:
    counts = cells.reshape(channel.dimensions, channel.outputs)
    return _counted(laws, n, counts, counts.sum(axis=1))


# --- one key that is held -----------------------------------------------------------------------------------------
@key_laws.register
def _(channel: SampledKey) -> tuple[StateLaw, ...]:
    """What a report says: another key, or this one with each report of its number."""
    keyed = channel.keyed
    own, other = map(float, keyed.key.rates())  # type: ignore[arg-type]
    neutral = other * np.array([float(units(weight)) for weight in keyed.neutral])
    rows = [neutral]
    for end in (-channel.bound, channel.bound):
        law = [float(keyed.inner.likelihood(report, Fraction(end))) for report in range(keyed.inner_outputs)]
        rows.append((own * np.array(law) + (channel.most - 1) * neutral) / channel.most)
    return (_solved(1.0, np.array([[1 - row.sum(), *row] for row in rows])),)


@_read.register
def _(channel: SampledKey, laws: tuple[StateLaw, ...], n: float, cells: Floats) -> KeyTotals:
    named = cells.reshape(-1, channel.keyed.inner_outputs)[: channel.dimensions]
    counts = np.column_stack([n - named.sum(axis=1), named])
    return _counted(laws, n, counts, np.full(len(named), n))


# --- sets of keys and of ends -------------------------------------------------------------------------------------
@key_laws.register
def _(channel: KeyEnds) -> tuple[StateLaw, ...]:
    """Keys: missing or named. Ends: none, the lower, the upper, or both are named."""
    plain, ends = item_channels(channel)
    about_ends = float(units(channel.weight))
    own, other = map(float, plain.item_rates())
    scores = np.array([[-other, 0.0], [1 - other, 0.0]]) / (own - other)
    keys = StateLaw(1 - about_ends, np.array([[1 - other, other], [1 - own, own], [1 - own, own]]), scores)
    own, other = map(float, ends.item_rates())
    _, one, neither = map(float, ends.pair_rates())
    rows = [(low, high, both) for low, high, both in ((other, other, neither), (own, other, one), (other, own, one))]
    classes = np.array([[1 - low - high + both, low - both, high - both, both] for low, high, both in rows])
    named = np.array([[0.0, 0.0], [1.0, -1.0], [1.0, 1.0], [2.0, 0.0]])
    return keys, StateLaw(about_ends, classes, (named - np.array([2 * other, 0.0])) / (own - other))


@_read.register
def _(channel: KeyEnds, laws: tuple[StateLaw, ...], n: float, cells: Floats) -> KeyTotals:
    plain, ends = item_channels(channel)
    keys, about_ends = channel.dimensions, cells[0]
    reports = tuple(np.full(keys, count) for count in (n - about_ends, about_ends))
    weights, start = _weights(laws, reports), 1 + plain.elements
    (own, other), (fine, coarse) = (tuple(map(float, sets.item_rates())) for sets in (plain, ends))
    from_keys = (cells[1 : 1 + keys] / max(n - about_ends, 1e-300) - other) / (own - other)
    high, low = cells[start : start + 2 * keys].reshape(keys, 2).T / max(about_ends, 1e-300) / (fine - coarse)
    shares = weights[0] * from_keys + weights[1] * (low + high - 2 * coarse / (fine - coarse))
    return KeyTotals(n, shares, high - low, laws, reports, weights)
