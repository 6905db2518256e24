"""What mean mechanisms share: the grid of their domain, windows and noise whose likelihoods keep a budget."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from math import ceil, log, log2

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds
from sottovoce.core.channel import Noise, Rounding, Subset, Then, Window
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError

_EXACT = Context(prec=400)
_FINE = Context(prec=40)
WAYS = tuple(1 << power for power in range(10, 17))  # of a window: steps of a range, to which numbers are rounded
_NARROWEST = 16  # outputs of a window, so that a uniform choice of them is like one of real numbers
_MISFIT = 0.004  # of the width of a window
_BIAS = 1e-10  # of the range, that clamped noise may have
_MOST_BANDS = 1 << 16


def scale(owner: str, domain: Domain, steps: int) -> Rounding:
    """The grid to which the answers of a domain of numbers are rounded."""
    numbers = domain.numbers if isinstance(domain, Domain) else None
    if numbers is None:
        raise ParameterError(f"The 'domain' parameter of {owner} must be a domain of numbers, such as Interval(0, 10).")
    low, high = (_EXACT.divide(Decimal(end.numerator), Decimal(end.denominator)) for end in numbers[:2])
    return Rounding(low, high, steps)


def power_of_two(least: float) -> int:
    """The smallest power of two that is not below a number."""
    return 1 << max(0, ceil(log2(least)))


def coin(e: Fraction) -> Subset:
    """Randomized response on two outcomes with the odds e."""
    return Subset(2, 1, floor_unit(e / (e + 1)))


def window(e: Fraction, narrowing: float) -> Window:
    """A window as wide as its way divided by `narrowing`, with the likelihood ratio e.

    The way is the coarsest power of two on which that width is nearly whole: powers of two, so that
    rounding a grid point once more, to the ends of the range, is exact.
    """
    for way in WAYS:
        width = max(1, round(way / narrowing))
        if width >= _NARROWEST and abs(width * narrowing / way - 1) < _MISFIT:
            break
    return Window(way + 1, 1, width, floor_unit(e * width / (e * width + way)))


def bands(owner: str, budget: Decimal) -> int:
    """The number of bands of noise, large enough that clamping beyond them biases it by about `_BIAS`."""
    count = 3 + ceil(log(max(1.0, 1 / float(budget)) / _BIAS) / float(budget))
    if count > _MOST_BANDS:
        raise ParameterError(f"The noise of {owner} on a grid needs a larger epsilon than {budget}.")
    return count


def noise(owner: str, budget: Decimal, first: Sequence[int], cycle: Sequence[int]) -> Noise:
    """Noise with these profiles of its bands, each less likely than the one before by the full budget."""
    e, count = odds(budget), bands(owner, budget)
    # The ratio of a magnitude of band 0 and the one a range beyond, in band 1; later bands share one profile.
    start = len(cycle) - len(first)
    steepest = max(Fraction(weight, cycle[start + m]) for m, weight in enumerate(first))
    low, high = 1, UNIT
    while high - low > 1:  # the largest weight of band 0 that leaves enough for the others
        middle = (low + high) // 2
        low, high = (middle, high) if sum(_bands(middle, steepest, e, count, cycle)) <= UNIT else (low, middle)
    weights = _bands(low, steepest, e, count, cycle)
    weights[-1] += UNIT - sum(weights)
    return Noise(len(cycle), tuple(first), tuple(cycle), tuple(weights))


def _bands(first: int, steepest: Fraction, e: Fraction, count: int, cycle: Sequence[int]) -> list[int]:
    """The least weights that may follow that of band 0, each rounded up; the last holds the whole tail.

    A band so unlikely that, rounded up, its first magnitude would be likelier than the last one of the band before is
    left to the tail.
    """
    bands = [first, ceil(first * steepest / e)]
    while len(bands) < count - 1:
        following = -(-bands[-1] * e.denominator // e.numerator)
        if following * cycle[0] > bands[-1] * cycle[-1]:
            break
        bands.append(following)
    return [*bands, ceil(bands[-1] / (e - 1))]


def level(length: int) -> list[int]:
    """Equal weights; the remainder goes to the first, because larger magnitudes must not be likelier."""
    weight, rest = divmod(UNIT, length)
    return [weight + 1] * rest + [weight] * (length - rest)


def geometric(budget: Decimal, steps: int) -> list[int]:
    """Weights e**(-budget m / steps), in units."""
    weights = [_FINE.exp(-budget * m / steps) for m in range(steps)]
    total = sum(weights)
    later = [int(UNIT * weight / total) for weight in weights[1:]]
    return [UNIT - sum(later), *later]


def staircase(owner: str, domain: Domain, budget: Decimal, share: float, steps: int) -> Then:
    """Noise in equal steps of the length of the range, with a central one of twice `share` of it."""
    centre = min(max(1, round(share * steps)), steps)
    return Then(scale(owner, domain, steps), noise(owner, budget, level(centre), level(steps)))
