"""Shares of frequent words from a tally of fragments, and their exact predicted variance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, cast

import numpy as np
from scipy.special import bdtr, bdtrc

from sottovoce.core.domain.words import Words
from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people
from sottovoce.core.question import Question
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import Selection, candidate_codes
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Counted, Evidence, Floats, Ints, Offer
from sottovoce.estimate.frequency.base import METHODS, SharesEvidence
from sottovoce.estimate.frequency.intervals.critical import critical_count, least_share
from sottovoce.estimate.frequency.supports import SupportsEvidence
from sottovoce.estimate.frequent_words.limit import (
    FALSE_DISCOVERY,
    chance_found,
    fragments_of,
    least_count,
)
from sottovoce.estimate.frequent_words.search import REMOVED, Thresholds, search, strongest_of_each
from sottovoce.estimate.frequent_words.supports import cell_supports
from sottovoce.estimate.reading import CodeReading
from sottovoce.estimate.request import Method, Target
from sottovoce.fast.kernels.compose.fragments import cells_of
from sottovoce.tally.tally import Tally

READS = (CountSeeds,)
FOUND = 0.95  # probability with which the smallest share is found
WHOLE_BY_CHANCE = 0.05  # the part of words that nobody gave that hold up in the reports about whole words
SLACK = 1.5  # standard errors by which the fragments of a word may have less than their part of its count


@dataclass(frozen=True)
class WordsEvidence(SupportsEvidence):
    """counts[v] of n reports support word v, of words that reports selected or that somebody listed.

    Attributes:
        words: what was found or listed.
        least: the count from which on words were selected; None for a list of candidates.
    """

    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE, Offer.NULL_ERRORS})
    words: tuple[str, ...] = ()
    least: int | None = None

    @property
    def methods(self) -> tuple[Method, ...]:
        return METHODS if self.least is None else (Method.EXACT, Method.BOUNDED)

    @property
    def axes(self) -> Axes:
        return Axes.of("word", self.words)

    @property
    def question(self) -> Question | None:
        return None if self.counted is None or self.least is None else self.counted.mechanism.question

    @property
    def selection(self) -> Selection | None:
        """How the words were selected."""
        if self.least is None or self.counted is None:
            return None
        return Selection("fragments", fragments_of(self.counted.mechanism)[0].k, FALSE_DISCOVERY)

    def covariance(self, target: Target) -> Floats:
        """Two words are supported by one report independently, but a person gave one of them only."""
        shares = np.clip(self.values(), 0, 1)
        result = -np.outer(shares, shares) / self.n if target == Target.POPULATION else np.zeros((len(shares),) * 2)
        np.fill_diagonal(result, self.variances(target))
        return np.asarray(result)

    def second_moments(self) -> Floats:
        raise NoCovarianceError("The covariance of shares of words is known without second moments.")

    def exact(self, level: float, target: Target) -> Bounds:
        """Of selected words the interval given that the count is large enough to be selected."""
        if self.least is None:
            return SupportsEvidence.exact(self, level, target)
        ends = [_selected(int(count), self.n, self.own, self.other, self.least, level) for count in self.counts]
        low, high = np.array(ends).reshape(-1, 2).T
        return Bounds(low, high)

    def inside(self, request: Any) -> Bounds:
        if self.least is None:
            return SupportsEvidence.inside(self, request)
        low, high = self.exact(request.level, request.target)
        nearest = np.clip(self.values(), 0, 1)
        return Bounds(np.minimum(np.clip(low, 0, 1), nearest), np.maximum(np.clip(high, 0, 1), nearest))

    def sentence(self, estimate: Estimate, level: float) -> str:
        if self.least is None or self.counted is None:
            return SharesEvidence.sentence(self, estimate, level)
        found = f"{len(self.words)} words were found" if len(self.words) != 1 else "One word was found"
        share = smallest_found(self.counted.mechanism, self.n)
        reach = "" if share is None else f" A word of at least {100 * share:.2g} % is found with probability 95 %."
        return f"{found}, of which at most 5 % are expected to be words that nobody gave.{reach}"


@lru_cache(maxsize=4096)
def _selected(count: int, n: int, own: float, other: float, least: int, level: float) -> tuple[float, float]:
    """The shares under which a count at least this large, and one at least this small, are likely enough among all
    counts from `least` on."""
    alpha = (1 - level) / 2

    def rate(share: float) -> float:
        return other + share * (own - other)

    def above(share: float) -> bool:
        return bool(bdtrc(count - 1, n, rate(share)) >= alpha * bdtrc(least - 1, n, rate(share)))

    def below(share: float) -> bool:
        chosen = bdtrc(least - 1, n, rate(share))
        if count >= least and chosen > 0.5:
            return bool(bdtr(count, n, rate(share)) - bdtr(least - 1, n, rate(share)) >= alpha * chosen)
        return bool(chosen - bdtrc(count, n, rate(share)) >= alpha * chosen)

    ends = least_share(above), least_share(lambda share: not below(share))
    return ends[0] or 0.0, 1.0 if ends[1] is None else ends[1]


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> WordsEvidence:
    """The words that many people gave, or those that are listed."""
    if candidates is None:
        return from_cells(mechanism, tally.n, tally.cells)
    codes, names = candidate_codes(mechanism.domain, candidates)
    supports = cell_supports(fragments_of(mechanism)[0], tally.cells)
    return _about(mechanism, tally.n, tally.cells, supports, codes, tuple(map(str, names)), None)


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> WordsEvidence:
    """The words that are found in a tally, most frequent first; those that the question denies are not shown."""
    chosen, _ = fragments_of(mechanism)
    supports = cell_supports(chosen, cells)
    codes, least = _discovered(mechanism, n, supports, cells.reshape(chosen.parts, -1).sum(axis=1))
    spelled = cast(Words, mechanism.domain.spelled)
    words = tuple(spelled.word(int(code)) for code in codes)
    found = _about(mechanism, n, cells, supports, codes, words, least)
    order = np.argsort(-found.counts, kind="stable")
    return replace(found, counts=found.counts[order], words=tuple(words[place] for place in order))


def _discovered(mechanism: Mechanism, n: int, supports: Ints, reports: Ints) -> tuple[Ints, int]:
    """The codes of all words at or above the count that so many words allow; more words allow a smaller count.

    `reports` are those about each part of words. Scores are supports beyond those expected by chance.
    """
    chosen, rates = fragments_of(mechanism)
    rate = float(rates.other)
    scores, spread = supports - (reports * rate)[:, None], np.sqrt(reports * rate * (1 - rate))
    removed = REMOVED * spread
    for row in cells_of(chosen, _denied(mechanism)):
        scores[np.arange(chosen.fragments), row[:-1]] = removed[:-1]
    whole = critical_count(int(reports[-1]), rate, WHOLE_BY_CHANCE) - 0.5 - reports[-1] * rate
    codes = np.zeros(0, np.int64)
    while True:
        least = least_count(mechanism, n, len(codes))
        total = least - 0.5 - n * rate
        share = 1 - reports[-1] / n  # of the total that is expected in the fragments, less some errors of that
        fragments = share * total - SLACK * np.sqrt(share) * spread[-1]
        further = search(chosen, scores, Thresholds(fragments, whole, total), removed)
        together = np.concatenate([codes, further])
        cells = cells_of(chosen, together)
        sums = supports[np.arange(chosen.fragments), cells[:, :-1]].sum(axis=1)
        kept = together[strongest_of_each(cells[:, -1], sums)]
        if len(kept) <= len(codes):
            return kept, least
        codes = kept


def _about(
    mechanism: Mechanism, n: int, cells: Ints, supports: Ints, codes: Ints, words: tuple[str, ...], least: int | None
) -> WordsEvidence:
    chosen, rates = fragments_of(mechanism)
    counts = supports[np.arange(chosen.parts), cells_of(chosen, codes)].sum(axis=1)
    counted = Counted(mechanism, n, cells, None, codes, words)
    return WordsEvidence(counts, n, float(rates.own), float(rates.other), counted, words, least)


def _denied(mechanism: Mechanism) -> Ints:
    """The codes of the words that are not shown."""
    denied = mechanism.question.fields().get("deny", ())
    return np.array([mechanism.domain.encode(word) for word in denied], np.int64)


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Frequent words are read from their own reports only."""
    return None


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The exact variance of the shares of words, for these true shares of words none of which share a cell."""
    check_people("n", "variance", n)
    truth = np.atleast_1d(np.asarray(shares, float))
    if truth.ndim != 1 or not (truth.min() >= 0 and truth.sum() <= 1 + 1e-9):
        raise ParameterError("The 'shares' parameter of variance must be shares that sum to at most 1.")
    _, (own, other) = fragments_of(mechanism)
    return np.asarray(CodeReading.of_rates(float(own), float(other)).at(truth, target) / n)


def smallest_found(mechanism: Mechanism, n: int, chance: float = FOUND) -> float | None:
    """The smallest share of a word that n reports find with a probability; None if they find none."""
    return least_share(lambda share: chance_found(mechanism, n, share) >= chance)
