"""Checks of mechanisms for sets of items, in addition to the contract."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.facets import need
from sottovoce.core.channel.finite.hitting import held_elements
from sottovoce.core.channel.shapes import Itemised
from sottovoce.core.domain import Sets
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import SetShares
from sottovoce.core.statistic.asked import CountAsked, asked_bits
from sottovoce.estimate.request import Target
from sottovoce.estimate.set_shares.evidence import ItemShares, from_cells
from sottovoce.estimate.set_shares.pairs import PairScores
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import batch_of_codes, require
from sottovoce.testing.coverage import coverage
from sottovoce.testing.statistics import check_rate

Floats = NDArray[np.float64]
Law = dict[tuple[Words, int], Fraction]
ROUNDED = Fraction(1, 1 << 40)  # rates are those of a coin that is not rounded


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question through a small channel."""
    items, most = _bounds(channel)
    question = SetShares(Sets(range(items), most))
    return Mechanism(mechanism.name, question, channel, Decimal(MAX_EPSILON), mechanism.statistic)


def _bounds(channel: Channel) -> tuple[int, int]:
    """The number of items, and the most of an answer."""
    known: Any = channel
    return known.items, known.most


def check_small(mechanism: Mechanism) -> None:
    """Mean and variance of the shipped estimators of one report agree with the enumerated law."""
    rates = _check_bits if isinstance(mechanism.statistic, CountAsked) else _check_rates
    for code in mechanism.channel.codes():
        reports = law(mechanism.channel, code)
        rates(mechanism, code, reports)
        _check_moments(mechanism, code, reports)


def _check_rates(mechanism: Mechanism, code: int, reports: Law) -> None:
    """Rates of single elements and of pairs."""
    known = need(mechanism.channel, Itemised)
    held = set(held_elements(code, known.items, known.most))
    rates, pairs = known.item_rates(), known.pair_rates()
    for element in range(known.elements):
        rate = sum((p for (words, one), p in reports.items() if known.holds(one, element, words)), Fraction(0))
        right = rates.own if element in held else rates.other
        require(abs(rate - right) < ROUNDED, f"The rate of element {element} differs from the law of set {code}.")
    for a, b in combinations(range(known.elements), 2):
        both = (p for (words, one), p in reports.items() if known.holds(one, a, words) and known.holds(one, b, words))
        rate = sum(both, Fraction(0))
        right = (pairs.neither, pairs.one, pairs.both)[(a in held) + (b in held)]
        require(abs(rate - right) < ROUNDED, f"The rate of the pair {a}, {b} differs from the law of set {code}.")


def _check_bits(mechanism: Mechanism, code: int, reports: Law) -> None:
    """Rates of the bits of items that are asked about, and of two of them at once."""
    window, rates = asked_bits(mechanism.channel)
    pairs = PairScores.of(mechanism)
    asked: dict[tuple[int, ...], Fraction] = {}
    ticked: dict[tuple[int, ...], Fraction] = {}
    for (words, report), p in reports.items():
        first = window.choice.of(words)
        places = {(first + place) % window.k: report >> place & 1 for place in range(window.asked)}
        for some in (*combinations(sorted(places), 1), *combinations(sorted(places), 2)):
            asked[some] = asked.get(some, Fraction(0)) + p
            ticked[some] = ticked.get(some, Fraction(0)) + p * all(places[item] for item in some)
    for some, part in asked.items():
        held = sum(code >> item & 1 for item in some)
        single = rates.own if held else rates.other
        right = float(single) if len(some) == 1 else (pairs.neither, pairs.one, pairs.both)[held]
        require(
            abs(float(ticked[some] / part) - right) < 1e-9, f"The bits of {some} differ from the law of set {code}."
        )


def _check_moments(mechanism: Mechanism, code: int, reports: Law) -> None:
    """Shares of items, and of numbers of items: unbiased, with the right covariance for these participants."""
    items, most = _bounds(mechanism.channel)
    truth = np.array([code >> item & 1 for item in range(items)], float)
    sizes = np.eye(most + 1)[code.bit_count()]
    values, probabilities = [], []
    for (words, report), probability in reports.items():
        evidence = from_cells(mechanism, 1, report_cells(mechanism, report, words))
        values.append(np.concatenate([evidence.values(), _sizes_of(evidence)]))
        probabilities.append(float(probability))
    table, weights = np.array(values), np.array(probabilities)
    mean = weights @ table
    scale = float(np.abs(table).max())
    right = np.concatenate([truth, sizes])[: len(mean)]
    require(float(np.abs(mean - right).max()) < 1e-9 * scale, f"The estimate is biased for set {code}.")
    spread = (table * weights[:, None]).T @ table - np.outer(mean, mean)
    predicted = mechanism.variance(truth, 1, target="sample")
    error = float(np.abs(np.diag(spread)[:items] - predicted).max())
    require(error < 1e-9 * scale**2, f"The predicted variance differs from the law for set {code}.")
    if not isinstance(mechanism.statistic, CountAsked):  # whose covariance is that given who was asked
        _check_covariance(mechanism, code, spread, scale)


def _check_covariance(mechanism: Mechanism, code: int, spread: Floats, scale: float) -> None:
    """The evidence of a crowd that holds one set: its covariance is that of the law, without any bound."""
    crowd, (items, _) = _crowd(mechanism, code), _bounds(mechanism.channel)
    own = crowd.covariance(Target.SAMPLE) * crowd.n
    require(float(np.abs(own - spread[:items, :items]).max()) < 1e-5 * scale**2, "A covariance is wrong.")
    fillers = crowd.sizes
    if fillers is not None:
        other = fillers.covariance(Target.SAMPLE) * crowd.n
        require(float(np.abs(other - spread[items:, items:]).max()) < 1e-5 * scale**2, "A size is wrong.")


def _sizes_of(evidence: ItemShares) -> Floats:
    sizes = evidence.sizes
    return np.zeros(0) if sizes is None else sizes.values()


def _crowd(mechanism: Mechanism, code: int) -> ItemShares:
    """The evidence of many people who hold the same set, with counts at their expectations."""
    known, n = need(mechanism.channel, Itemised), 1 << 40
    held = set(held_elements(code, known.items, known.most))
    own, other = known.item_rates()
    rates = (own if element in held else other for element in range(known.elements))
    return from_cells(mechanism, n, np.array([round(n * rate) for rate in rates], np.int64))


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Exact intervals cover by the law, and drawn reports have its rates."""
    for share in (0.0, 0.05, 0.5):
        for target in Target:
            covered = coverage(mechanism, 300, share, "exact", target)
            require(covered >= 0.95 - 1e-9, f"The exact interval for the {target} covers {covered:.4f} at {share}.")
    code = batch_of_codes(mechanism.channel, 0, 2)[1]
    items, _ = _bounds(mechanism.channel)
    is_asked = isinstance(mechanism.statistic, CountAsked)
    rates = asked_bits(mechanism.channel)[1] if is_asked else need(mechanism.channel, Itemised).item_rates()
    count = min(max(reports, int(2000 / float(rates.other))), 400_000)
    batch = draw(mechanism, np.repeat(code[None], count, axis=0), WordStream.seeded(mechanism.words, seed))
    cells = mechanism.tally(batch).cells
    held = int.from_bytes(code.astype("<u8").tobytes(), "little")
    for element in (0, items - 1):
        own = held >> element & 1
        rate = float(rates.own if own else rates.other)
        trials = int(cells[items + element]) if is_asked else count
        if min(rate, 1 - rate) * trials > 1000:
            check_rate(f"{mechanism.name}, {'own' if own else 'other'} item", int(cells[element]), trials, rate)
