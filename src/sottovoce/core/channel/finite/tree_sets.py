"""Public sets of a `Block` for one level of a hierarchy: a code is reported through the node that it falls under."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.arithmetic.field import MAX_ORDER, dot, is_order, polynomial
from sottovoce.core.channel.facets import Rates
from sottovoce.core.declared import INTEGER, Declared, Form, declared, delegated, integer
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import check_integer, reject

MAX_CODES = 1 << 24
_SMALL = 4  # codes of a small instance: two levels of two


@declared
class NodeSets(Declared):
    """Each node is an output of its own, so a block is k-ary randomized response on the nodes of a level.

    Code c falls under node c // width.
    """

    kind: ClassVar[str] = "nodes"
    size: ClassVar[int] = 1
    codes: int = integer(2, MAX_CODES)
    width: int = integer()
    outputs = delegated("nodes")

    def check_fields(self) -> None:
        check_integer("width", self.kind, self.width, 1, self.codes - 1)

    @property
    def nodes(self) -> int:
        """How many nodes the level has."""
        return -(-self.codes // self.width)

    def member(self, code: int, output: int) -> bool:
        return output == code // self.width

    def output(self, code: int, index: int, inside: bool) -> int:
        """The node itself, or the index-th other one."""
        node = code // self.width
        return (index + (index >= node), node)[inside]

    def rates(self, inside: Fraction) -> Rates | None:
        """None where several codes share a node: a report then supports all of them."""
        return Rates(inside, (1 - inside) / (self.outputs - 1)) if self.width == 1 else None

    def miniatures(self) -> tuple[NodeSets, ...]:
        return (type(self)(min(self.codes, _SMALL), min(self.width, 2)),)


@declared
class PoolSets(Declared):
    """Pairs of a linear map over the field of g elements and the value that it gives the node.

    A node is the vector of its digits in base g. An output is map * g + value, so a block draws a uniform map and sends
    the map's value of the node through randomized response on g values: local hashing with a balanced pool, and for
    g = 2 Hadamard randomized response.

    `odd` (for g = 2) keeps the maps that tell a node from its sibling, the other node under the same parent: those
    whose lowest digit is 1. Then reports say nothing about sums over siblings, only about their difference: these are
    the Haar coefficients of one level.
    """

    kind: ClassVar[str] = "pool"
    derived: ClassVar[Mapping[str, Form]] = {"polynomial": INTEGER}
    codes: int = integer()
    width: int = integer()
    g: int = integer(2, MAX_ORDER)
    digits: int = integer(1, 24)
    odd: int = integer(default=0)
    size = delegated("maps")

    def check_fields(self) -> None:
        plain = NodeSets(self.codes, self.width)
        if not is_order(self.g):
            raise reject("g", self.kind, "a prime, or a power of two up to 256", self.g)
        check_integer("odd", self.kind, self.odd, 0, 1 if self.g == 2 else 0)
        if not plain.nodes <= self.g**self.digits <= MAX_CODES:
            raise ParameterError(f"Vectors of digits must number the {plain.nodes} nodes, and be at most 2**24.")

    @property
    def polynomial(self) -> int:
        """The polynomial of the field of g elements."""
        return polynomial(self.g)

    @property
    def nodes(self) -> int:
        """How many nodes the level has."""
        return -(-self.codes // self.width)

    @property
    def maps(self) -> int:
        """How many maps there are."""
        return int(self.g**self.digits) >> self.odd

    @property
    def outputs(self) -> int:
        return self.maps * self.g

    def value(self, number: int, code: int) -> int:
        """The value that the map with this number gives the node of a code."""
        return dot(number << self.odd | self.odd, code // self.width, self.g, self.digits)

    def member(self, code: int, output: int) -> bool:
        number, value = divmod(output, self.g)
        return value == self.value(number, code)

    def output(self, code: int, index: int, inside: bool) -> int:
        """The index-th map with its value; or each map in turn with each of the other values."""
        others = self.g - 1
        number, further = divmod(index * (1, others)[inside], others)
        value = self.value(number, code)
        return number * self.g + (value + (1 + further) * (not inside)) % self.g

    def rates(self, inside: Fraction) -> Rates | None:
        """Two nodes have the same value under one map in g; None where codes are not all alike."""
        return Rates(inside, Fraction(1, self.g)) if self.width == 1 and not self.odd else None

    def miniatures(self) -> tuple[PoolSets, ...]:
        codes, width, g = min(self.codes, _SMALL), min(self.width, 2), min(self.g, 3)
        digits = 1 if g >= -(-codes // width) else 2
        return (type(self)(codes, width, g, digits, self.odd),)
