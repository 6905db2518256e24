"""Checks of half-sets, in addition to the contract: the share of each set is unbiased, and its variance exact."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from sottovoce.core.channel import Block, Channel, ListedSets
from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Blocked
from sottovoce.core.domain import Integers
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import HalfSets
from sottovoce.core.question.half_sets import FLIPPED
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.estimate.half_sets.evidence import HalfSetsEvidence, shares_of_sets, slope_of
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import require
from sottovoce.testing.statistics import check_rate

SMALLEST = 8  # answers with more than one half-set


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """As many sets of a few more answers than a small channel has, with the probability of the mechanism."""
    asked: Any = mechanism.question  # `HalfSets`
    size = SMALLEST + channel.inputs
    question = HalfSets(Integers(0, size - 1), 3)
    if asked.sets:
        question = HalfSets(question.domain, sets=("1" * 3 + "0" * (size - 3),))
    rows = tuple(row for inside in question.members() for row in (inside, inside.translate(FLIPPED)))
    small = Block(ListedSets(rows), need(mechanism.channel, Blocked).block.inside)
    return Mechanism(mechanism.name, question, small, Decimal(MAX_EPSILON), CountOutputs())


def check_small(mechanism: Mechanism) -> None:
    """Mean and variance of the shipped estimator of one report agree with the enumerated law."""
    channel = mechanism.channel
    for code in channel.codes():
        held = np.eye(channel.inputs)[code]
        truth = shares_of_sets(mechanism, held, "check_small")
        mean, square = np.zeros(len(truth)), np.zeros(len(truth))
        for (words, report), probability in law(channel, code).items():
            values = HalfSetsEvidence(mechanism, 1, report_cells(mechanism, report, words)).values()
            mean += float(probability) * values
            square += float(probability) * values**2
        scale = float(np.sqrt(square.max()))
        require(float(np.abs(mean - truth).max()) < 1e-9 * scale, f"The share of a set is biased for code {code}.")
        error = float(np.abs(square - mean**2 - mechanism.variance(held, 1, target="sample")).max())
        require(error < 1e-9 * scale**2, f"The predicted variance differs from the law for code {code}.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have the rate of the law: they agree with whether the set holds the answer."""
    holder = np.zeros(reports, np.uint32)
    cells = mechanism.tally(draw(mechanism, holder, WordStream.seeded(mechanism.words, seed))).cells
    inside = shares_of_sets(mechanism, np.eye(mechanism.channel.inputs)[0], "check_drawn") == 1
    agreeing = int(np.where(inside, cells[::2], cells[1::2]).sum())
    rate = (1 + slope_of(mechanism)) / 2
    if rate * reports > 1000 and (1 - rate) * reports > 100:
        check_rate(f"{mechanism.name}, true bits", agreeing, reports, rate)
