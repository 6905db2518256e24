"""Views: declarative functions of a raw answer, so that a device needs no code per protocol.

A view is a domain of its own. It encodes with the domain it looks at, which refuses what is outside, and
then maps the code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain, Numbers, domain_from_spec
from sottovoce.core.domain.circle import Circle
from sottovoce.core.domain.plain import MAX_CODES, Integers, Interval, Number, Record
from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.params import MAX_DIGITS, check_decimal, check_integer, decimal_text, reject
from sottovoce.core.specs import Spec, take


def _numeric(owner: str, of: Domain) -> Integers | Interval:
    if isinstance(of, (Integers, Interval)):
        return of
    raise reject("of", owner, "a domain of numbers (Integers or Interval)", of)


def _finite(owner: str, of: Domain) -> int:
    size = of.size if isinstance(of, Domain) else None
    if size is not None and size <= MAX_CODES:
        return size
    raise reject("of", owner, "a domain with at most 2**32 codes", of)


def _number(of: Circle | Integers | Interval, value: object) -> Fraction:
    """The raw number behind a value, after the domain accepted it."""
    code = of.encode(value)
    return Fraction(of.low + code) if isinstance(of, Integers) else Fraction(code)


@dataclass(frozen=True, slots=True)
class Bins(Domain):
    """In which bin a number lies: [low, e1), [e1, e2), ..., [em, high]."""

    kind: ClassVar[str] = "bins"
    of: Circle | Integers | Interval
    edges: tuple[Decimal, ...]

    def __init__(self, of: Circle | Integers | Interval, edges: Iterable[Number]) -> None:
        base = of if isinstance(of, Circle) else _numeric(self.kind, of)
        inner = tuple(check_decimal("edges", self.kind, edge) for edge in edges)
        ascending = all(a < b for a, b in pairwise(inner))
        if not inner or not ascending or not base.low < inner[0] or not inner[-1] <= base.high:
            raise reject("edges", self.kind, "rising numbers inside the domain", inner)
        object.__setattr__(self, "of", base)
        object.__setattr__(self, "edges", inner)

    @classmethod
    def even(cls, of: Circle | Integers | Interval, bins: int) -> Bins:
        """Bins of equal width; of numbers with a step, nearly equally many in each, with edges half way between two."""
        base = of if isinstance(of, Circle) else _numeric(cls.kind, of)
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

    @property
    def size(self) -> int:
        return len(self.edges) + 1

    def encode(self, value: object) -> int:
        number, edges, passed = _number(self.of, value), len(self.edges), 0
        for power in range(edges.bit_length() - 1, -1, -1):  # bisection with the same number of steps for every number
            further = passed + (1 << power)
            reached = Fraction(self.edges[min(further, edges) - 1]) <= number
            passed += (reached and further <= edges) << power
        return passed

    def labels(self) -> Sequence[object]:
        ends = [decimal_text(Decimal(self.of.low)), *map(decimal_text, self.edges)]
        last = decimal_text(Decimal(self.of.high))
        return [f"[{a}, {b})" for a, b in pairwise(ends)] + [f"[{ends[-1]}, {last}]"]

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "edges": [decimal_text(e) for e in self.edges]}

    @classmethod
    def from_spec(cls, spec: Spec) -> Bins:
        of, edges = take(spec, cls.kind, ("of", "edges"))
        return cls(domain_from_spec(of), _texts(edges, cls.kind))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Above(Domain):
    """Whether a number lies at or above a threshold: 1 if so, else 0."""

    kind: ClassVar[str] = "above"
    of: Integers | Interval
    threshold: Decimal

    def __init__(self, of: Integers | Interval, threshold: Number) -> None:
        object.__setattr__(self, "of", _numeric(self.kind, of))
        object.__setattr__(self, "threshold", check_decimal("threshold", self.kind, threshold))

    @property
    def size(self) -> int:
        return 2

    def encode(self, value: object) -> int:
        return int(_number(self.of, value) >= Fraction(self.threshold))

    def labels(self) -> Sequence[object]:
        return [f"below {decimal_text(self.threshold)}", f"{decimal_text(self.threshold)} or above"]

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "threshold": decimal_text(self.threshold)}

    @classmethod
    def from_spec(cls, spec: Spec) -> Above:
        of, threshold = take(spec, cls.kind, ("of", "threshold"))
        return cls(domain_from_spec(of), _texts([threshold], cls.kind)[0])  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Level(Domain):
    """The node of a hierarchy under which a code falls: level 0 is the root, each node has `branching` children."""

    kind: ClassVar[str] = "level"
    of: Domain
    branching: int
    level: int
    depth: int = field(init=False, repr=False, compare=False)  # level of the leaves
    _leaves_per_node: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        codes = _finite(self.kind, self.of)
        branching = check_integer("branching", self.kind, self.branching, 2, 1 << 20)
        depth, leaves = 0, 1
        while leaves < codes:
            depth, leaves = depth + 1, leaves * branching
        level = check_integer("level", self.kind, self.level, 1, depth)
        object.__setattr__(self, "branching", branching)
        object.__setattr__(self, "level", level)
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "_leaves_per_node", branching ** (depth - level))

    @property
    def size(self) -> int:
        return -(-_finite(self.kind, self.of) // self._leaves_per_node)

    def encode(self, value: object) -> int:
        return int(self.of.encode(value)) // self._leaves_per_node

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "branching": self.branching, "level": self.level}

    @classmethod
    def from_spec(cls, spec: Spec) -> Level:
        of, branching, level = take(spec, cls.kind, ("of", "branching", "level"))
        return cls(domain_from_spec(of), branching, level)


@dataclass(frozen=True, slots=True)
class Prefix(Domain):
    """The leading bits of a code, written in as many bits as the largest code needs."""

    kind: ClassVar[str] = "prefix"
    of: Domain
    bits: int

    _dropped: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        length = (_finite(self.kind, self.of) - 1).bit_length()
        bits = check_integer("bits", self.kind, self.bits, 1, length)
        object.__setattr__(self, "bits", bits)
        object.__setattr__(self, "_dropped", length - bits)

    @property
    def size(self) -> int:
        return (_finite(self.kind, self.of) - 1 >> self._dropped) + 1

    def encode(self, value: object) -> int:
        return int(self.of.encode(value)) >> self._dropped

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "bits": self.bits}

    @classmethod
    def from_spec(cls, spec: Spec) -> Prefix:
        of, bits = take(spec, cls.kind, ("of", "bits"))
        return cls(domain_from_spec(of), bits)


@dataclass(frozen=True, slots=True)
class Select(Domain):
    """Some fields of a record, as one code: the cell of their contingency table, last field fastest."""

    kind: ClassVar[str] = "select"
    of: Record
    names: tuple[str, ...]

    def __init__(self, of: Record, names: Iterable[str]) -> None:
        listed = tuple(names)
        if not isinstance(of, Record):
            raise reject("of", self.kind, "a record", of)
        known = dict(of.fields)
        if not listed or len(set(listed)) != len(listed) or any(name not in known for name in listed):
            raise reject("names", self.kind, f"distinct names among {', '.join(known)}", listed)
        for name in listed:
            if len(listed) > 1 and known[name].size is None:
                raise ParameterError(f"The field {name!r} has no finite list of codes to combine with others.")
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "names", listed)

    @property
    def _chosen(self) -> list[tuple[int, Domain]]:
        place = {name: i for i, (name, _) in enumerate(self.of.fields)}
        return [(place[name], self.of.fields[place[name]][1]) for name in self.names]

    @property
    def size(self) -> int | None:
        total = 1
        for _, domain in self._chosen:
            if domain.size is None:
                return None
            total *= domain.size
        return total

    @property
    def numbers(self) -> Numbers | None:
        chosen = self._chosen
        return chosen[0][1].numbers if len(chosen) == 1 else None

    def encode(self, value: object) -> Any:
        codes = self.of.encode(value)
        chosen = self._chosen
        if len(chosen) == 1:
            return codes[chosen[0][0]]
        cell = 0
        for index, domain in chosen:
            cell = cell * _finite(self.kind, domain) + codes[index]
        return cell

    def labels(self) -> Sequence[object]:
        """The values of one field, or tuples of the values of several."""
        each = [domain.labels() for _, domain in self._chosen]
        return each[0] if len(each) == 1 else list(product(*each))

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "names": list(self.names)}

    @classmethod
    def from_spec(cls, spec: Spec) -> Select:
        of, names = take(spec, cls.kind, ("of", "names"))
        return cls(domain_from_spec(of), _texts(names, cls.kind))  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Square(Domain):
    """The square of a number's distance from a centre, which need not lie in the range of the number."""

    kind: ClassVar[str] = "square"
    of: Integers | Interval
    centre: Decimal

    def __init__(self, of: Integers | Interval, centre: Number = 0) -> None:
        object.__setattr__(self, "of", _numeric(self.kind, of))
        object.__setattr__(self, "centre", check_decimal("centre", self.kind, centre))

    @property
    def image(self) -> Interval:
        """The interval the squares fill."""
        context, centre = Context(prec=260), self.centre
        low, high = (context.subtract(Decimal(end), centre) for end in (self.of.low, self.of.high))
        ends = [context.multiply(end, end) for end in (low, high)]
        return Interval(Decimal(0) if low < 0 < high else min(ends), max(ends))

    @property
    def numbers(self) -> Numbers:
        return self.image.numbers

    def encode(self, value: object) -> Fraction:
        return (_number(self.of, value) - Fraction(self.centre)) ** 2

    def foreign(self) -> list[object]:
        return self.of.foreign()

    def spec(self) -> Spec:
        return {"kind": self.kind, "of": self.of.spec(), "centre": decimal_text(self.centre)}

    @classmethod
    def from_spec(cls, spec: Spec) -> Square:
        of, centre = take(spec, cls.kind, ("of", "centre"))
        return cls(domain_from_spec(of), _texts([centre], cls.kind)[0])  # type: ignore[arg-type]


def _texts(values: object, owner: str) -> list[str]:
    if not isinstance(values, (list, tuple)) or not all(isinstance(value, str) for value in values):
        raise SpecError(f"The specification of {owner} holds a list of texts.")
    return list(values)
