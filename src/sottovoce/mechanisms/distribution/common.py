"""What waves share: how wide they are, and how the answers of a domain reach their codes."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import ArcSets, Block, Rounding, Window
from sottovoce.core.domain import Bins, Circle, Domain, Interval
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer

BUCKETS = 256  # of a continuum, where numbers are put into buckets first and no other number is asked for
MOST_POINTS = 1 << 10  # numbers of an interval with a step that are buckets of their own, if nothing else is asked for
MOST_CODES = 1 << 16
_TINY = Decimal("1e-15")  # budgets below which the formulas of a bandwidth have lost their digits


def bandwidth(epsilon: Decimal) -> Fraction:
    """Half the width of a square wave, as a part of the range, that maximises the mutual information.

    b = (epsilon e**epsilon - e**epsilon + 1) / (2 e**epsilon (e**epsilon - 1 - epsilon)): it bounds the information
    that a report has about its answer, whatever the answers are. It falls from 1/2 at epsilon 0.
    """
    if epsilon < _TINY:
        return Fraction(1, 2)
    e, budget = odds(epsilon), Fraction(epsilon)
    return (budget * e - e + 1) / (2 * e * (e - 1 - budget))


def arc_share(epsilon: Decimal) -> Fraction:
    """The part of a circle that a square wave on it covers, by the same criterion.

    The reports of a circle are no longer than the circle: the information of a share s is
    s e**epsilon epsilon / z - ln z with z = s (e**epsilon - 1) + 1, which is largest where
    z = epsilon e**epsilon / (e**epsilon - 1).
    """
    if epsilon < _TINY:
        return Fraction(1, 2)
    e, budget = odds(epsilon), Fraction(epsilon)
    return (budget * e / (e - 1) - 1) / (e - 1)


def wave(codes: int, width: int, e: Fraction) -> Window:
    """A window over so many outputs that moves by one output from each code to the next, with the ratio e."""
    return Window(codes, 1, width, floor_unit(e * width / (e * width + codes - 1)))


def arc(codes: int, outputs: int, size: int, e: Fraction) -> Block:
    """A window on a circle of outputs, moving around it from code to code, with the ratio e."""
    return Block(ArcSets(codes, outputs, size), floor_unit(e * size / (e * size + outputs - size)))


def rounded(domain: Interval | Circle, steps: int) -> Rounding:
    """The grid to which the numbers of a continuum are rounded."""
    return Rounding(domain.low, domain.high, steps)


def coded(owner: str, domain: Domain, buckets: int | None) -> Domain:
    """A view of the domain with as many codes as there are buckets; the domain itself where it has these codes."""
    size = check_domain(owner, domain).size
    if size is not None and buckets in (None, size) and size <= MOST_CODES:
        return domain
    if domain.choices is not None:
        raise ParameterError(f"The categories of {owner} are its buckets: leave out 'buckets', or make it {size}.")
    if domain.scalar is None:
        raise ParameterError(f"A domain of kind {domain.kind} has no buckets.")
    most = min(domain.points or MOST_CODES, MOST_CODES)
    usual = most if most <= MOST_POINTS else BUCKETS
    return Bins.even(domain.scalar, check_integer("buckets", owner, usual if buckets is None else buckets, 2, most))


def check_domain(owner: str, domain: Domain) -> Domain:
    """A domain over which answers are distributed."""
    if domain.scalar is None and domain.choices is None:
        raise ParameterError(
            f"The 'domain' parameter of {owner} must be an Interval, Integers, Categories in their order, or a Circle."
        )
    return domain
