"""AskedOptions: a few items of the list are asked of each person, for lists without a limit on the number of items."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import AskedOptions
from sottovoce.core.channel.compose.options import MAX_ASKED, patterns
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.core.question import SetShares
from sottovoce.core.statistic.asked import CountAsked
from sottovoce.mechanisms.sets.mask import checked_sets

USUAL = 0.25  # share of people who hold an item, for which the number of items asked is chosen


def build(domain: Domain, *, epsilon: Any, asked: int | None = None) -> Mechanism:
    """Randomized response of a few items: the report's id chooses b neighbouring items of the list.

    Law: of the 2**b patterns of the items asked, the true one is sent with e**epsilon / (e**epsilon + 2**b - 1), each
        other one with a probability that is e**epsilon times smaller.
    Privacy: e**epsilon, however many items a person holds.
    Estimator: (ticked / asked - q) / (p - q), where p and q are the probabilities of the bit of an item that is held
        and of one that is not.
    Cost: b bits. The variance grows with d / b, and not with the largest number of items in an answer. By default b has
        the least variance of an item that a quarter of people hold.
    Reference: Warner, "Randomized response: a survey technique for eliminating evasive answer bias", Journal of the
        American Statistical Association 1965.
    """
    budget = check_epsilon("options", epsilon)
    sets = checked_sets("options", domain)
    ratio, items = odds(budget), len(sets.labels())
    most = min(MAX_ASKED, items)
    count = best_asked(most, ratio) if asked is None else check_integer("asked", "options", asked, 1, most)
    channel = AskedOptions(items, sets.most, patterns(count, ratio))
    return Mechanism("options", SetShares(sets), channel, budget, CountAsked())


def best_asked(most: int, ratio: Fraction) -> int:
    """The number of items asked with the least variance of an item that a usual share of people hold."""
    return min(range(1, most + 1), key=lambda asked: _variance(asked, float(ratio)))


def _variance(asked: int, ratio: float) -> float:
    """The variance for one person and one item of the list."""
    count = 1 << asked
    own, other = (ratio + count / 2 - 1) / (ratio + count - 1), count / 2 / (ratio + count - 1)
    rate = USUAL * own + (1 - USUAL) * other
    return rate * (1 - rate) / (own - other) ** 2 / asked
