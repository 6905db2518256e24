"""Fragments of words with a check of the whole word, through public linear maps: words are found without a list."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import FragmentMap, Public, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.domain.words import Words
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, reject
from sottovoce.core.question import FrequentWords
from sottovoce.core.statistic.seeds import CountSeeds

MOST_CELLS = 1 << 22  # of a tally: 32 MiB
FEWEST_CHECKS = 8  # check bits: words that share their check and none of their fragments are seldom mixed up
MOST_BITS = 8  # of a report


def build(domain: Domain, *, epsilon: Any, deny: Any = ()) -> Mechanism:
    """Linear hashes of one fragment of a word together with a check of the whole word.

    Law: the number of a word is mixed by a public permutation and cut into J fragments; the report's id chooses one of
        them or a hash of the whole word, and a linear map from its cell (check bits and fragment, or hash) to g = 2**b
        values; the value goes through randomized response, p = e**epsilon / (e**epsilon + g - 1).
    Privacy: that of the inner randomized response, e**epsilon; the map is public.
    Estimator: (count / n - q) / (p - q), where count is the number of reports whose value is that of the word's cell,
        q = c p + (1 - c) (1 - p) / (g - 1) with c = (N / g - 1) / (N - 1) for N cells: two cells have the same value
        under exactly that part of the maps. Words that share a cell count for each other; the check makes that rare.
    Cost: one byte beside the id; about N (J + 1) cells in a tally, at most 2**22, whatever the number of words is.
        Words are found by a Walsh-Hadamard transform of each part, then by meeting in the middle.
    Reference: Hashing and a search over fragments as in Thakurta et al., "Learning new words", 2017, and Bassily et
        al., "Practical locally private heavy hitters", 2017; the linear maps, one sum over all fragments and the bound
        on false discoveries are this package's (decision 070).
    """
    budget = check_epsilon("fragments", epsilon)
    words = domain.spelled
    if words is None:
        raise reject("domain", "fragments", "possible words, such as Words(longest=8)", domain)
    e = odds(budget)
    bits = min(range(1, MOST_BITS + 1), key=lambda bits: _variance(e, 1 << bits))
    chosen = _shape(words, bits)
    inner = Subset(chosen.g, 1, floor_unit(e / (e + chosen.g - 1)))
    return Mechanism("fragments", FrequentWords(words, deny), Public(chosen, inner), budget, CountSeeds())


def _variance(e: Fraction, g: int) -> Fraction:
    """n times the variance of the share of a word that nobody gave."""
    own, other = e / (e + g - 1), Fraction(1, g)
    return other * (1 - other) / (own - other) ** 2


def _shape(domain: Words, bits: int) -> FragmentMap:
    """The fewest fragments whose tally is small enough, with as many check bits as it allows."""
    g = 1 << bits
    for fragments in (2, 4, 6, 8):
        width = -(-domain.bits // fragments)
        digits = max((one for one in range(1, 24 // bits + 1) if _cells(fragments, g, one) <= MOST_CELLS), default=0)
        if digits * bits - width >= FEWEST_CHECKS:
            return FragmentMap(domain.size, g, digits, fragments)
    raise ParameterError("There are too many words for this method: allow fewer letters, or shorter words.")


def _cells(fragments: int, g: int, digits: int) -> int:
    return int((fragments + 1) * (g**digits - 1) // (g - 1) * g)
