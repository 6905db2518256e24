"""One key of the list is asked of each person."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import AskedKey, Table
from sottovoce.core.channel.vector.key_values import three_states
from sottovoce.core.domain import Domain, Sparse
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import KeyMeans
from sottovoce.core.statistic.states import CountStates
from sottovoce.mechanisms.key_values.ends import checked_keys

USUAL = 0.25  # share of people who hold a key, for which the odds of its number are chosen
_STEPS = 40
PRIVKV_UNUSED = (
    "A report whose key is not held has a random number, which hides the number of one that is held better than the sum"
    " of both budgets says. The published parameters leave that unused."
)


def options(domain: Domain, *, epsilon: Any) -> Mechanism:
    """One key of the list, chosen by the report's id: whether it is held, and one end of its number's range.

    Law: the state of the key is absent, low or high, where a number is rounded to one of the ends without bias. Whether
        the key is held is told truly with odds s = e**epsilon (t + 1) / (2 t). Beside "held" an end is sent: the true
        one with odds t, or a fair coin where the key is not held.
    Privacy: e**epsilon, however many keys a person holds.
    Estimator: the frequencies of the three reports, through the inverse of their law.
    Cost: 2 bits. The variance grows with d, and not with the largest number of keys in an answer. By default t has the
        least variance of the mean of a key that a quarter of people hold.
    Reference: this work; for t = e**epsilon a report is that of Gu, Li, Cheng, Xiong, Cao, "PCKV: locally
        differentially private correlated key-value data collection with optimized utility", USENIX Security 2020.
    """
    budget, keyed = check_epsilon("key-options", epsilon), checked_keys("key-options", domain)
    ratio = odds(budget)
    channel = AskedKey(Sparse(len(keyed.keys), keyed.most, 1), Table(three_states(ratio, best_odds(ratio))))
    return Mechanism("key-options", KeyMeans(keyed), channel, budget, CountStates())


def best_odds(ratio: Fraction) -> Fraction:
    """The odds of a number's own end with the least variance of the mean of a usual key."""
    tried = [1 + (ratio - 1) * Fraction(step, _STEPS) for step in range(1, _STEPS + 1)]
    return min(tried, key=lambda kept: _variance(ratio, kept))


def _variance(ratio: Fraction, kept: Fraction) -> float:
    """The variance of the sum of the numbers of a key, for one person who is asked about it."""
    held = float(ratio * (kept + 1) / (2 * kept))
    told, gap = held / (held + 1), float((kept - 1) / (kept + 1))
    return (USUAL * told + (1 - USUAL) * (1 - told)) / (told * gap) ** 2


def privkv(domain: Domain, *, epsilon: Any) -> Mechanism:
    """PrivKV: one key of the list, half of the budget for whether it is held, and half for its number.

    Law: a key is chosen uniformly. A number is rounded to one of the ends of its range; of a key that is not held it is
        a random number. The end is kept with odds e**(epsilon / 2). Whether the key is held is kept with the same odds.
        Where the report says that it is not, it has no number.
    Privacy: e**epsilon by adding both budgets; the exact loss is smaller.
    Estimator: the frequencies of the three reports, through the inverse of their law: unbiased, where the published
        estimator of the mean is a ratio of counts.
    Cost: 2 bits. The published protocol sends the key's index; here the report's id chooses the key.
    Reference: Ye, Hu, Meng, Zheng, "PrivKV: key-value data collection with local differential privacy", IEEE S&P 2019.
    """
    budget, keyed = check_epsilon("privkv", epsilon), checked_keys("privkv", domain)
    half = odds(Decimal(budget) / 2)
    rows = three_states(half * 2 * half / (half + 1), half)
    channel = AskedKey(Sparse(len(keyed.keys), keyed.most, 1), Table(rows))
    return Mechanism("privkv", KeyMeans(keyed), channel, budget, CountStates(), unused=PRIVKV_UNUSED)
