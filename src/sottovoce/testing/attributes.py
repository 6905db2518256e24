"""Checks of mechanisms for several attributes, in addition to the contract: each attribute is unbiased."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from sottovoce.core.channel import Channel, Fakes
from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.domain import Domain, Integers, Interval, Record
from sottovoce.core.exact import law
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import Attributes
from sottovoce.core.statistic.each import CountEach
from sottovoce.estimate.attributes.evidence import from_cells, part_cells, part_mechanisms
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import codes_of, require
from sottovoce.testing.statistics import check_rate


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question asked through a small channel."""
    record = Record({f"part {place}": _domain(part) for place, part in enumerate(channel.parts)})
    return Mechanism(mechanism.name, Attributes(record), channel, Decimal(MAX_EPSILON), CountEach())


def _domain(part: Channel) -> Domain:
    grid = rounding_of(part)
    return Integers(0, part.inputs - 1) if grid is None else Interval(grid.low, grid.high)


def _truth(mechanism: Mechanism, code: Any) -> dict[str, Any]:
    """What everyone holds: all shares of one value, or a number."""
    question: Any = mechanism.question  # `Attributes`
    return {
        name: float(own) if part.size is None else np.eye(part.size)[own]
        for (name, part), own in zip(question.fields_of, code, strict=True)
    }


def check_small(mechanism: Mechanism) -> None:
    """Mean and variance of the shipped estimator of one report agree with the enumerated law, for every code."""
    for code in codes_of(mechanism.channel):
        truth = _truth(mechanism, code)
        expected = np.concatenate([np.atleast_1d(one) for one in truth.values()])
        mean, square = np.zeros(len(expected)), np.zeros(len(expected))
        for (words, report), probability in law(mechanism.channel, code).items():
            values = from_cells(mechanism, 1, report_cells(mechanism, report, words)).values()
            mean += float(probability) * values
            square += float(probability) * values**2
        scale = float(np.sqrt(np.max(square)))
        require(float(np.abs(mean - expected).max()) < 1e-9 * scale, f"An attribute is biased for code {code}.")
        predicted = mechanism.variance(truth, 1, target="sample")
        error = float(np.abs(square - mean**2 - predicted).max())
        require(error < 1e-9 * scale**2, f"The predicted variance differs from the law for code {code}.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Each attribute by itself at full size; where fakes stand beside it, drawn reports have its marginal rates."""
    channel = mechanism.channel
    if not isinstance(channel, Fakes):
        for part in part_mechanisms(mechanism):
            load(f"testing.{part.question.room}:check_drawn")(part, seed, reports)
        return
    codes = np.zeros((max(reports, 100_000), len(channel.channels)), np.uint64)
    cells = mechanism.tally(draw(mechanism, codes, WordStream.seeded(mechanism.words, seed))).cells
    for place, own in enumerate(part_cells(mechanism, cells)):
        rates = channel.marginal(place)
        check_rate(f"{mechanism.name}, own value of part {place}", int(own[0]), len(codes), float(rates.own))
        check_rate(f"{mechanism.name}, last value of part {place}", int(own[-1]), len(codes), float(rates.other))
