"""Checks of mechanisms for means by group, in addition to the contract."""

from __future__ import annotations

from decimal import Decimal
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Keyed
from sottovoce.core.channel.facets import rounding_of, scales_of
from sottovoce.core.channel.shapes import is_clamped, keyed_of
from sottovoce.core.domain import Integers, Interval
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import GroupMean
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import Tally, report_cells
from sottovoce.testing.codes import codes_of, require
from sottovoce.testing.statistics import check_rate


def keyed_channel(mechanism: Mechanism) -> Keyed:
    """The channel, which must be a keyed one."""
    keyed = keyed_of(mechanism.channel)
    if keyed is None:
        raise AssertionError("Means by group need a keyed channel.")
    return keyed


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question asked through a small channel."""
    keyed = keyed_of(channel)
    rounding = None if keyed is None else rounding_of(keyed.inner)
    if keyed is None or rounding is None:
        raise AssertionError("The values of groups must be numbers that are rounded first.")
    question = GroupMean(Integers(0, keyed.key.inputs - 1), Interval(rounding.low, rounding.high))
    return Mechanism(mechanism.name, question, channel, Decimal(MAX_EPSILON), mechanism.statistic)


def check_small(mechanism: Mechanism) -> None:
    """Sizes and sums of one report are unbiased over the enumerated law; sums up to the bias of clamped noise."""
    channel = keyed_channel(mechanism)
    if scales_of(channel.inner) is None:
        return  # a coarse stand-in, for the law only

    @cache  # codes send the same reports
    def read(report: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        estimate = mechanism.estimate(Tally(mechanism, 1, report_cells(mechanism, report)))
        return estimate.sizes.values, estimate.sums.values

    for group, value in codes_of(channel):
        sizes, sums = np.zeros(channel.key.inputs), np.zeros(channel.key.inputs)
        for (_, report), probability in law(channel, (group, value)).items():
            shares, totals = read(report)
            sizes += float(probability) * shares
            sums += float(probability) * totals
        held = np.arange(channel.key.inputs) == group
        scale = 1 + float(abs(value)) + float(np.abs(sums).max())
        require(float(np.abs(sizes - held).max()) < 1e-9, f"The sizes are biased for group {group}.")
        if not is_clamped(channel.inner):
            wrong = float(np.abs(sums - held * float(value)).max())
            require(wrong < 1e-8 * scale, f"The sums are biased for group {group}.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn keys support groups at the rates of the law, and enough of them to notice a rate that is 30 % off."""
    channel = keyed_channel(mechanism)
    rates = channel.key.rates()
    if rates is None:
        raise AssertionError("A key must have support rates.")
    own, other = float(rates[0]), float(rates[1])
    count = max(reports, int(4000 / min(own, other, 1 - own, 1 - other)))
    codes = np.zeros((count, 2), np.uint64)
    batch = draw(mechanism, codes, WordStream.seeded(mechanism.words, seed))
    cells = mechanism.tally(batch).cells.reshape(channel.key.inputs, -1).sum(axis=1)
    check_rate(f"{mechanism.name}, own group", int(cells[0]), count, own)
    check_rate(f"{mechanism.name}, last group", int(cells[-1]), count, other)
