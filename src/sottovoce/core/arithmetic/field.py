"""Arithmetic in small finite fields: the integers modulo a prime, or polynomials over two elements."""

from __future__ import annotations

from functools import lru_cache

MAX_ORDER = 1 << 12
MAX_BINARY = 1 << 8  # largest power of two: its multiplication table stays small


def is_prime(n: int) -> bool:
    """Whether a small number is prime."""
    return n >= 2 and all(n % d for d in range(2, int(n**0.5) + 1))


def is_order(g: int) -> bool:
    """Whether there is a field of this order here: a prime, or a power of two."""
    return 2 <= g <= MAX_ORDER and (is_prime(g) or (g <= MAX_BINARY and g & (g - 1) == 0))


def digits(codes: int, base: int) -> int:
    """How many digits in a base write every code below a number."""
    count, reach = 1, base
    while reach < codes:
        count, reach = count + 1, reach * base
    return count


@lru_cache(maxsize=16)
def polynomial(g: int) -> int:
    """The least irreducible polynomial of a field of 2**r elements, as a bit mask; 0 for a prime order."""
    if is_prime(g):
        return 0
    degree = g.bit_length() - 1
    for candidate in range(g, 2 * g):
        if all(_remainder(candidate, divisor) for divisor in range(2, 1 << (degree // 2 + 1))):
            return candidate
    raise ValueError(f"There is no field of {g} elements here.")


def _remainder(value: int, divisor: int) -> int:
    """The remainder of polynomials over two elements."""
    while value.bit_length() >= divisor.bit_length():
        value ^= divisor << (value.bit_length() - divisor.bit_length())
    return value


def multiply(a: int, b: int, g: int) -> int:
    """The product of two elements."""
    modulus = polynomial(g)
    if not modulus:
        return a * b % g
    degree = g.bit_length() - 1
    product = 0
    for place in range(degree):  # as many steps for all elements: some of them are private
        product ^= (a << place) * (b >> place & 1)
    for place in range(degree - 2, -1, -1):
        product ^= (modulus << place) * (product >> (place + degree) & 1)
    return product


@lru_cache(maxsize=32)
def inverses(g: int) -> tuple[int, ...]:
    """The inverse of each element modulo a prime; 0 for 0."""
    inverse = [0, 1]
    for element in range(2, g):  # g = a element + b, so 1 / element = -a / b
        inverse.append(-(g // element) * inverse[g % element] % g)
    return tuple(inverse)


def add(a: int, b: int, g: int) -> int:
    """The sum of two elements."""
    return a ^ b if polynomial(g) else (a + b) % g


def dot(a: int, b: int, g: int, digits: int) -> int:
    """The inner product of two vectors, each written as a number with `digits` digits in base g."""
    if g == 2:
        return (a & b).bit_count() & 1
    total = 0
    for _ in range(digits):
        total = add(total, multiply(a % g, b % g, g), g)
        a //= g
        b //= g
    return total
