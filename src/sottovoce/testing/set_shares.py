"""Checks of mechanisms for sets of items, in addition to the contract."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Itemised
from sottovoce.core.domain import Sets
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import SetShares
from sottovoce.core.statistic.items import CountItems
from sottovoce.estimate.request import Target
from sottovoce.estimate.set_shares.evidence import SetSharesEvidence, from_cells
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import batch_of_codes, require
from sottovoce.testing.coverage import coverage
from sottovoce.testing.statistics import check_rate

Law = dict[tuple[Words, int], Fraction]
ROUNDED = Fraction(1, 1 << 40)  # rates are those of a coin that is not rounded


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question through a small channel."""
    known = need(channel, Itemised)
    question = SetShares(Sets(range(known.items), known.most))
    return Mechanism(mechanism.name, question, channel, Decimal(MAX_EPSILON), CountItems())


def check_small(mechanism: Mechanism) -> None:
    """Mean and variance of the shipped estimators of one report agree with the enumerated law."""
    for code in mechanism.channel.codes():
        reports = law(mechanism.channel, code)
        _check_rates(mechanism, code, reports)
        _check_moments(mechanism, code, reports)


def _check_rates(mechanism: Mechanism, code: int, reports: Law) -> None:
    """Rates of single elements and of pairs."""
    known = need(mechanism.channel, Itemised)
    held = {*range(known.items + known.most - code.bit_count())} - {
        item for item in range(known.items) if not code >> item & 1
    }
    rates, pairs = known.item_rates(), known.pair_rates()
    for element in range(known.elements):
        rate = sum((p for (_, report), p in reports.items() if known.holds(report, element)), Fraction(0))
        right = rates.own if element in held else rates.other
        require(abs(rate - right) < ROUNDED, f"The rate of element {element} differs from the law of set {code}.")
    for a, b in combinations(range(known.elements), 2):
        rate = sum(
            (p for (_, report), p in reports.items() if known.holds(report, a) and known.holds(report, b)), Fraction(0)
        )
        right = (pairs.neither, pairs.one, pairs.both)[(a in held) + (b in held)]
        require(abs(rate - right) < ROUNDED, f"The rate of the pair {a}, {b} differs from the law of set {code}.")


def _check_moments(mechanism: Mechanism, code: int, reports: Law) -> None:
    """Shares of items, and of numbers of items: unbiased, with the right covariance for these participants."""
    known = need(mechanism.channel, Itemised)
    truth = np.array([code >> item & 1 for item in range(known.items)], float)
    sizes = np.eye(known.most + 1)[code.bit_count()]
    values, probabilities = [], []
    for (words, report), probability in reports.items():
        evidence = from_cells(mechanism, 1, report_cells(mechanism, report, words))
        values.append(np.concatenate([evidence.values(), _sizes_of(evidence)]))
        probabilities.append(float(probability))
    table, weights = np.array(values), np.array(probabilities)
    mean = weights @ table
    spread = (table * weights[:, None]).T @ table - np.outer(mean, mean)
    scale = float(np.abs(table).max())
    require(
        float(np.abs(mean - np.concatenate([truth, sizes])).max()) < 1e-9 * scale,
        f"The estimate is biased for set {code}.",
    )
    predicted = mechanism.variance(truth, 1, target="sample")
    error = float(np.abs(np.diag(spread)[: known.items] - predicted).max())
    require(error < 1e-9 * scale**2, f"The predicted variance differs from the law for set {code}.")
    # The evidence of a crowd that holds this set: its covariance is that of the law, without any bound.
    crowd = _crowd(mechanism, code)
    own = crowd.covariance(Target.SAMPLE) * crowd.n
    require(float(np.abs(own - spread[: known.items, : known.items]).max()) < 1e-5 * scale**2, "A covariance is wrong.")
    fillers = crowd.sizes
    if fillers is not None:
        other = fillers.covariance(Target.SAMPLE) * crowd.n
        require(float(np.abs(other - spread[known.items :, known.items :]).max()) < 1e-5 * scale**2, "A size is wrong.")


def _sizes_of(evidence: SetSharesEvidence) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    sizes = evidence.sizes
    return np.zeros(0) if sizes is None else sizes.values()


def _crowd(mechanism: Mechanism, code: int) -> SetSharesEvidence:
    """The evidence of many people who hold the same set, with counts at their expectations."""
    known, n = need(mechanism.channel, Itemised), 1 << 40
    held = [code >> item & 1 for item in range(known.items)]
    held += [filler < known.most - code.bit_count() for filler in range(known.most)]
    cells = np.array([round(n * rate) for rate in (known.item_rates()[0 if one else 1] for one in held)], np.int64)
    return from_cells(mechanism, n, cells)


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Exact intervals cover by the law, and drawn reports have its rates."""
    known = need(mechanism.channel, Itemised)
    rates = known.item_rates()
    for share in (0.0, 0.05, 0.5):
        for target in Target:
            covered = coverage(mechanism, 300, share, "exact", target)
            require(covered >= 0.95 - 1e-9, f"The exact interval for the {target} covers {covered:.4f} at {share}.")
    code = batch_of_codes(mechanism.channel, 0, 2)[1]
    count = min(max(reports, int(2000 / float(rates.other))), 400_000)
    batch = draw(mechanism, np.repeat(code[None], count, axis=0), WordStream.seeded(mechanism.words, seed))
    cells = mechanism.tally(batch).cells
    held = int.from_bytes(code.astype("<u8").tobytes(), "little")
    for element in (0, known.items - 1):
        own = held >> element & 1
        rate = float(rates.own if own else rates.other)
        if min(rate, 1 - rate) * count > 1000:
            check_rate(f"{mechanism.name}, {'own' if own else 'other'} item", int(cells[element]), count, rate)
