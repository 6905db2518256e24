"""Beginnings of words for protocols: how they are asked, extended, counted, and how found words are verified."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from sottovoce.core.domain.words import Words, words_of
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Ints
from sottovoce.estimate.frequent_words.limit import fragments_of
from sottovoce.estimate.frequent_words.supports import cell_supports
from sottovoce.fast.kernels.compose.fragments import cells_of
from sottovoce.mechanisms.words.fragments import build
from sottovoce.tally.tally import Tally

CHOSEN = "The words were chosen by the reports that estimate their shares, so that shares are too large on average."


def beginning(domain: Words, epsilon: Decimal, length: int) -> Mechanism:
    """How people report the first letters of their word; the whole word, as the domain says, where these are all."""
    asked = domain if length == domain.longest else Words(domain.letters, length, "cut")
    return build(asked, epsilon=epsilon)


def extended(domain: Words, codes: Ints, old: int, new: int) -> Ints:
    """The numbers of all words of at most `new` letters whose first `old` letters are one of these words."""
    base = len(domain.letters)
    fewest = words_of(base, old - 1) if old else 0  # the smallest number of a word of `old` letters
    parts, ends = [codes], codes[codes >= fewest]
    for _ in range(new - old):
        ends = (ends[:, None] * base + np.arange(1, base + 1)).ravel()
        parts.append(ends)
    return np.concatenate(parts)


def supports_of(tally: Tally, codes: Ints) -> Ints:
    """[word, part]: how many reports about each part support each word."""
    chosen, _ = fragments_of(tally.mechanism)
    return cell_supports(chosen, tally.cells)[np.arange(chosen.parts), cells_of(chosen, codes)]


def strongest(tally: Tally, codes: Ints, count: int) -> Ints:
    """The words with the most reports, the first one first.

    A word that shares a cell with a stronger one is left out: the reports of that one may be all that it has. Other
    words share cells seldom.
    """
    chosen, _ = fragments_of(tally.mechanism)
    supports = supports_of(tally, codes).sum(axis=1)
    kept: list[int] = []
    taken: set[tuple[int, int]] = set()
    for code in codes[np.argsort(-supports, kind="stable")]:
        own = set(enumerate(cells_of(chosen, np.array([code]))[0].tolist()))
        if own.isdisjoint(taken):
            kept, taken = [*kept, int(code)], taken | own
        if len(kept) == count:
            break
    return np.array(kept, np.int64)


def shares_of(tally: Tally, codes: Ints, *, fresh: bool) -> Estimate:
    """Unbiased shares of these words, most frequent first; `fresh` if other reports chose the words."""
    mechanism: Any = tally.mechanism
    order = np.argsort(-supports_of(tally, codes).sum(axis=1), kind="stable")
    listed = [mechanism.domain.word(int(code)) for code in codes[order]]
    estimate: Estimate = mechanism.estimate(tally, candidates=listed)
    return estimate if fresh else replace(estimate, assumes=CHOSEN)
