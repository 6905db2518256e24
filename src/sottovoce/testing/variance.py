"""Checks of mechanisms for a variance, in addition to the contract: a number and its square, side by side."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Bundled, each_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.estimate.variance.evidence import from_both, parts
from sottovoce.fast.batch import draw
from sottovoce.fast.kernels.compose.each import unpacked
from sottovoce.fast.words import WordStream
from sottovoce.testing import mean
from sottovoce.testing.codes import batch_of_codes, require


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The channels of the number and of its square through smaller ones; a single one is a mean by itself."""
    parallel = each_of(channel)
    if parallel is None or len(parallel.channels) == 1:
        return mean.instance(parts(mechanism)[0], channel if parallel is None else parallel.channels[0])
    return Mechanism(
        mechanism.name,
        mechanism.question,
        channel,
        Decimal(MAX_EPSILON),
        mechanism.statistic,
        domain=mechanism.domain,
    )


def check_small(mechanism: Mechanism) -> None:
    """The two readings are unbiased over the enumerated law. Their independence is checked by the law of the whole."""
    for part in parts(mechanism) if each_of(mechanism.channel) is not None else (mechanism,):
        mean.check_small(mean.instance(part, part.channel))  # its answers are its codes


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Each reading at full size; a tally of both agrees with a tally of each alone, and with the products of single
    reports."""
    pair = parts(mechanism)
    for part in pair:
        mean.check_drawn(part, seed, reports)
    channel = need(mechanism.channel, Bundled).bundle
    codes = batch_of_codes(channel, seed, 400)
    batch = draw(mechanism, codes, WordStream.seeded(mechanism.words, seed))
    spread = from_both(mechanism.tally(batch))
    (number,) = spread.also
    readings = []
    for part, (_, own) in zip(pair, unpacked(channel, batch.payload), strict=True):
        readings.append(mean.numbers(part)[own.astype(np.int64)])
    require(bool(np.isclose(number.values()[0], readings[0].mean(), rtol=1e-9)), "The number is read differently.")
    require(
        bool(np.isclose(float(spread.square.mean), readings[1].mean(), rtol=1e-9)), "The square is read differently."
    )
    crossed = float(np.cov(readings[0], readings[1])[0, 1])
    scale = float(np.std(readings[0]) * np.std(readings[1]))
    require(abs(float(spread.joint or 0) - crossed) <= 1e-9 * scale, "The covariance is read differently.")
