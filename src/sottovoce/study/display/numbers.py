"""Numbers as readers see them: rounded to their margin, with their unit, ranges in words ("24 to 38")."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sottovoce.study.words import local, words

if TYPE_CHECKING:
    from sottovoce.study.questions.result_lines import ResultLine

SPACE, MINUS = "\u00a0", "\u2212"  # a space that does not break a line, and a minus sign that is no hyphen
POINTS = "points"
SHORT = 20  # the length of a scale whose numbers always have a decimal, such as 0 to 10
SMALL = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


def decimals(margin: float) -> int:
    """Decimal places that a margin supports: 0 from 1 on, 1 from 0.1 on; -1 (whole tens) from 100 on."""
    if not math.isfinite(margin) or margin <= 0:
        return 0
    size = math.floor(math.log10(margin) + 1e-9)
    return -size if size < 0 else min(0, 1 - size)


def count_word(count: int) -> str:
    """A small count in words, others in digits."""
    return SMALL[count] if 0 <= count < len(SMALL) else f"{count:,}"


def rounded(value: float, places: int, language: str = "en") -> str:
    """A number with so many decimals and separated thousands, as people of a language write it."""
    if not math.isfinite(value):
        return str(words(language)["results"]["not_known"])
    text = f"{round(value, places) + 0.0:.{max(0, places)}f}"
    return local(text.removeprefix("-") if not text.strip("-0.") else text, language)


@dataclass(frozen=True, slots=True)
class NumberScale:
    """How the numbers of one question are written.

    Attributes:
        places: decimals, after multiplication by `factor`.
        unit: after a number, such as "%" or "hours"; empty where there is none.
        factor: 100 for shares, which are written in per cent.
        ends: the possible range of the numbers, before multiplication.
        language: of words and of decimal signs.
    """

    places: int
    unit: str = ""
    factor: float = 1.0
    ends: tuple[float, float] | None = None
    language: str = "en"

    @classmethod
    def of(
        cls,
        lines: Sequence[ResultLine],
        unit: str,
        ends: tuple[float, float] | None,
        *,
        whole: bool = False,
        language: str = "en",
    ) -> NumberScale:
        """The scale of lines of one measure, by their typical margin."""
        is_share = bool(lines) and lines[0].is_share
        factor = 100.0 if is_share else 1.0
        margins = [half for half in (factor * (one.high - one.low) / 2 for one in lines) if 0 < half < math.inf]
        exact = 0 if whole else 1  # of an interval without a width
        places = decimals(statistics.median(margins)) if margins else exact
        if not is_share and ends is not None and ends[1] - ends[0] <= SHORT:
            places = max(1, places)
        return cls(places, "%" if is_share else unit, factor, (0.0, 1.0) if is_share else ends, language)

    @property
    def is_share(self) -> bool:
        """Whether the numbers are shares in per cent."""
        return self.factor != 1

    def number(self, value: float) -> str:
        """A number without its unit."""
        return rounded(self.factor * value, self.places, self.language)

    def said(self, key: str, **values: str) -> str:
        """A sentence about numbers in the language of the scale."""
        return str(words(self.language)["results"][key]).format(**values)

    def value(self, value: float) -> str:
        """A number with its unit: 31 %."""
        return self._with(self.number(value), self.unit)

    def between(self, low: float, high: float) -> str:
        """A range in words: 24 to 38; without an upper limit, 24 or more."""
        if high == math.inf:
            return self.said("at_least", low=self.number(low))
        return self.said("between", low=self.number(low), high=self.number(high))

    def text(self, value: float, low: float, high: float) -> str:
        """A number with its interval: 31 % (24 to 38)."""
        return f"{self.value(value)} ({self.between(low, high)})"

    def difference(self, value: float, low: float, high: float) -> str:
        """A difference with its interval, inside the possible range: 5 points (-6 to 16)."""
        if self.ends is not None and math.isfinite(value):
            length = self.ends[1] - self.ends[0]
            value, low, high = inside((-length, length), value, low, high)
        finer = replace(self, places=max(self.places, decimals(self.factor * (high - low) / 2)))
        return f"{self._with(finer.number(value), self.unit_of_differences)} ({finer.between(low, high)})"

    def margin(self, half_width: float) -> str:
        """Half the width of an interval: ± 7 points."""
        if half_width <= 0:
            return self.said("one_value")
        finer = replace(self, places=decimals(self.factor * half_width))
        return f"±{SPACE}{self._with(finer.number(half_width), self.unit_of_differences)}"

    @property
    def unit_of_differences(self) -> str:
        """Percentage points of shares, else the unit."""
        return POINTS if self.is_share else self.unit

    def _with(self, number: str, unit: str) -> str:
        if unit == POINTS:
            unit = self.said("point" if number in ("1", f"{MINUS}1") else "points")
        return f"{number}{SPACE}{unit}" if unit else number

    # --- bounds ----------------------------------------------------------------------------------
    def bounded(self, line: ResultLine) -> ResultLine:
        """A line with value and interval inside the possible range.

        An interval beyond the range keeps its width on the inner side, so that it covers at least as often.
        """
        if self.ends is None or not math.isfinite(line.value):
            return line
        value, low, high = inside(self.ends, line.value, line.low, line.high)
        return replace(line, value=value, low=low, high=high)

    def is_unseen(self, line: ResultLine) -> bool:
        """Whether a share cannot be told apart from zero: its interval reaches zero, also after rounding."""
        return self.is_share and round(self.factor * line.low, self.places) <= 0

    def shown(self, line: ResultLine) -> tuple[str, str]:
        """The number of a bounded line and its interval: ("31 %", "24 to 38"), or ("under 7 %", "")."""
        if not math.isfinite(line.value):
            return self.said("too_few"), ""
        if self.is_unseen(line):
            return self.said("under", value=self._under(line.high)).replace(" ", SPACE), ""
        return self.value(line.value), self.between(line.low, line.high)

    def _under(self, high: float) -> str:
        """The upper end, rounded up: the share is below it."""
        step = 10.0**-self.places
        up = math.ceil(self.factor * high / step - 1e-9) * step
        return self._with(rounded(up, self.places, self.language), self.unit)

    def is_wide(self, lines: Iterable[ResultLine]) -> bool:
        """Whether the intervals are wider than half of the scale, so that they say next to nothing."""
        return self.excess(lines) > 1

    def excess(self, lines: Iterable[ResultLine]) -> float:
        """The narrowest interval of some lines as a multiple of half of the scale."""
        widths = [one.high - one.low for one in lines if math.isfinite(one.high - one.low)]
        if not widths:
            return math.inf
        return 0.0 if self.ends is None else min(widths) / ((self.ends[1] - self.ends[0]) / 2)


def inside(ends: tuple[float, float], value: float, low: float, high: float) -> tuple[float, float, float]:
    """A number and its interval, moved into the possible range as `NumberScale.bounded` says."""
    least, most = ends
    moved = min(max(value, least), most) - value
    low, high = low + min(0.0, moved), high + max(0.0, moved)
    return value + moved, min(max(low, least), most), max(min(high, most), least)
