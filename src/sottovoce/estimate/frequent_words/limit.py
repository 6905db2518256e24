"""From which count on a word is told from chance, with control of the false discovery rate.

A word that nobody gave, and none of whose cells is one of a word that somebody gave, is supported by each report with
one known probability. So its count has a binomial law, whatever else people gave, and over all possible words the
expected number of such words at or above a count is at most the number of words times the tail of that law.
"""

from __future__ import annotations

from typing import cast

from scipy.special import bdtrc

from sottovoce.core.channel import FragmentMap
from sottovoce.core.channel.compose.maps import with_collisions
from sottovoce.core.channel.compose.public import numbered_functions
from sottovoce.core.channel.facets import Rates
from sottovoce.core.channel.shapes import shared_rates
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.frequency.intervals.critical import critical_count

FALSE_DISCOVERY = 0.05
MOST_PEOPLE = 1 << 40
BY_CHANCE = 0.5  # part of it for words without cells of a word that somebody gave; the rest is for all others


def fragments_of(mechanism: Mechanism) -> tuple[FragmentMap, Rates]:
    """The map of a mechanism, and how often a report supports the word of its sender, and one that nobody gave."""
    functions, inner = numbered_functions(mechanism.channel)
    chosen, rates = cast(FragmentMap, functions), shared_rates(inner)
    if rates is None or not hasattr(chosen, "vectors"):
        raise TypeError("Words are found in reports about their fragments, whose values have two support rates.")
    return chosen, with_collisions(rates, chosen.collision)


def least_count(mechanism: Mechanism, n: int, found: int = 1) -> int:
    """The count from which on a word is shown, where so many words are shown.

    The expected number of words without a cell of a word that somebody gave is then at most half of 5 % of all that
    are shown (Benjamini, Hochberg); the other half is left for words that share cells with such words.
    """
    chosen, rates = fragments_of(mechanism)
    return critical_count(n, float(rates.other), BY_CHANCE * FALSE_DISCOVERY * max(1, found) / chosen.k)


def chance_found(mechanism: Mechanism, n: int, share: float) -> float:
    """The probability that n reports reach the count of the first word, for a word that this share of people gave."""
    _, (own, other) = fragments_of(mechanism)
    count = least_count(mechanism, n)
    rate = float(other) + share * float(own - other)
    return float(bdtrc(count - 1, n, rate)) if count <= n else 0.0


def fewest_people(mechanism: Mechanism, share: float, chance: float) -> int:
    """The fewest reports that find a word of a share with a probability, up to one percent."""
    low, high = 0, 1
    while high < MOST_PEOPLE and chance_found(mechanism, high, share) < chance:
        low, high = high, 2 * high
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        low, high = (middle, high) if chance_found(mechanism, middle, share) < chance else (low, middle)
    return high
