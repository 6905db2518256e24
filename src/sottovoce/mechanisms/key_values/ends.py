"""Sets of keys, and of the ends of their numbers: shares of keys and means from one report."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from sottovoce.core.arithmetic.rational import UNIT, odds
from sottovoce.core.channel import Channel, Hitting, KeyEnds, Spread
from sottovoce.core.channel.finite.hitting import MAX_MOST, hit_units
from sottovoce.core.domain import Domain, KeyValue, Sparse
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, reject, shown
from sottovoce.core.question import KeyMeans
from sottovoce.core.statistic.ends import CountEnds
from sottovoce.mechanisms.sets.cells import best_cells
from sottovoce.mechanisms.sets.mask import best_size

ABOUT_ENDS = Decimal("0.45")  # of the reports tell numbers; the others tell shares of keys more exactly


def mask(domain: Domain, *, epsilon: Any, about_ends: Any = ABOUT_ENDS) -> Mechanism:
    """A random subset of the keys, or of the two ends of each key's number, likelier if it contains any that is held.

    Law: a coin that no answer influences chooses. Either the report is that of `mask` about the keys held. Or each
        number is rounded to one of the ends of the range, without bias, and the report is that of `mask` about the
        ends: a list of twice as many items, of which a person holds as many as keys.
    Privacy: e**epsilon, that of both masks.
    Estimator: shares of keys from both kinds of report, weighted for the least variance of a rare key. The sum of the
        numbers of a key from the difference of its two ends; the mean is its ratio to the share.
    Cost: 1 + 2 d + m bits for d keys, of which a person holds at most m.
    Reference: this work, with the subsets of Wang, Huang, Nie, Wang, Xu, Yang, "PrivSet: set-valued data analyses with
        local differential privacy", INFOCOM 2018.
    """

    def sets(items: int, most: int, ratio: Fraction) -> Channel:
        size = best_size(items, most, ratio)
        return Hitting(items, most, size, hit_units(items + most, most, size, ratio))

    return _built("key-mask", domain, epsilon, about_ends, sets)


def cells(domain: Domain, *, epsilon: Any, about_ends: Any = ABOUT_ENDS) -> Mechanism:
    """As `key-mask`, with the keys and the ends in cells that the report's id chooses: for lists of any length.

    Law: that of `key-mask`, with `cells` in place of `mask`.
    Privacy: e**epsilon, whatever the hash does.
    Estimator: that of `key-mask`.
    Cost: 1 + g + m bits, or an index, for g cells; g grows with m, and not with the number of keys.
    Reference: this work, with the cells of the mechanism `cells`.
    """

    def sets(items: int, most: int, ratio: Fraction) -> Channel:
        count = best_cells(most, ratio)
        size = best_size(count, most, ratio, spread=True)
        return Spread(items, Hitting(count, most, size, hit_units(count + most, most, size, ratio)))

    return _built("key-cells", domain, epsilon, about_ends, sets)


def _built(
    name: str, domain: Domain, epsilon: Any, about_ends: Any, sets: Callable[[int, int, Fraction], Channel]
) -> Mechanism:
    budget, keyed = check_epsilon(name, epsilon), checked_keys(name, domain)
    part = check_decimal("about_ends", name, about_ends)
    if not 0 < part < 1:
        raise reject("about_ends", name, "a number between 0 and 1", about_ends)
    if keyed.most > MAX_MOST:
        raise ParameterError(f"The 'domain' parameter of {name} must have at most {MAX_MOST} keys in an answer.")
    keys, ratio = len(keyed.keys), odds(budget)
    plain, ends = (sets(items, keyed.most, ratio) for items in (keys, 2 * keys))
    channel = KeyEnds(Sparse(keys, keyed.most, 1), int(part * UNIT), plain, ends)
    return Mechanism(name, KeyMeans(keyed), channel, budget, CountEnds())


def checked_keys(name: str, domain: Domain) -> KeyValue:
    """The domain as keys with numbers; another one is refused."""
    if domain.keyed is None:
        raise ParameterError(
            f"The 'domain' parameter of {name} must have keys with numbers as answers, such as KeyValue([...],"
            " Interval(0, 10), most=3).",
            shown(domain),
            parameter="domain",
        )
    return cast(KeyValue, domain)
