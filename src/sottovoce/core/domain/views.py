"""Views of one answer: bins, thresholds, levels of a tree, parts, prefixes, fields of a record, squares."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, ClassVar

from sottovoce.core.declared import decimal, decimals, declared, delegated, integer, integers, part, texts
from sottovoce.core.domain.base import Domain, Numbers, View, domain_from_spec
from sottovoce.core.domain.circle import Circle
from sottovoce.core.domain.pair import Pair
from sottovoce.core.domain.plain import MAX_CODES, Integers, Interval, Number, Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import MAX_DIGITS, check_integer, decimal_text, reject

MOST_MERGED = 1 << 14  # codes
LISTED = 3  # merged values in a label; the others are counted


def check_numeric(name: str, owner: str, of: object) -> Integers | Interval:
    """A domain of numbers."""
    if not isinstance(of, (Integers, Interval)):
        raise reject(name, owner, "a domain of numbers (Integers or Interval)", of)
    return of


def _check_scale(name: str, owner: str, of: object) -> Circle | Integers | Interval:
    return of if isinstance(of, Circle) else check_numeric(name, owner, of)


def _check_compared(name: str, owner: str, of: object) -> Integers | Interval | Pair:
    return of if isinstance(of, Pair) and check_numeric(name, owner, of.value) else check_numeric(name, owner, of)


def check_names(owner: str, of: object, names: tuple[str, ...]) -> None:
    """Refuse names that are not those of different fields of a record."""
    if not isinstance(of, Record):
        raise reject("of", owner, "a record", of)
    known = dict(of.fields)
    if not names or len(set(names)) != len(names) or any(name not in known for name in names):
        raise reject("names", owner, f"distinct names among {', '.join(known)}", names)


def _finite(owner: str, of: Domain) -> int:
    size = of.size if isinstance(of, Domain) else None
    if size is not None and size <= MAX_CODES:
        return size
    raise reject("of", owner, "a domain with at most 2**32 codes", of)


def raw_number(of: Circle | Integers | Interval, value: object) -> Fraction:
    """The number behind a value, after the domain accepted it."""
    code = of.encode(value)
    return Fraction(of.low + code) if isinstance(of, Integers) else Fraction(code)


@declared
class Bins(View):
    """In which bin a number lies: [low, e1), [e1, e2), ..., [em, high]."""

    kind: ClassVar[str] = "bins"
    of: Circle | Integers | Interval = part("domain", domain_from_spec, _check_scale)
    edges: tuple[Decimal, ...] = decimals()

    def __init__(self, of: Circle | Integers | Interval, edges: Iterable[Number]) -> None:
        self.hold(of, edges)

    def check_fields(self) -> None:
        edges, rising = self.edges, all(a < b for a, b in pairwise(self.edges))
        if not edges or not rising or not self.of.low < edges[0] or not edges[-1] <= self.of.high:
            raise reject("edges", self.kind, "rising numbers inside the domain", edges)

    @classmethod
    def even(cls, of: Circle | Integers | Interval, bins: int) -> Bins:
        """Bins of equal width; of numbers with a step, nearly equally many in each, with edges half way between two."""
        base = _check_scale("of", cls.kind, of)
        points = base.points if isinstance(base, Interval) else None
        count = check_integer("bins", cls.kind, bins, 2, min(1 << 20, points or 1 << 20))
        if points and isinstance(base, Interval) and base.step is not None:
            wide = Context(prec=MAX_DIGITS)
            low, half = base.low, wide.divide(base.step, Decimal(2))
            firsts = (i * points // count for i in range(1, count))
            return cls(of, [wide.add(low, wide.multiply(half, Decimal(2 * first - 1))) for first in firsts])
        context = Context(prec=34)
        low, width = Decimal(base.low), context.subtract(Decimal(base.high), Decimal(base.low))
        steps = (context.divide(context.multiply(width, Decimal(i)), Decimal(count)) for i in range(1, count))
        return cls(of, [context.add(low, step) for step in steps])

    def divided(self, buckets: int) -> Bins:
        """The bins, each divided evenly into as many buckets as give about this number of buckets in all."""
        parts = max(1, round(buckets / self.size))
        ends, context = [Decimal(self.of.low), *self.edges, Decimal(self.of.high)], Context(prec=34)
        edges = []
        for low, high in pairwise(ends):
            width = context.subtract(high, low)
            shifts = (context.divide(context.multiply(width, Decimal(place)), Decimal(parts)) for place in range(parts))
            edges += [context.add(low, shift) for shift in shifts]
        return Bins(self.of, edges[1:])

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    def encode(self, value: object) -> int:
        number, edges, passed = raw_number(self.of, value), len(self.edges), 0
        for power in range(edges.bit_length() - 1, -1, -1):  # bisection with the same number of steps for every number
            further = passed + (1 << power)
            reached = Fraction(self.edges[min(further, edges) - 1]) <= number
            passed += (reached and further <= edges) << power
        return passed

    def labels(self) -> Sequence[object]:
        ends = [decimal_text(Decimal(self.of.low)), *map(decimal_text, self.edges)]
        last = decimal_text(Decimal(self.of.high))
        return [f"[{a}, {b})" for a, b in pairwise(ends)] + [f"[{ends[-1]}, {last}]"]


@declared
class Above(View):
    """Whether a number, or that of a pair with a group, lies at or above a threshold: 1 if so, else 0."""

    kind: ClassVar[str] = "above"
    size: ClassVar[int] = 2
    of: Integers | Interval | Pair = part("domain", domain_from_spec, _check_compared)
    threshold: Decimal = decimal()

    def __init__(self, of: Integers | Interval | Pair, threshold: Number) -> None:
        self.hold(of, threshold)

    def encode(self, value: object) -> int:
        if not isinstance(self.of, Pair):
            return int(raw_number(self.of, value) >= Fraction(self.threshold))
        self.of.encode(value)  # refuses what is no pair
        return int(raw_number(self.of.value, value[1]) >= Fraction(self.threshold))  # type: ignore[arg-type,index]

    def labels(self) -> Sequence[object]:
        return [f"below {decimal_text(self.threshold)}", f"{decimal_text(self.threshold)} or above"]


@declared
class Level(View):
    """The node of a hierarchy under which a code falls: level 0 is the root, each node has `branching` children."""

    kind: ClassVar[str] = "level"
    of: Domain = part("domain", domain_from_spec)
    branching: int = integer(2, 1 << 20)
    level: int = integer()
    depth: int = field(init=False, repr=False, compare=False)  # level of the leaves
    _leaves_per_node: int = field(init=False, repr=False, compare=False)

    def check_fields(self) -> None:
        codes, depth, leaves = _finite(self.kind, self.of), 0, 1
        while leaves < codes:
            depth, leaves = depth + 1, leaves * self.branching
        check_integer("level", self.kind, self.level, 1, depth)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "_leaves_per_node", self.branching ** (depth - self.level))

    @property
    def size(self) -> int:
        return -(-_finite(self.kind, self.of) // self._leaves_per_node)

    def encode(self, value: object) -> int:
        return int(self.of.encode(value)) // self._leaves_per_node


@declared
class Merged(View):
    """Codes that are merged into fewer parts: `parts` has the number of the part of each code."""

    kind: ClassVar[str] = "merged"
    of: Domain = part("domain", domain_from_spec)
    parts: tuple[int, ...] = integers(0, MOST_MERGED - 1)
    size: int = field(init=False, repr=False, compare=False)

    def check_fields(self) -> None:
        used = {*self.parts}
        if not 2 <= _finite(self.kind, self.of) == len(self.parts) <= MOST_MERGED:
            raise reject("parts", self.kind, f"a number for each of 2 to {MOST_MERGED} codes", len(self.parts))
        if len(used) < 2 or used != {*range(len(used))}:
            raise reject("parts", self.kind, "whole numbers from 0 on, at least two and each used", sorted(used)[:8])
        object.__setattr__(self, "size", len(used))

    def encode(self, value: object) -> int:
        return self.parts[int(self.of.encode(value))]

    def labels(self) -> Sequence[object]:
        """Of categories the values of each part in one text, else the numbers of the parts."""
        if self.of.choices is None:
            return range(self.size)
        held: list[list[str]] = [[] for _ in range(self.size)]
        for label, own in zip(self.of.choices, self.parts, strict=True):
            held[own].append(str(label))
        more = [f" and {len(one) - LISTED} more" if len(one) > LISTED else "" for one in held]
        return [", ".join(one[:LISTED]) + rest for one, rest in zip(held, more, strict=True)]


@declared
class Prefix(View):
    """The leading bits of a code, written in as many bits as the largest code needs."""

    kind: ClassVar[str] = "prefix"
    of: Domain = part("domain", domain_from_spec)
    bits: int = integer()
    _dropped: int = field(init=False, repr=False, compare=False)

    def check_fields(self) -> None:
        length = (_finite(self.kind, self.of) - 1).bit_length()
        object.__setattr__(self, "_dropped", length - check_integer("bits", self.kind, self.bits, 1, length))

    @property
    def size(self) -> int:
        return (_finite(self.kind, self.of) - 1 >> self._dropped) + 1

    def encode(self, value: object) -> int:
        return int(self.of.encode(value)) >> self._dropped


@declared
class Select(View):
    """Some fields of a record, as one code: the cell of their contingency table, last field fastest.

    A record may leave out the other fields: a device asks only what its view needs.
    """

    kind: ClassVar[str] = "select"
    of: Record = part("domain", domain_from_spec)
    names: tuple[str, ...] = texts()

    def __init__(self, of: Record, names: Iterable[str]) -> None:
        self.hold(of, names)

    def check_fields(self) -> None:
        check_names(self.kind, self.of, self.names)
        for name, domain in self.of.fields:
            if len(self.names) > 1 and name in self.names and domain.size is None:
                raise ParameterError(f"The field {name!r} has no finite list of codes to combine with others.")

    @property
    def parts(self) -> tuple[tuple[str, Domain], ...]:
        """The chosen fields in the order of their names."""
        known = dict(self.of.fields)
        return tuple((name, known[name]) for name in self.names)

    @property
    def size(self) -> int | None:
        total = 1
        for _, domain in self.parts:
            if domain.size is None:
                return None
            total *= domain.size
        return total

    @property
    def numbers(self) -> Numbers | None:
        chosen = self.parts
        return chosen[0][1].numbers if len(chosen) == 1 else None

    def encode(self, value: object) -> Any:
        codes = self.of.held_codes(value, self.names)
        if len(self.names) == 1:
            return codes[self.names[0]]
        cell = 0
        for name, domain in self.parts:
            cell = cell * _finite(self.kind, domain) + codes[name]
        return cell

    def labels(self) -> Sequence[object]:
        """The values of one field, or tuples of the values of several."""
        label_lists = [domain.labels() for _, domain in self.parts]
        return label_lists[0] if len(label_lists) == 1 else list(product(*label_lists))


@declared
class Square(View):
    """The square of a number's distance from a centre, which need not lie in the range of the number."""

    kind: ClassVar[str] = "square"
    of: Integers | Interval = part("domain", domain_from_spec, check_numeric)
    centre: Decimal = decimal()
    numbers = delegated("image.numbers")

    def __init__(self, of: Integers | Interval, centre: Number = 0) -> None:
        self.hold(of, centre)

    @property
    def image(self) -> Interval:
        """The interval the squares fill."""
        context, centre = Context(prec=260), self.centre
        low, high = (context.subtract(Decimal(end), centre) for end in (self.of.low, self.of.high))
        ends = [context.multiply(end, end) for end in (low, high)]
        return Interval(Decimal(0) if low < 0 < high else min(ends), max(ends))

    def encode(self, value: object) -> Fraction:
        return (raw_number(self.of, value) - Fraction(self.centre)) ** 2
