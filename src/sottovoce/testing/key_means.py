"""Checks of mechanisms for keys with numbers, in addition to the contract."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import slots_of
from sottovoce.core.domain import Interval, KeyValue
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import KeyMeans
from sottovoce.estimate.key_means.readings import totals
from sottovoce.estimate.request import Target
from sottovoce.fast.batch import draw
from sottovoce.fast.slots import slot_rows
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import codes_of, require

Floats = NDArray[np.float64]
_STEP = 1e-6  # of a difference quotient


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question through a small channel."""
    slots = slots_of(channel)
    if slots is None:
        raise AssertionError("Keys with numbers need a channel with slots.")
    question = KeyMeans(KeyValue(range(slots.dimensions), Interval(-1, 1), slots.most))
    return Mechanism(mechanism.name, question, channel, Decimal(MAX_EPSILON), mechanism.statistic)


def check_small(mechanism: Mechanism) -> None:
    """Of a crowd with one answer, expected counts give its shares and sums, and the covariance is that of the law."""
    channel = mechanism.channel
    for code in codes_of(channel):
        cells, chances = _cells(mechanism, code)
        mean = chances @ cells
        keys = slots_of(channel).dimensions  # type: ignore[union-attr]
        truth = np.zeros((2, keys))
        for place, number in code:
            truth[:, place] = 1.0, float(number)

        def read(counts: Floats) -> Floats:
            found = totals(channel, 1.0, counts)
            return np.array([found.shares, found.sums])

        own = totals(channel, 1.0, mean)
        scale = float(max(abs(one.scores).max() for one in own.laws)) * max(1.0, *(1 / one.part for one in own.laws))
        require(float(np.abs(read(mean) - truth).max()) < 1e-9 * scale, f"The estimate is biased for code {code}.")
        slopes = np.array([(read(mean + step) - read(mean - step)) / (2 * _STEP) for step in _STEP * np.eye(len(mean))])
        spread = (cells * chances[:, None]).T @ cells - np.outer(mean, mean)
        predicted = own.covariance(Target.POPULATION)  # people with one answer do not differ
        for key in range(keys):
            right = slopes[:, :, key].T @ spread @ slopes[:, :, key]
            wrong = float(np.abs(predicted[key] - right).max())
            require(wrong < 1e-6 * scale**2, f"The covariance of key {key} differs from the law of code {code}.")


def _cells(mechanism: Mechanism, code: Any) -> tuple[Floats, Floats]:
    """The counts of each report, and its probability."""
    reports: dict[Any, Fraction] = law(mechanism.channel, code)
    rows = [report_cells(mechanism, report, words) for words, report in reports]
    return np.array(rows, float), np.array([float(chance) for chance in reports.values()])


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports of a crowd that holds one key have the expected counts of it."""
    slots = slots_of(mechanism.channel)
    if slots is None:
        raise AssertionError("Keys with numbers need a channel with slots.")
    count = max(reports, 400 * slots.dimensions, 40_000)
    row = slot_rows(slots, [((0, Fraction(1)),)])
    batch = draw(mechanism, np.repeat(row, count, axis=0), WordStream.seeded(mechanism.words, seed))
    found = totals(mechanism.channel, count, mechanism.tally(batch).cells)
    for key, truth in ((0, 1.0), (slots.dimensions - 1, 0.0)):
        error = float(np.sqrt(max(found.covariance(Target.POPULATION)[key, 0, 0], 1e-12)))
        require(abs(found.shares[key] - truth) < 6 * error, f"The drawn share of key {key} is {found.shares[key]:.4f}.")
