"""What the family shares: the split of two budgets over hashes, the public functions, and the two rounds."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.field import digits, is_order, is_prime
from sottovoce.core.arithmetic.rational import UNIT, floor_unit, odds, sqrt_down, units
from sottovoce.core.channel import Bits, BloomMap, Chain, NumberedMap, PermutationMap, PoolMap, RowMap, Subset
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import MAX_CELLS
from sottovoce.core.params import check_epsilon, check_integer, count_text, reject
from sottovoce.mechanisms.published_common import two_rates

MOST_LISTED = 1 << 10  # codes of a closed domain whose balanced functions are few enough to be cohorts
LEAST_LENGTH = 8  # positions of a block: fewer save nothing and collide more often
MAX_HASHES = 8
OPEN_BITS, OPEN_COHORTS = 128, 64
MORE_COHORTS = 1 << 10  # where a device does not draw ids until one is of its cohort
MAX_BITS, MAX_COHORTS = 1 << 12, 1 << 10
MOST_VALUES = 8  # values that are tried on closed domains: more hardly collide less


def each_hash(budget: Decimal, hashes: int) -> Decimal:
    """The part of a budget for one hash, rounded down."""
    return Context(prec=50, rounding=ROUND_FLOOR).divide(budget, Decimal(hashes))


def lifetime(owner: str, budget: Decimal, forever: Any) -> Decimal:
    """The budget of all reports of one unchanged value together: by default twice that of one report."""
    total = check_epsilon(owner, min(2 * budget, Decimal(20)) if forever is None else forever)
    if not total > budget:
        raise reject("epsilon_forever", owner, f"a number above epsilon, which is {budget}", forever)
    return total


def countable(owner: str, domain: Domain) -> int:
    """How many codes there are."""
    if domain.size is None or domain.size < 2:
        sentence = f"The 'domain' parameter of {owner} must have at least 2 and finitely many codes."
        raise ParameterError(sentence, "a continuum" if domain.size is None else count_text(domain.size))
    return domain.size


def functions(
    owner: str, domain: Domain, hashes: int, bits: Any, cohorts: Any, default: int = OPEN_COHORTS
) -> NumberedMap:
    """Balanced functions for a closed domain; hashed ones for an open one, or where their number is given."""
    size = countable(owner, domain)
    if domain.is_open or cohorts is not None:
        wide = check_integer("bits", owner, OPEN_BITS if bits is None else bits, 2 * hashes, MAX_BITS)
        rows = check_integer("cohorts", owner, default if cohorts is None else cohorts, 2, MAX_COHORTS)
        if wide % hashes or (wide // hashes) & (wide // hashes - 1):
            raise reject("bits", owner, "a power of two for each hash", bits)
        return RowMap(size, wide // hashes, hashes, rows)
    if size > MOST_LISTED:
        sentence = (
            f"The 'domain' parameter of {owner} must have from 2 to {MOST_LISTED} codes, or be Text, unless cohorts"
            " are given."
        )
        raise ParameterError(sentence, count_text(size))
    length = _length(size) if bits is None else check_integer("bits", owner, bits, 2 * hashes, 256 * hashes) // hashes
    if bits is not None and (bits % hashes or not is_order(length) or length ** digits(size, length) > MAX_COHORTS):
        raise reject("bits", owner, f"a prime or a power of two for each hash, with at most {MAX_COHORTS} maps", bits)
    if hashes == 1:
        return PoolMap(size, length, digits(size, length))
    return BloomMap(size, length, digits(size, length), hashes)


def _length(size: int) -> int:
    """Positions of a block: at least eight, and so many that two digits write each code."""
    return next(order for order in range(LEAST_LENGTH, size + LEAST_LENGTH) if is_order(order) and order**2 >= size)


def bits_of(chosen: NumberedMap, hashes: int, p: int, q: int) -> Bits:
    """One bit in each block, kept with p, others set with q."""
    length = chosen.g  # type: ignore[attr-defined]
    return Bits(length * hashes, p, q, "onehot" if hashes == 1 else "blocks", hashes)


def kept(budget: Decimal) -> int:
    """The symmetric probability whose two differing bits lose at most a budget: p**2 / (1 - p)**2."""
    root = sqrt_down(odds(budget))
    return floor_unit(root / (root + 1))


def two_rounds(first: Bits, once: Decimal) -> Chain:
    """A memo of bits and a fresh round after which two differing bits lose a budget.

    After both rounds a set bit is sent with p* = 1/2, as in optimised unary encoding, where the memo is fine enough,
    else with p* = 1 - q*. The second probability of the fresh round is the smallest that the budget allows.
    """
    keep, allowed = units(first.p), odds(once)  # type: ignore[arg-type]
    narrow = 2 * keep - 1  # what the memo leaves of a difference
    step = (Fraction(1, 2) - 1 / (allowed + 1)) / narrow
    high = Fraction(1, 2) + (1 - keep) * step
    if high - step <= Fraction(1, 1 << 20):
        root = sqrt_down(allowed)
        high = (1 + (root - 1) / (root + 1) / narrow) / 2
    p = min(floor_unit(high), UNIT - 1)
    return Chain(first, Bits(first.k, p, _least(keep, p, allowed), "mask", 0))


def two_responses(values: int, forever: Decimal, once: Decimal) -> Chain:
    """Randomized response that is kept, then fresh randomized response: all reports of a value lose one budget, each
    report the other."""
    allowed = odds(forever)
    first = Subset(values, 1, floor_unit(allowed / (allowed + values - 1)))
    return Chain(first, Subset(values, 1, fresh_keep(first.rates().own, values, odds(once))))


def fresh_keep(kept: Fraction, values: int, allowed: Fraction) -> int:
    """How often fresh randomized response keeps a memo, at most, for both stages to have these odds."""
    other, both = (1 - kept) / (values - 1), allowed / (allowed + values - 1)
    if kept <= other:
        raise ParameterError("This budget is too small for a memo and fresh noise.")
    return floor_unit((both - other) / (kept - other))


def published_rounds(owner: str, first: Bits, forever: Any, p: Any, q: Any) -> Chain:
    """A memo of bits and a fresh round with published probabilities."""
    if forever is not None:
        raise ParameterError(f"Give {owner} either epsilon_forever or f, p and q: epsilon_forever follows from f.")
    return Chain(first, Bits(first.k, *two_rates(owner, p, q), "mask", 0))


def _least(keep: Fraction, p: int, allowed: Fraction) -> int:
    """The smallest q of the fresh round with p* (1 - q*) / (q* (1 - p*)) at most as large as allowed."""

    def within(q: int) -> bool:
        high, low = units(p), units(q)
        own, other = keep * high + (1 - keep) * low, (1 - keep) * high + keep * low
        return own * (1 - other) <= allowed * other * (1 - own)

    below, above = 0, p - 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if within(middle) else (middle, above)
    return above


def rows_or_permutations(
    owner: str,
    domain: Domain,
    g: Any,
    cohorts: Any,
    variance: Callable[[int, Fraction], float],
    more: int,
) -> PermutationMap | RowMap:
    """Permutations with the number of values of least variance; a tally has g + `more` cells for each of them."""
    size = countable(owner, domain)
    if domain.is_open or cohorts is not None:
        rows = check_integer("cohorts", owner, MORE_COHORTS if cohorts is None else cohorts, 2, MAX_COHORTS)
        powers = [1 << place for place in range(1, OPEN_BITS.bit_length())]
        best = min(powers, key=lambda one: variance(one, Fraction(1, one)))
        return RowMap(size, best if g is None else check_integer("g", owner, g, 2, 1 << 12), 1, rows)
    prime = next((one for one in range(max(size, 3), 2 * size + 3) if is_prime(one)), 0) if size < MAX_CELLS else 0
    fitting = [one for one in range(2, min(prime, MOST_VALUES) + 1) if prime * (prime - 1) * (one + more) <= MAX_CELLS]
    if not fitting:
        sentence = (
            f"The 'domain' parameter of {owner} must have so few codes that a tally of all permutations has at most"
            " 2**24 cells, or be Text, unless cohorts are given."
        )
        raise ParameterError(sentence, count_text(size))
    if g is not None:
        return PermutationMap(size, prime, check_integer("g", owner, g, 2, fitting[-1]))
    maps = [PermutationMap(size, prime, one) for one in fitting]
    return min(maps, key=lambda one: variance(one.g, one.collision))
