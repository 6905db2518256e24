"""Padding and sampling as published: one drawn item, by randomized response or by local hashing. For protocols."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Channel, DrawnItem, HashMap, Public, Subset
from sottovoce.core.channel.compose.drawn_item import response
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency, SetShares
from sottovoce.core.statistic.items import CountItems
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.mechanisms.sets.mask import checked_sets

NAME = "padding-sampling"


def drawn_item(domain: Domain, epsilon: Decimal, slots: int, *, amplified: bool = True) -> Mechanism:
    """One of the items of a person, padded to `slots`; who holds more draws one of all, so that shares are too low.

    Randomized response has smaller errors than hashing for fewer than slots (4 slots - 1) e**epsilon + 1 items. With
    `amplified` the draw counts for privacy, so that randomized response may keep the item more often.
    """
    sets = checked_sets(NAME, domain)
    items, ratio = len(sets.labels()), odds(epsilon)
    elements = items + slots
    if not amplified:
        inner: Channel = (
            Subset(elements, 1, _kept(ratio, elements)) if _few(items, 1, ratio) else _hashed(elements, ratio)
        )
    else:
        inner = response(elements, slots, ratio) if _few(items, slots, ratio) else _hashed(elements, ratio)
    return Mechanism(NAME, SetShares(sets), DrawnItem(items, sets.most, slots, inner), epsilon, CountItems())


def single(domain: Domain, epsilon: Decimal) -> Mechanism:
    """Randomized response or local hashing of a single answer, whichever has the smaller error."""
    size, ratio = domain.size or 2, odds(epsilon)
    if _few(size, 1, ratio):
        return Mechanism("grr", Frequency(domain), Subset(size, 1, _kept(ratio, size)), epsilon, CountOutputs())
    return Mechanism("olh", Frequency(domain), _hashed(size, ratio), epsilon, CountSupports())


def _few(items: int, slots: int, ratio: Fraction) -> bool:
    return items < slots * (4 * slots - 1) * float(ratio) + 1


def _kept(ratio: Fraction, size: int) -> int:
    return floor_unit(ratio / (ratio + size - 1))


def _hashed(elements: int, ratio: Fraction) -> Public:
    values = max(2, round(float(ratio) + 1))
    return Public(HashMap(elements, values), Subset(values, 1, _kept(ratio, values)))
