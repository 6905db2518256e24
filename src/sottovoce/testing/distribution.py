"""Checks of mechanisms for distributions, in addition to the contract: the unbiased shares of buckets."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.facets import rounding_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.domain import Circle, Domain, Integers, Interval
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.sums import Sums
from sottovoce.estimate.distribution.evidence import buckets_of, from_cells, from_sums, functional_variances
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.laws import law_at
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import loosest, require
from sottovoce.testing.statistics import check_mean, check_rate, reports_for_mean

HELD = Fraction(7, 10)  # of the way through the codes: the answer of everyone when reports are drawn
REPORTS = 10_000  # of an estimate at full size


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question asked through a small channel."""
    grid = rounding_of(channel)
    domain: Domain = Integers(0, channel.inputs - 1)
    if grid is not None:
        around = mechanism.question.domain.circular
        domain = Circle(grid.high) if around else Interval(grid.low, grid.high)
    promise = loosest(mechanism.guarantee)
    claimed = Decimal(MAX_EPSILON)
    return Mechanism(mechanism.name, Distribution(domain), channel, claimed, mechanism.statistic, guarantee=promise)


def check_small(mechanism: Mechanism) -> None:
    """The law of each bucket, its unbiased shares and their variance agree with the enumerated law of the codes."""
    if isinstance(mechanism.statistic, Sums):
        check_sums(mechanism)
        return
    laws = bucket_laws(mechanism)
    buckets = len(laws)
    blank = np.zeros(mechanism.cells, np.int64)
    transition = from_cells(mechanism, 1, blank).transition
    single = np.column_stack(
        [from_cells(mechanism, 1, one).values() for one in np.eye(mechanism.cells, dtype=np.int64)]
    )
    told = projection(np.array(laws))
    for bucket, exact in enumerate(laws):
        truth = np.eye(buckets)[bucket]
        predicted_law = transition.forward(truth)
        require(
            float(np.abs(predicted_law - exact).max()) < 1e-12,
            f"The law of bucket {bucket} differs from that of its codes.",
        )
        mean, square = single @ exact, single**2 @ exact
        scale = float(np.sqrt(square.max()))
        off = float(np.abs(mean - told[:, bucket]).max())
        require(off < 1e-9 * scale, f"The estimate is biased for bucket {bucket}.")
        predicted = mechanism.variance(truth, 1, target="population")
        error = float(np.abs(square - mean**2 - predicted).max())
        require(error < 1e-9 * scale**2, f"The predicted variance differs from the law for bucket {bucket}.")
    ratios = np.arange(1.0, mechanism.cells + 1)
    back = np.array([ratios @ exact for exact in laws])
    require(bool(np.allclose(transition.backward(ratios), back, rtol=1e-12)), "The transposed product is wrong.")


def projection(laws: np.ndarray) -> np.ndarray:
    """What reports with these laws, one row for each bucket, determine of the shares: all, or the span of the laws."""
    vectors, sizes, _ = np.linalg.svd(laws)
    kept = vectors[:, : int((sizes > 1e-12 * sizes.max()).sum())]
    return np.asarray(kept @ kept.T)


def check_sums(mechanism: Mechanism) -> None:
    """Where a report adds to all bins, their unbiased shares and the covariance agree with the enumerated law."""

    @cache  # codes send the same reports
    def values_of(words: Words, report: int) -> NDArray[np.float64]:
        return from_sums(mechanism, 1, report_cells(mechanism, report, words)).values()

    for code in mechanism.channel.codes():
        truth = np.eye(mechanism.cells)[code]
        mean, second = np.zeros(mechanism.cells), np.zeros((mechanism.cells, mechanism.cells))
        for (words, report), probability in law(mechanism.channel, code).items():
            values = values_of(words, report)
            mean += float(probability) * values
            second += float(probability) * np.outer(values, values)
        scale = float(np.sqrt(second.max()))
        require(float(np.abs(mean - truth).max()) < 1e-9 * scale, f"The estimate is biased for code {code}.")
        predicted = mechanism.variance(truth, 1, target="population")
        error = float(np.abs(np.diag(second) - mean**2 - predicted).max())
        require(error < 1e-9 * scale**2, f"The predicted variance differs from the law for code {code}.")
        row = np.arange(1.0, mechanism.cells + 1)
        computed = float(functional_variances(mechanism, row[None], truth)[0])
        exact = float(row @ second @ row - (row @ mean) ** 2)
        require(abs(computed - exact) < 1e-9 * scale**2 * len(row) ** 3, f"The covariance is wrong for code {code}.")


def bucket_laws(mechanism: Mechanism) -> list[np.ndarray]:
    """The enumerated law of each bucket: the mean over its codes, or over the steps of its grid, of their two ends."""
    channel, grid = mechanism.channel, rounding_of(mechanism.channel)
    rows = [_row(channel, code, mechanism.cells) for code in channel.codes()]
    if grid is not None:
        rows = [[(a + b) / 2 for a, b in zip(one, two, strict=True)] for one, two in pairwise(rows)]
    size = len(rows) // len(buckets_of(mechanism, 1))
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    return [np.array([float(sum(column, Fraction(0)) / size) for column in zip(*part, strict=True)]) for part in parts]


def _row(channel: Channel, code: object, outputs: int) -> list[Fraction]:
    law_of_code = law(channel, code)
    return [sum((p for (_, report), p in law_of_code.items() if report == y), Fraction(0)) for y in range(outputs)]


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """There is an estimate at full size, and drawn reports have the rate of the outputs near their answer."""
    channel, grid = mechanism.channel, rounding_of(mechanism.channel)
    if isinstance(mechanism.statistic, Sums):
        check_drawn_sums(mechanism, seed, reports)
        return
    if grid is None:
        code = int(HELD * channel.inputs)
        row, codes = law_at(channel, code), np.full(reports, code, np.uint32)
    else:
        place = int(HELD * (grid.steps << PLACES))
        row, codes = law_at(channel, grid.number(place)), np.full(reports, place, np.uint64)
    cells = mechanism.tally(draw(mechanism, codes, WordStream.seeded(mechanism.words, seed))).cells
    near = row > (row.max() + row.min()) / 2
    check_rate(f"{mechanism.name}, outputs near the answer", int(cells[near].sum()), reports, float(row[near].sum()))
    evidence = from_cells(mechanism, REPORTS, cells)
    total = float(evidence.functional(np.ones(len(evidence.buckets))).values[0])
    require(abs(total - reports / REPORTS) < 1e-6 * reports / REPORTS, "The unbiased shares do not sum to one.")


def check_drawn_sums(mechanism: Mechanism, seed: int, reports: int) -> None:
    """The shares of drawn reports are those of their answer, and enough of them to notice a share that is 30 % off."""
    truth = np.eye(mechanism.cells)[0]
    variance = float(functional_variances(mechanism, truth[None], truth)[0])
    reach = from_sums(mechanism, 1, np.zeros(mechanism.cells, np.int64)).reach_of(truth)
    count = max(reports, reports_for_mean(variance, reach, 0.3))
    batch = draw(mechanism, np.zeros(count, np.uint32), WordStream.seeded(mechanism.words, seed))
    evidence = from_sums(mechanism, count, mechanism.tally(batch).cells)
    check_mean(f"{mechanism.name}, own share", float(evidence.values()[0]), count, 1.0, variance, reach, 0.3)
    require(abs(float(evidence.values().sum()) - 1) < 1e-9, "The unbiased shares do not sum to one.")
