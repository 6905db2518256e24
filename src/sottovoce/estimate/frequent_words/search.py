"""Search for the words whose reports are too many to be chance: the strongest word of each check first.

The cells of the fragments of a word have one check, so that words with different checks are searched for apart. Of the
words with one check the one with the largest sum over its fragments is found by meeting in the middle: for each value
of the check of an upper half the best upper half, then the best lower half with each. Both are searched depth first in
falling order, with bounds.

The cells of its fragments are then set below chance, so that words made of some of them are not found as well. It is
shown if it also holds up in the reports about whole words, where words that share fragments differ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from sottovoce.core.channel import FragmentMap
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.fast.compiled import compiled
from sottovoce.fast.kernels.compose.fragments import CHECK, WHOLE, code_of, hashed_half

REMOVED = -3.0  # standard errors by chance of a cell whose word was found
MOST_FOUND = 1 << 16
MOST_TRIED = 1 << 12  # words with one check
STEPS = 6  # of the depth of a search: a search of half the depth is much shorter
NOWHERE = -1e300


class Thresholds(NamedTuple):
    """What the scores of a word must exceed: the sum over its fragments, the score of the whole word, and all."""

    fragments: float
    whole: float
    total: float


@njit(nogil=True)
def _ordered(scores, order, falling):
    for place in range(scores.shape[0]):
        order[place] = np.argsort(-scores[place])
        for rank in range(scores.shape[1]):
            falling[place, rank] = scores[place, order[place, rank]]


@njit(nogil=True)
def _walk(falling, order, width, least, is_high, check, size, best, codes):
    """Visit all halves whose sum exceeds `least`, depth first.

    Of upper halves it keeps the best of each value of the check in `best` and `codes`. For lower halves these are
    given, and it returns the largest sum of both and its two halves.
    """
    parts, values = falling.shape
    rest = np.zeros(parts + 1)
    for place in range(parts - 1, -1, -1):
        rest[place] = rest[place + 1] + falling[place, 0]
    rank = np.zeros(parts + 1, np.int64)
    total, code = np.zeros(parts + 1), np.zeros(parts + 1, np.uint64)
    found, low, high = NOWHERE, np.uint64(0), np.uint64(0)
    place = 0
    while place >= 0:
        if rank[place] == values or total[place] + falling[place, rank[place]] + rest[place + 1] <= least:
            place -= 1
            if place >= 0:
                rank[place] += 1
            continue
        reached = total[place] + falling[place, rank[place]]
        whole = code[place] | np.uint64(order[place, rank[place]]) << np.uint64(width * place)
        if place < parts - 1:
            total[place + 1], code[place + 1], rank[place + 1] = reached, whole, 0
            place += 1
            continue
        key = np.int64(hashed_half(CHECK, whole, is_high, size))
        if is_high:
            if reached > best[key]:
                best[key], codes[key] = reached, whole
        elif reached + best[key ^ check] > found:
            found, low, high = reached + best[key ^ check], whole, codes[key ^ check]
        rank[place] += 1
    return found, low, high


@njit(nogil=True)
def _strongest(falling, order, width, check, size, threshold):
    """The largest sum of a word with this check above a threshold, and its halves."""
    half = falling.shape[0] // 2
    most_low, most_high = falling[:half, 0].sum(), falling[half:, 0].sum()
    most = most_low + most_high
    best, codes = np.empty(np.int64(size)), np.zeros(np.int64(size), np.uint64)
    for step in range(STEPS - 1, -1, -1):
        least = most - (most - threshold) / 2.0**step
        best[:] = NOWHERE
        _walk(falling[half:], order[half:], width, least - most_low, True, check, size, best, codes)
        found, low, high = _walk(
            falling[:half], order[:half], width, least - most_high, False, check, size, best, codes
        )
        if found > least:
            return found, low, high
    return NOWHERE, np.uint64(0), np.uint64(0)


@njit(nogil=True)
def _cell(low, high, place, width, fragments):
    """The bits of one fragment."""
    half = fragments // 2
    part = low if place < half else high
    mask = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
    return np.int64((part >> np.uint64(width * (place % half))) & mask)


@compiled
def _search(scores, width, checks, k, thresholds, removed, codes):
    """Find the words above all thresholds and remove the fragments of all that were tried; returns how many."""
    fragments, values = scores.shape[0] - 1, np.int64(1) << width
    half, size, all_cells = np.uint64(width * fragments // 2), np.uint64(checks), np.uint64(scores.shape[1])
    order, falling, count = np.empty((fragments, values), np.int64), np.empty((fragments, values)), 0
    for check in range(checks):
        own = scores[:fragments, check * values : (check + 1) * values]
        for _ in range(MOST_TRIED):
            bound = 0.0
            for place in range(fragments):
                bound += own[place].max()
            if bound <= thresholds[0] or count == codes.shape[0]:
                break
            _ordered(own, order, falling)
            found, low, high = _strongest(falling, order, width, check, size, thresholds[0])
            if found <= thresholds[0]:
                break
            whole = hashed_half(WHOLE, low, False, all_cells) ^ hashed_half(WHOLE, high, True, all_cells)
            verified, code = scores[fragments, np.int64(whole)], code_of(low, high, half)
            weakest, where = np.inf, 0
            for place in range(fragments):
                cell = _cell(low, high, place, width, fragments)
                if own[place, cell] < weakest:
                    weakest, where = own[place, cell], place
                if code < k:  # whether it is shown or not: weaker words with some of its fragments are no news
                    own[place, cell] = removed[place]
            if code >= k:  # no word has this number; its weakest fragment is most likely that of no frequent word
                own[where, _cell(low, high, where, width, fragments)] = NOWHERE
            elif verified > thresholds[1] and found + verified > thresholds[2]:
                codes[count] = code
                count += 1
    return count


def search(chosen: FragmentMap, scores: Floats, thresholds: Thresholds, removed: Floats) -> Ints:
    """The codes of the words whose scores exceed all thresholds; their fragments are removed from the scores."""
    codes = np.zeros(MOST_FOUND, np.uint64)
    checks, limits = 1 << chosen.check_bits, np.array(thresholds)
    count = _search(scores, chosen.width, checks, np.uint64(chosen.k), limits, removed, codes)
    return codes[:count].astype(np.int64)


def strongest_of_each(whole: Ints, sums: Floats) -> Ints:
    """The places of the words that have the largest sum over their fragments among those with one whole cell.

    Another word with the cell of a frequent word holds up in the reports about whole words by that cell alone.
    """
    order = np.argsort(-sums, kind="stable")
    _, first = np.unique(whole[order], return_index=True)
    return np.sort(order[first])
