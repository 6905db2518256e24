"""Checks of mechanisms for frequent words, in addition to the contract."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import Rates
from sottovoce.core.domain.words import Words
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import FrequentWords
from sottovoce.estimate.frequent_words.evidence import evidence
from sottovoce.estimate.frequent_words.limit import fragments_of
from sottovoce.estimate.frequent_words.supports import cell_supports
from sottovoce.estimate.request import Target
from sottovoce.fast.batch import draw
from sottovoce.fast.kernels.compose.fragments import cells_of
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing.codes import require
from sottovoce.testing.statistics import check_rate

LETTERS = "abc"  # four words of at most one letter


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """The mechanism's question through a small channel, about words of at most one letter."""
    question = FrequentWords(Words(LETTERS[: channel.inputs - 1], 1))
    return Mechanism(mechanism.name, question, channel, Decimal(MAX_EPSILON), mechanism.statistic)


def check_small(mechanism: Mechanism) -> None:
    """Over the enumerated law each cell of the code that is held is supported as often as its rates say, and so is
    each other cell; and the transform counts what the definition counts."""
    chosen, rates = fragments_of(mechanism)
    codes = np.arange(mechanism.channel.inputs)
    every = cells_of(chosen, codes)
    require([chosen.cells(int(code)) for code in codes] == [tuple(row) for row in every.tolist()], "Cells differ.")
    for code in codes.tolist():
        supports = np.zeros((chosen.parts, chosen.g**chosen.digits))
        for (words, report), chance in law(mechanism.channel, code).items():
            one = cell_supports(chosen, report_cells(mechanism, report, words))
            seed = mechanism.channel.pool.seed(words)  # type: ignore[attr-defined]
            part = seed // chosen.vectors
            for other in codes.tolist():
                held = chosen.value(seed, other) == report
                require(one[part, chosen.cells(other)[part]] == held, "The transform counts something else.")
            supports += float(chance) * one
        _check_rates(mechanism, code, supports * chosen.parts, rates)


def _check_rates(mechanism: Mechanism, code: int, supports: np.ndarray, rates: Rates) -> None:
    own = fragments_of(mechanism)[0].cells(code)
    for part, row in enumerate(supports):
        for cell, rate in enumerate(row):
            right = float(rates.own if cell == own[part] else rates.other)
            require(abs(rate - right) < 1e-9, f"The support of cell {cell} differs from the law of code {code}.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have the rates of the law; a word that all people give is found, and its interval holds 1."""
    _, rates = fragments_of(mechanism)
    domain = mechanism.domain.spelled
    if domain is None:
        raise AssertionError("Frequent words need a domain of words.")
    count = min(max(reports, math.ceil(2000 / float(min(rates.other, 1 - rates.own)))), 400_000)
    batch = draw(mechanism, np.full(count, domain.size - 2, np.uint64), WordStream.seeded(mechanism.words, seed))
    tally = mechanism.tally(batch)
    held, other = domain.word(domain.size - 2), domain.word(1)
    listed = evidence(mechanism, tally, [held, other])
    check_rate(f"{mechanism.name}, own word", int(listed.counts[0]), count, float(rates.own))
    check_rate(f"{mechanism.name}, other word", int(listed.counts[1]), count, float(rates.other))
    found = evidence(mechanism, tally)
    require(found.words == (held,), f"{mechanism.name} does not find a word that all people give.")
    require(bool(found.exact(1 - 1e-6, Target.POPULATION).high[0] >= 1 - 1e-9), "The interval does not hold 1.")
