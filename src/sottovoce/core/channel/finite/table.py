"""`Table`: any finite channel, one row of integer weights per code."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, ClassVar

from sottovoce.core.arithmetic.rational import UNIT, units
from sottovoce.core.channel.base import NO_WORDS, Channel, Words
from sottovoce.core.channel.facets import Costed, Divergent, Extremal, Facet, Numeric, Scale
from sottovoce.core.channel.shapes import Indexed
from sottovoce.core.coins import Coins
from sottovoce.core.declared import Form, declared, list_of, of_form
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.params import check_integer
from sottovoce.core.spec_cost import Effort
from sottovoce.core.specs import integers


def _check_rows(name: str, owner: str, rows: Any) -> tuple[tuple[int, ...], ...]:
    listed = tuple(tuple(check_integer(name, owner, weight, 0, UNIT) for weight in row) for row in rows)
    width = len(listed[0]) if listed else 0
    if width < 2 or any(len(row) != width or sum(row) != UNIT for row in listed):
        raise ParameterError("The 'rows' of a table must be equally long lists of weights, each summing to 2**53.")
    return listed


_ROWS = Form("lists of integers", list_of(integers), lambda rows: [*map(list, rows)], _check_rows)


@declared
class Table(Indexed, Numeric, Extremal, Divergent, Costed):
    """Report y with probability rows[code][y] / UNIT; each row sums to exactly UNIT."""

    kind: ClassVar[str] = "table"
    words: ClassVar[int] = 1
    rows: tuple[tuple[int, ...], ...] = of_form(_ROWS)

    def __init__(self, rows: Iterable[Iterable[int]]) -> None:
        self.hold(rows)

    @property
    def inputs(self) -> int:
        return len(self.rows)

    def sample(self, code: int, coins: Coins, public: Words = NO_WORDS) -> int:
        return coins.pick(self.cumulative(code))

    def cumulative(self, code: int) -> tuple[int, ...]:
        """Running sums of a row."""
        return tuple(accumulate(self.rows[code]))

    @property
    def outputs(self) -> int:
        return len(self.rows[0])

    def contains(self, report: int) -> bool:
        return 0 <= report < self.outputs and any(row[report] for row in self.rows)

    def ratio(self) -> Fraction:
        worst = Fraction(1)
        for column in zip(*self.rows, strict=True):
            low, high = min(column), max(column)
            if high and not low:
                raise PrivacyError(
                    "A table whose rows have different supports gives no privacy: the ratio is infinite."
                )
            if high:
                worst = max(worst, Fraction(high, low))
        return worst

    def delta(self, odds: Fraction) -> Fraction:
        """Over all pairs of rows, in whole numbers; cached, since many rows take a moment."""
        return _delta(self.rows, odds)

    def reaches_every_output(self) -> bool:
        """Whether each output is reported by some code with probability 1."""
        return all(UNIT in column for column in zip(*self.rows, strict=True))

    def likelihood(self, report: int, code: int, public: Words = NO_WORDS) -> Fraction:
        return units(self.rows[code][report])

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        columns = list(zip(*self.rows, strict=True))
        return [units(max(column)) for column in columns], [units(min(column)) for column in columns]

    def has(self, kind: type[Facet]) -> bool:
        """Reports are read as numbers if the mean report rises by exactly the same from each row to the next."""
        return kind is not Numeric or _line(self.rows) is not None

    def scales(self) -> tuple[Scale, ...]:
        line = _line(self.rows)
        return () if line is None else (line,)

    def moments(self, code: int) -> tuple[Fraction, Fraction]:
        ((_, origin, slope),) = self.scales()
        first, second = (Fraction(sum(y**p * weight for y, weight in enumerate(self.rows[code])), UNIT) for p in (1, 2))
        return (first - origin) / slope, (second - 2 * origin * first + origin**2) / slope**2

    def coarse(self) -> Table:
        """Three of its rows, with neighbouring outputs merged: small enough to be enumerated inside another
        channel."""
        wide = -(-self.outputs // 6)
        chosen = (self.rows[0], self.rows[len(self.rows) // 2], self.rows[-1])
        return Table([sum(row[y : y + wide]) for y in range(0, self.outputs, wide)] for row in chosen)

    def effort(self) -> Effort:
        """Comparing integers is quicker than multiplying fractions, and so is multiplying them by short ones."""
        cells = self.inputs * self.outputs
        compared = self.outputs + cells // 32
        return Effort(ratio=compared, ratio_bits=64, extremes=compared, delta=self.inputs * cells // 24)

    def miniatures(self) -> tuple[Channel, ...]:
        return (self,)


@lru_cache(maxsize=32)
def _delta(rows: tuple[tuple[int, ...], ...], odds: Fraction) -> Fraction:
    """The largest sum of the positive parts of one row minus `odds` times another."""
    up, down = odds.numerator, odds.denominator
    scaled = [[(y, down * weight) for y, weight in enumerate(row) if weight] for row in rows]
    worst = 0
    for other in rows:
        allowed = [up * weight for weight in other]
        worst = max(worst, *(sum(more - allowed[y] for y, more in row if more > allowed[y]) for row in scaled))
    return Fraction(worst, down * UNIT)


@lru_cache(maxsize=32)
def _line(rows: tuple[tuple[int, ...], ...]) -> Scale | None:
    """The line of the mean report, if it rises evenly; else None."""
    means = [Fraction(sum(y * weight for y, weight in enumerate(row)), UNIT) for row in rows]
    slopes = {later - earlier for earlier, later in pairwise(means)}
    return None if len(slopes) != 1 or slopes == {0} else Scale(0, means[0], slopes.pop())
