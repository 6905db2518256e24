"""`Window`: outputs near the code are likely, all others less so; the mean report is exactly linear in the code."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from sottovoce.core.arithmetic.rational import UNIT, floor_unit, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, check_informative
from sottovoce.core.channel.facets import Costed, Extremal, Numeric, Scale
from sottovoce.core.channel.shapes import Indexed
from sottovoce.core.coins import Coins
from sottovoce.core.declared import declared, delegated, in_units, integer
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort, summed

MAX_OUTPUTS = 1 << 24


@declared
class Window(Indexed, Numeric, Extremal, Costed):
    """With probability `inside` uniform over the `width` outputs from stride * code on, else uniform over the rest.

    The last window ends with the last output, so that every window lies inside whole: the mean report is exactly linear
    in the code, and its mean square exactly quadratic. Borders rounded to the outputs one by one would bias both.
    """

    kind: ClassVar[str] = "window"
    words: ClassVar[int] = 2
    k: int = integer(2, MAX_OUTPUTS)
    stride: int = integer(1, MAX_OUTPUTS)
    width: int = integer(1, MAX_OUTPUTS)
    inside: int = in_units()
    inputs = delegated("k")

    def check_fields(self) -> None:
        check_integer("outputs", self.kind, self.outputs, 2, MAX_OUTPUTS)
        check_informative(self.kind, units(self.inside), Fraction(self.width, self.outputs))

    @property
    def outputs(self) -> int:
        return (self.k - 1) * self.stride + self.width

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        start = self.stride * code
        inside = coins.flip(self.inside)
        drawn = coins.below((self.outputs - self.width, self.width)[inside])
        return (drawn + self.width * (drawn >= start), drawn + start)[inside]

    def ratio(self) -> Fraction:
        """inside (outputs - width) / ((1 - inside) width): the windows of two codes differ in some output."""
        return Fraction(self.inside * (self.outputs - self.width), (UNIT - self.inside) * self.width)

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        if 0 <= report - self.stride * code < self.width:
            return units(self.inside) / self.width
        return units(UNIT - self.inside) / (self.outputs - self.width)

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        inside = units(self.inside) / self.width
        outside = units(UNIT - self.inside) / (self.outputs - self.width)
        most, least = [], []
        for y in range(self.outputs):
            first, last = max(0, -((self.width - 1 - y) // self.stride)), min(self.k - 1, y // self.stride)
            windows = max(0, last - first + 1)  # that contain the output
            most.append(inside if windows else outside)
            least.append(inside if windows == self.k else outside)
        return most, least

    def scales(self) -> tuple[Scale, ...]:
        inside, rest = units(self.inside), self.outputs - self.width
        # Mean of the window's outputs: start + (width - 1) / 2; of the others: what is left of the sum of all.
        slope = self.stride * (inside - (1 - inside) * self.width / rest)
        others = Fraction(self.outputs * (self.outputs - 1) - self.width * (self.width - 1), 2 * rest)
        return (Scale(0, inside * Fraction(self.width - 1, 2) + (1 - inside) * others, slope),)

    def moments(self, code: int) -> tuple[Fraction, Fraction]:
        ((_, origin, slope),) = self.scales()
        start, inside = self.stride * code, units(self.inside)
        window = [_powers(start + self.width, p) - _powers(start, p) for p in (1, 2)]
        everything = [_powers(self.outputs, p) for p in (1, 2)]
        first, second = (
            inside * w / self.width + (1 - inside) * Fraction(all_ - w, self.outputs - self.width)
            for w, all_ in zip(window, everything, strict=True)
        )
        return (first - origin) / slope, (second - 2 * origin * first + origin**2) / slope**2

    @property
    def quadratic(self) -> bool:
        """Sums of squares over a moving window of fixed width are."""
        return True

    def effort(self) -> Effort:
        return summed(self, Effort())._replace(extremes=self.outputs // 4 + 1)

    def miniatures(self) -> tuple[Channel, ...]:
        """Fewer codes, and the width in about the same proportion to the way of the window."""
        ratio, share = self.ratio(), Fraction(self.width, (self.k - 1) * self.stride)
        small_channels = []
        for k, stride in ((2, 3), (3, 1), (4, 2), (5, 1), (7, 1)):
            width = min(24, max(1, round(share * (k - 1) * stride)))
            outputs = (k - 1) * stride + width
            least = UNIT * width // outputs + 1  # a ratio next to one must not be rounded to one
            inside = max(least, floor_unit(ratio * width / (ratio * width + outputs - width)))
            small_channels.append(type(self)(k, stride, width, inside))
        return tuple(small_channels)


def _powers(n: int, power: int) -> int:
    """The sum of the numbers below n, or of their squares."""
    return n * (n - 1) // 2 if power == 1 else n * (n - 1) * (2 * n - 1) // 6
