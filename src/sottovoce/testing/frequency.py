"""Checks of mechanisms for shares, in addition to the contract."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.closed_forms import Guarded
from sottovoce.core.channel.facets import Supporting, facet, need, stages_of
from sottovoce.core.channel.shapes import contrast_of, histogram_of, shared_rates
from sottovoce.core.domain import Integers
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.exact import law
from sottovoce.core.guarantee import PURE, UtilityOptimised
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import Frequency
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.estimate.request import Target
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import require
from sottovoce.testing.coverage import coverage
from sottovoce.testing.statistics import check_rate


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question through a small channel; counted by supports where outputs cannot be counted alike."""
    statistic = mechanism.statistic
    try:
        statistic.check(channel)
    except SpecError:
        statistic = CountSupports()
    question, most = Frequency(Integers(0, channel.inputs - 1)), Decimal(MAX_EPSILON)
    forever = None if stages_of(channel) is None else most
    protects_all = mechanism.guarantee.protects_all
    guarantee = PURE if protects_all else UtilityOptimised(need(channel, Guarded).protected)
    return Mechanism(mechanism.name, question, channel, most, statistic, guarantee=guarantee, claimed_forever=forever)


def check_small(mechanism: Mechanism) -> None:
    """Mean and variance of the shipped estimator of one report agree with the enumerated law."""
    channel = mechanism.channel

    @cache  # codes send the same reports
    def values_of(words: Words, report: int) -> NDArray[np.float64]:
        return from_cells(mechanism, 1, report_cells(mechanism, report, words)).values()

    for code in channel.codes():
        mean = np.zeros(channel.inputs)
        square = np.zeros(channel.inputs)
        for (words, report), probability in law(channel, code).items():
            values = values_of(words, report)
            mean += float(probability) * values
            square += float(probability) * values**2
        truth = np.eye(channel.inputs)[code]
        scale = float(np.sqrt(square.max()))
        require(float(np.abs(mean - truth).max()) < 1e-9 * scale, f"The estimate is biased for code {code}.")
        predicted = mechanism.variance(truth, 1, target="sample")
        error = float(np.abs(square - mean**2 - predicted).max())
        require(error < 1e-9 * scale**2, f"The predicted variance differs from the law for code {code}.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """There is an estimate, intervals cover by the law, and drawn reports have its rates."""
    check_estimable(mechanism)
    check_intervals(mechanism)
    check_drawn_rates(mechanism, seed, reports)


def check_estimable(mechanism: Mechanism) -> None:
    """The shares are estimable at full size too: the matrix of small instances may have an inverse alone."""
    try:
        from_cells(mechanism, 1, np.eye(1, mechanism.cells, dtype=np.int64)[0])
    except ParameterError as problem:
        raise AssertionError(f"{mechanism.name} has no estimate: {problem}") from None


def check_intervals(mechanism: Mechanism) -> None:
    """Exact intervals cover, computed from the law."""
    known = facet(mechanism.channel, Supporting)
    if histogram_of(mechanism.channel) is None and (known is None or known.rates_vary):
        return
    for share in (0.0, 0.05, 0.5):
        for target in Target:
            covered = coverage(mechanism, 300, share, "exact", target)
            require(covered >= 0.95 - 1e-9, f"The exact interval for the {target} covers {covered:.4f} at {share}.")


def check_drawn_rates(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have the rates of the law, and enough of them to notice a rate that is 30 % off."""
    for what, rate, supported in _rate_checks(mechanism):
        count = min(max(reports, math.ceil(2000 / float(min(rate, 1 - rate)))), 2_000_000)
        holder = np.zeros(count, np.uint32)
        batch = draw(mechanism, holder, WordStream.seeded(mechanism.words, seed))
        cells = mechanism.tally(batch).cells
        check_rate(f"{mechanism.name}, {what}", supported(cells, count), count, float(rate))


def _rate_checks(mechanism: Mechanism) -> list[tuple[str, Fraction, Callable[[NDArray[np.int64], int], int]]]:
    """Rates of the first and the last code when everyone holds the first."""
    rates, contrast = shared_rates(mechanism.channel), contrast_of(mechanism.channel)
    last = mechanism.channel.inputs - 1

    def supports(code: int) -> Callable[[NDArray[np.int64], int], int]:
        def count(cells: NDArray[np.int64], n: int) -> int:
            evidence = from_cells(mechanism, n, cells)
            return int((evidence.counts if hasattr(evidence, "counts") else evidence.plus)[code])  # type: ignore[attr-defined]

        return count

    if rates is not None:
        return [("own support", rates.own, supports(0)), ("other support", rates.other, supports(last))]
    if contrast is not None:
        return [("own support", contrast.plus_own, supports(0))]
    return []
