"""Checks of mechanisms for sparse vectors, in addition to the contract: every place is unbiased."""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from typing import Any

import numpy as np

from sottovoce.core.channel import Channel, Hints, Signs
from sottovoce.core.channel.facets import Summed, need, slots_of
from sottovoce.core.channel.vector.signs import score
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.request import Target
from sottovoce.estimate.vector_mean.sparse import from_cells
from sottovoce.fast.batch import draw
from sottovoce.fast.slots import slot_rows
from sottovoce.fast.words import WordStream
from sottovoce.testing.codes import codes_of, partly_filled, require
from sottovoce.testing.mean import OFF
from sottovoce.testing.statistics import check_mean, reports_for_mean

MOST_WORDS = 1 << 26  # that drawing reports may take


@singledispatch
def sign_of(channel: Channel, report: int, place: int) -> int:
    """The sign of a report at a place: +1, -1 or 0."""
    sets: Any = channel.second.sets  # type: ignore[attr-defined]
    return int(sets.member(2 * place, report)) - int(sets.member(2 * place + 1, report))


@sign_of.register
def _(channel: Signs, report: int, place: int) -> int:
    return 1 if report >> place & 1 else -1


@sign_of.register
def _(channel: Hints, report: int, place: int) -> int:
    return (report >> place & 1) - (report >> (channel.width + place) & 1)


def cells_of(mechanism: Mechanism, report: int) -> Any:
    """The tally of one report."""
    if isinstance(mechanism.statistic, Sums):
        return np.array(need(mechanism.channel, Summed).summands(report), np.int64)
    return np.eye(1, mechanism.cells, report, dtype=np.int64)[0]


def check_small_sparse(mechanism: Mechanism) -> None:
    """Over the enumerated law: the mean reading is exactly the answer, and the predicted variance is right."""
    channel, slots = mechanism.channel, slots_of(mechanism.channel)
    if slots is None:
        raise AssertionError("This channel does not take sparse vectors.")
    scale = score(channel).scale
    for code in codes_of(channel):
        held = {place: slots.grid.number(slots.position(number)) for place, number in code}
        first, second = [Fraction(0)] * slots.dimensions, [Fraction(0)] * slots.dimensions
        for (_, report), probability in law(channel, code).items():
            signs = [sign_of(channel, report, place) for place in range(slots.dimensions)]
            shipped = from_cells(mechanism, 1, cells_of(mechanism, report)).values()
            wrong = np.abs(shipped - float(scale) * np.array(signs)).max()
            require(
                float(wrong) <= 1e-12 * float(scale), "The reading of a tally of one report differs from its signs."
            )
            for place, sign in enumerate(signs):
                first[place] += probability * sign * scale
                second[place] += probability * sign**2 * scale**2
        expected = [held.get(place, Fraction(0)) for place in range(slots.dimensions)]
        require(first == expected, "The mean of some place is biased.")
        exact = np.array([float(b - a**2) for a, b in zip(first, second, strict=True)])
        for target in Target:
            predicted = mechanism.variance(dict(code), 1, target=target)
            error = float(np.abs(predicted - exact).max())
            require(error <= 1e-9 * float(scale) ** 2, "The predicted variance differs from the law.")


def check_drawn_sparse(mechanism: Mechanism, seed: int, reports: int) -> None:
    """At full size: the mean of drawn reports is the answer that all hold, at its entries and beside them."""
    channel, slots = mechanism.channel, slots_of(mechanism.channel)
    if slots is None:
        raise AssertionError("This channel does not take sparse vectors.")
    code = list(partly_filled(slots))[-1]
    reach, off = float(score(channel).scale), OFF * 2 * float(slots.bound)
    variances = mechanism.variance(dict(code), 1, target="sample")
    needed = max(reports, reports_for_mean(float(variances.max()), 2 * reach, off))
    rows = min(needed, MOST_WORDS // (channel.words + 2))
    codes = np.repeat(slot_rows(slots, [code]), rows, axis=0)
    tally = mechanism.tally(draw(mechanism, codes, WordStream.seeded(mechanism.words, seed)))
    values = from_cells(mechanism, tally.n, tally.cells).values()
    truth = dict(code)
    for place in dict.fromkeys((0, slots.dimensions // 2, code[0][0], slots.dimensions - 1)):
        if rows == needed:
            held, name = float(truth.get(place, 0)), f"{mechanism.name}, mean of place {place}"
            check_mean(name, float(values[place]), rows, held, float(variances[place]), 2 * reach, off)
