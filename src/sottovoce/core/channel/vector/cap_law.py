"""The law of one coordinate of a random direction, cut at a threshold: shares, quantiles and moments, in floats.

`cap`, `tail` and `signed_share` call nothing but `math`, so that the vectorised sampler compiles these very functions.
"""

from __future__ import annotations

import math

_LOG_HALF = math.log(0.5)
_ROOT_HALF = math.sqrt(0.5)
_LARGE = 100  # from where on the series for a ratio of two gamma functions is exact to the last place


def log_norm(dimensions: int) -> float:
    """ln C, where C (1 - t**2)**((d - 3) / 2) is the density of a coordinate t of a uniform direction.

    C = Gamma(d / 2) / (sqrt(pi) Gamma((d - 1) / 2)). The logarithms of large gamma functions differ by little, so their
    difference is computed as a series.
    """
    z = (dimensions - 1) / 2
    if dimensions < _LARGE:
        ratio = math.lgamma(z + 0.5) - math.lgamma(z)
    else:
        ratio = 0.5 * math.log(z) - 1 / (8 * z) + 1 / (192 * z**3) - 1 / (640 * z**5)
    return ratio - 0.5 * math.log(math.pi)


def cap(number: float, dimensions: int, norm: float, find: bool) -> float:
    """The logarithm of the share of directions within an angle of at most pi/2 of a pole; or the angle of a share.

    The share is that of an incomplete beta function, by its continued fraction (modified Lentz). Its logarithm is a
    concave function of the angle, and the share is at most sin(angle)**(d - 1) / 2; so Newton's method starts at the
    angle where that bound is the share, and rises to the one searched for. `norm` is `log_norm(dimensions)`.
    """
    angle, goal = number, 0.0
    if find:
        goal = math.log(number)
        start = (goal - _LOG_HALF) / (dimensions - 1)
        angle = math.atan2(math.exp(start), math.sqrt(max(0.0, -math.expm1(2 * start))))
    for _ in range(100):
        sine, cosine = math.sin(angle), math.cos(angle)
        log_sine = math.log(sine) if cosine > 0.5 else 0.5 * math.log1p(-cosine * cosine)
        a, b, x = (dimensions - 1) / 2, 0.5, sine * sine
        swapped = x * (a + b + 2) > a + 1  # there the fraction of the other tail converges
        if swapped:
            a, b, x = b, a, cosine * cosine
        front = 1.0
        under = 1 / (1 - (a + b) * x / (a + 1))
        fraction = under
        for m in range(1, 10_000):
            even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
            under = 1 / (1 + even * under)
            front = 1 + even / front
            fraction *= under * front
            odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
            under = 1 / (1 + odd * under)
            front = 1 + odd / front
            change = under * front
            fraction *= change
            if abs(change - 1) < 2e-16:
                break
        log_front = (dimensions - 1) * log_sine + math.log(abs(cosine) + 1e-300) + norm + math.log(fraction / a)
        log_share = _LOG_HALF + (math.log1p(-math.exp(log_front)) if swapped else log_front)
        if not find:
            return log_share
        step = (goal - log_share) * math.exp(log_share - (dimensions - 2) * log_sine - norm)
        angle = min(angle + step, math.pi / 2)
        if step < 1e-14 * angle:
            break
    return angle


def tail(share: float) -> float:
    """The number above which a standard normal one lies with a probability of at most a half.

    The logarithm of the share is concave, and the share is at most exp(-x**2 / 2) / 2; so Newton's method falls from
    where that bound is the share to the number searched for.
    """
    goal = math.log(share)
    x = math.sqrt(max(0.0, 2 * (_LOG_HALF - goal)))
    for _ in range(100):
        above = 0.5 * math.erfc(x * _ROOT_HALF)
        step = (math.log(above) - goal) * above * math.sqrt(2 * math.pi) * math.exp(x * x / 2)
        x = max(x + step, 0.0)
        if -step < 1e-14 * (1 + x):
            break
    return x


def signed_share(inside: bool, number: float, above: float, below: float) -> float:
    """The share of all vectors that lie farther along than the one to be drawn; or, with a minus, less far.

    The vector is uniform on the part of the cap, or on the rest, whichever was chosen. The smaller of the two shares is
    returned, because it has more digits.
    """
    share = number * above if inside else above + number * below
    if share <= 0.5:
        return share
    return -min((1 - number) * below, 0.5)
