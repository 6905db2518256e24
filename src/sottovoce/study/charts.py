"""Charts as SVG, made by the server: estimates with their intervals, and curves with their bands.

Colours are attributes, since the content security policy allows no styles inside a page; the style sheet overrides them
in the dark. Every chart stands beside the table of its numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from html import escape
from typing import NamedTuple

WIDTH, LEFT, RIGHT = 640, 170, 24
ROW, TOP, AXIS = 26, 10, 26
HEIGHT = 260  # of a curve
COLOUR = "#0d5060"
MOST_ROWS = 40  # of a chart; `largest` chooses them, and says that there are more
LONGEST = 24  # characters of a label


class Point(NamedTuple):
    """An estimate and its interval."""

    label: str
    value: float
    low: float
    high: float


def largest(points: Sequence[Point], *, always: Collection[str], in_order: bool) -> tuple[list[Point], str]:
    """The rows of a chart, and a sentence where it leaves some out.

    The largest estimates are shown, the largest first, or in their own order where answers have one. The labels in
    `always`, reasons for giving no answer, are shown in any case, after the others.
    """
    finite = [one for one in points if math.isfinite(one.value)]
    reasons = [one for one in finite if one.label in always]
    others = sorted((one for one in finite if one.label not in always), key=lambda one: -one.value)
    shown = others[: max(1, MOST_ROWS - len(reasons))]
    if in_order:
        shown.sort(key=finite.index)
    left_out = len(others) - len(shown)
    note = f"The {len(shown)} largest estimates are shown; {left_out} more are in the table." if left_out else ""
    return shown + reasons, note


def intervals(title: str, shown: Sequence[Point], *, share: bool, unit: str = "", note: str = "") -> str:
    """One row for each estimate: a dot and its interval."""
    scale = _Scale.of(shown, share)
    height = TOP + ROW * len(shown) + AXIS + (ROW if note else 0)
    bottom = TOP + ROW * len(shown)
    parts = [_axis(scale, bottom, share, unit)]
    if note:
        parts.append(f'<text x="{LEFT}" y="{height - 8}">{escape(note)}</text>')
    for place, one in enumerate(shown):
        y = TOP + ROW * place + ROW // 2
        low, high = scale.x(one.low), scale.x(one.high)
        parts.append(
            f'<text x="{LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(_short(one.label))}</text>'
            f'<line class="ink" x1="{low:.1f}" x2="{high:.1f}" y1="{y}" y2="{y}" stroke="{COLOUR}" stroke-width="3"/>'
            f'<circle class="dot" cx="{scale.x(one.value):.1f}" cy="{y}" r="5" fill="{COLOUR}"/>'
        )
    return _picture(f"{title}. {note}" if note else title, height, parts)


def curve(title: str, places: Sequence[float], points: Sequence[Point], *, unit: str = "") -> str:
    """The share of answers up to each place, and the band around the curve."""
    spread = (places[-1] - places[0]) or 1.0
    xs = [LEFT / 2 + (WIDTH - LEFT / 2 - RIGHT) * (place - places[0]) / spread for place in places]

    def y(value: float) -> float:
        return HEIGHT - AXIS - (HEIGHT - AXIS - TOP) * min(1.0, max(0.0, value))

    band = [f"{x:.1f},{y(one.high):.1f}" for x, one in zip(xs, points, strict=True)]
    band += [f"{x:.1f},{y(one.low):.1f}" for x, one in reversed(list(zip(xs, points, strict=True)))]
    line = " ".join(f"{x:.1f},{y(one.value):.1f}" for x, one in zip(xs, points, strict=True))
    parts = [
        *(
            f'<line class="grid" x1="{LEFT / 2}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}"'
            f' stroke="#cccccc"/><text x="{LEFT / 2 - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">'
            f"{100 * tick:g} %</text>"
            for tick in (0.0, 0.25, 0.5, 0.75, 1.0)
        ),
        f'<polygon class="band" points="{" ".join(band)}" fill="{COLOUR}" fill-opacity="0.2"/>',
        f'<polyline class="ink" points="{line}" fill="none" stroke="{COLOUR}" stroke-width="2"/>',
        *(
            f'<text x="{xs[place]:.1f}" y="{HEIGHT - 6}" text-anchor="middle">{places[place]:.4g}{said}</text>'
            for place, said in ((0, ""), (len(xs) // 2, _of(unit, True)), (len(xs) - 1, ""))
        ),
    ]
    return _picture(title, HEIGHT, parts)


def round_ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers between two others, about so many."""
    raw = (high - low) / most or 1.0
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= raw)
    return [place * step for place in range(math.ceil(low / step), math.floor(high / step) + 1)]


class _Scale(NamedTuple):
    low: float
    high: float

    @classmethod
    def of(cls, points: Sequence[Point], share: bool) -> _Scale:
        ends = [end for one in points for end in (one.low, one.value, one.high) if math.isfinite(end)] or [0.0, 1.0]
        low, high = min(ends), max(ends)
        if share:
            low = min(0.0, low)
        spare = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        return cls(low if share and low == 0 else low - spare, high + spare)

    def x(self, value: float) -> float:
        part = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return LEFT + (WIDTH - LEFT - RIGHT) * part

    def ticks(self) -> list[float]:
        return round_ticks(self.low, self.high, 5)


def _axis(scale: _Scale, bottom: float, share: bool, unit: str) -> str:
    lines = []
    ticks = scale.ticks()
    for tick in ticks:
        x = scale.x(tick)
        said = f"{100 * tick:.3g} %" if share else f"{tick:.4g}{_of(unit, tick == ticks[len(ticks) // 2])}"
        lines.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}" stroke="#cccccc"/>'
            f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{said}</text>'
        )
    return "".join(lines)


def _of(unit: str, shown: bool) -> str:
    """The unit, beside one number of an axis."""
    return f" {escape(_short(unit))}" if unit and shown else ""


def _short(label: str) -> str:
    return label if len(label) <= LONGEST else label[: LONGEST - 1] + "…"


def _picture(title: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="{escape(title)}" font-family="sans-serif" font-size="13" fill="currentColor">'
        f"{''.join(parts)}</svg>"
    )


def signed(chart: str, title: str, source: str) -> str:
    """A chart for use elsewhere: its title above, and where it comes from below, on white."""
    size = re.search(r'viewBox="0 0 (\d+) (\d+)"', chart)
    assert size is not None
    width, height = int(size[1]), int(size[2])
    inside = chart[: chart.rindex("</svg>") + 6].replace(
        "<svg ", f'<svg y="{ROW}" width="{width}" height="{height}" ', 1
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + 2 * ROW}" font-family="sans-serif">'
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text x="8" y="18" font-size="15" font-weight="bold">{escape(title)}</text>{inside}'
        f'<text x="8" y="{height + 2 * ROW - 9}" font-size="11" fill="#4b5b61">{escape(source)}</text></svg>'
    )
