"""What group mechanisms share: a key, an inner channel, a neutral law, and the split of the budget between them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from math import inf
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, ceil_unit, floor_unit, odds
from sottovoce.core.channel import Bits, Channel, Keyed, Subset
from sottovoce.core.channel.compose.keyed import neutral_law, odds_left
from sottovoce.core.channel.facets import Numeric, Rounded, need
from sottovoce.core.domain import Domain, Pair
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, reject
from sottovoce.core.question import GroupMean
from sottovoce.core.statistic.keyed import CountKeyed

NOTHING_LEFT = 1 + Fraction(1, 1 << 20)  # odds of a key below which it is uninformative
KEYS = ("grr", "subset", "unary")
Inner = Callable[..., Mechanism]  # the builder of a mechanism for the mean of the values
_FIRST = (Decimal("0.4"), Decimal("0.6"), Decimal("0.8"), Decimal(1))  # shares of the budget, tried for the value
_STEPS = (Decimal("0.1"), Decimal("0.05"))  # to either side of the best so far
_LOOKS = 9  # values of the range at which the noise is averaged


def build_group(
    name: str,
    domain: Domain,
    epsilon: Any,
    inner: Inner,
    value_epsilon: Any,
    key: str,
    least: Decimal = Decimal(0),
) -> Mechanism:
    """The mechanism with this inner channel; without a given budget for the value, the split of least variance.

    `least` is the smallest budget that the inner channel has room for.
    """
    budget = check_epsilon(name, epsilon)
    if not isinstance(domain, Pair):
        raise ParameterError(
            f"The 'domain' parameter of {name} must be a Pair of groups and numbers, such as"
            " Pair(Categories(['f', 'm']), Interval(0, 100))."
        )
    if key not in KEYS:
        raise reject("key", name, f"one of {', '.join(KEYS)}", key)
    if value_epsilon is not None:
        part = check_decimal("value_epsilon", name, value_epsilon)
        if not 0 < part <= budget:
            raise reject("value_epsilon", name, f"a number in (0, {budget}]", value_epsilon)
        channel = keyed(domain, inner(domain.value, epsilon=part).channel, budget, key)
        if channel is None:
            raise reject("value_epsilon", name, "smaller: it leaves nothing for the group", value_epsilon)
    else:
        channel = _best_split(domain, inner, budget, key, least)
        if channel is None:
            raise reject("epsilon", name, "larger: it leaves nothing for the group", epsilon)
    return Mechanism(name, GroupMean(domain.group, domain.value), channel, budget, CountKeyed())


def _best_split(domain: Pair, inner: Inner, budget: Decimal, key: str, least: Decimal) -> Keyed | None:
    """The split of least variance: a coarse grid, then finer steps around its best."""
    channels: dict[Decimal, Keyed | None] = {}

    def cost(share: Decimal) -> float:
        if share not in channels:
            allowed = 0 < share <= 1 and budget * share >= least
            value = inner(domain.value, epsilon=budget * share).channel if allowed else None
            channels[share] = None if value is None else keyed(domain, value, budget, key)
        channel = channels[share]
        return inf if channel is None else mean_variance(channel)

    best = min(_FIRST, key=cost)
    for step in _STEPS:
        best = min((best, best - step, best + step), key=cost)
    return channels[best]


def keyed(domain: Pair, inner: Channel, budget: Decimal, key: str) -> Keyed | None:
    """The inner channel behind the most informative key that the budget still allows; None if there is none."""
    neutral = neutral_law(inner)
    left = odds_left(odds(budget), inner, neutral)
    if left <= NOTHING_LEFT:
        return None
    return Keyed(group_key(domain.group.size or 0, left, key), inner, neutral)


def group_key(groups: int, e: Fraction, key: str) -> Subset | Bits:
    """Randomized response, subset selection or unary encoding of the group, with the ratio e."""
    if key == "unary":
        return Bits(groups, UNIT // 2, ceil_unit(1 / (e + 1)))
    w = max(1, min(groups - 1, round(groups / (e + 1)))) if key == "subset" else 1
    return Subset(groups, w, floor_unit(e * w / (e * w + groups - w)))


def mean_variance(channel: Keyed) -> float:
    """About n times the variance of a group's mean, for equally large groups and values spread over the range.

    A group's mean is a ratio, sum over size, so this is the variance of its linear part at the expected sizes: that of
    sum - mean * size, which one report moves by a / (p - both) - mean s / (p - q); s is 1 if the report supports
    the group, and a is its reading then.
    """
    groups = channel.key.inputs
    p, q, crossed_rate = _rates(channel.key)
    second, neutral, spread = _squares(channel)
    if p <= q or p <= crossed_rate:
        return inf
    share = 1 / groups
    square = (share * p + (1 - share) * crossed_rate) * second + (1 - share) * (q - crossed_rate) * neutral
    size = (share * p + (1 - share) * q) * spread / (p - q) ** 2
    crossed = share * p * spread / ((p - crossed_rate) * (p - q))
    return (square / (p - crossed_rate) ** 2 - 2 * crossed + size) / share**2


def _rates(key: Subset | Bits) -> tuple[float, float, float]:
    """How often a report supports its own group, another one, and both."""
    rates, pair = key.rates(), key.pair()
    if rates is None or pair is None:
        raise TypeError(f"A {key.kind} channel cannot be a key.")
    return float(rates[0]), float(rates[1]), float(pair[0])


def _squares(channel: Keyed) -> tuple[float, float, float]:
    """Mean squares, about the mean of the neutral law: of a reading, of a neutral one, and of the value itself."""
    inner, grid = need(channel.inner, Numeric), need(channel.inner, Rounded).rounding
    scales = inner.scales()
    numbers = [
        (y - float(scale.origin)) / float(scale.slope)
        for scale, end in zip(scales, [*(scale.first for scale in scales[1:]), channel.inner_outputs], strict=True)
        for y in range(scale.first, end)
    ]
    weights = [weight / UNIT for weight in channel.neutral]
    centre = sum(w * number for w, number in zip(weights, numbers, strict=True))
    neutral = sum(w * (number - centre) ** 2 for w, number in zip(weights, numbers, strict=True))
    low, high = Fraction(grid.low), Fraction(grid.high)
    looks = [low + (high - low) * Fraction(2 * i + 1, 2 * _LOOKS) for i in range(_LOOKS)]
    moments = [tuple(map(float, inner.moments(look))) for look in looks]
    second = sum(m2 - 2 * centre * m1 + centre**2 for m1, m2 in moments) / _LOOKS
    spread = sum((float(look) - centre) ** 2 for look in looks) / _LOOKS
    return second, neutral, spread
