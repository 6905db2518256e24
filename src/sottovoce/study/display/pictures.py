"""Pictures of estimates as HTML: tables whose middle column is drawn, and curves in their band.

Labels and values are text, so they are read aloud, copied and never shrink. Drawings have positions in per cent across
and pixels down, so that they fit any width. Colours come from the style sheet by class: the content security policy of
the pages allows no style attributes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from sottovoce.study.display.numbers import SPACE, NumberScale, decimals, rounded

if TYPE_CHECKING:
    from sottovoce.study.questions.result_lines import ResultLine

MOST_ROWS = 15
HEIGHT = 220  # of a curve, in pixels
NARROW = 0.25  # part of a scale: estimates that use less of it are drawn on a part of the scale


@dataclass(frozen=True, slots=True)
class Row:
    """A bounded line with the label that readers see; `aside` marks reasons for giving no answer.

    `note` follows the interval, such as the p-value of a difference.
    """

    label: str
    line: ResultLine
    aside: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class TickAxis:
    """A scale from `low` to `high` with its ticks."""

    low: float
    high: float
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, low: float, high: float, most: int = 5) -> TickAxis:
        """The axis from the tick at or below `low` to the tick at or above `high`."""
        raw = (high - low) / most or abs(high) / most or 1.0
        size = 10.0 ** math.floor(math.log10(raw))
        step = next(size * factor for factor in (1, 2, 5, 10) if size * factor >= 0.8 * raw)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        last = max(last, first + 1)  # also where all numbers are one
        ticks = tuple(place * step for place in range(first, last + 1))
        return cls(ticks[0], ticks[-1], ticks)

    @classmethod
    def of(cls, lines: Sequence[ResultLine], scale: NumberScale) -> TickAxis:
        """The axis of some lines: shares begin at 0, other numbers have their whole scale where they use enough.

        That of differences reaches 0.
        """
        differs = bool(lines) and "difference" in lines[0].measure
        ends = [end for one in lines for end in (one.low, one.value, one.high) if math.isfinite(end)] or [0.0, 1.0]
        low, high = min(ends), max(ends)
        if scale.is_share:
            return cls.over(0.0, max(high, 0.05), 4)
        if differs:
            low, high = min(low, 0.0), max(high, 0.0)
        if scale.ends is not None and high - low >= NARROW * (scale.ends[1] - scale.ends[0]):
            low, high = scale.ends
        return cls.over(low, high, 4)

    def place(self, value: float) -> float:
        """The position of a value in per cent."""
        return 100 * (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)

    def texts(self, scale: NumberScale) -> list[str]:
        """The numbers at the ticks; the last has the unit of shares."""
        step = scale.factor * (self.ticks[1] - self.ticks[0])
        places = max(0, decimals(step * (1 + 1e-9)))
        if places == 0 and step != round(step):
            places = 1
        texts = [rounded(scale.factor * tick, places, scale.language) for tick in self.ticks]
        return [*texts[:-1], f"{texts[-1]}{SPACE}%" if scale.is_share else texts[-1]]


# --- tables with dots and intervals --------------------------------------------------------------
def chosen_rows(rows: Sequence[Row], scale: NumberScale, *, in_order: bool) -> tuple[list[Row], list[Row]]:
    """The rows to show, and those that are folded into one: small shares, and what is beyond the largest `MOST_ROWS`.

    The largest come first, or answers keep their own order. Reasons for giving no answer are always shown, last.
    """
    asides = [one for one in rows if one.aside]
    answers = [one for one in rows if not one.aside]
    ranked = sorted(answers, key=lambda one: -one.line.value if math.isfinite(one.line.value) else math.inf)
    shown = ranked[:MOST_ROWS]
    unseen = [one for one in shown if scale.is_unseen(one.line)]
    if len(unseen) > 2 and not in_order:
        shown = [one for one in shown if one not in unseen]
    folded = [one for one in ranked if one not in shown]
    if in_order:
        shown.sort(key=answers.index)
    return shown + asides, folded


def dots_table(
    rows: Sequence[Row], folded: Sequence[Row], scale: NumberScale, *, caption: str, head: tuple[str, str]
) -> str:
    """A table with a row for each estimate: label, dot with interval, value and interval as text."""
    axis = TickAxis.of([one.line for one in [*rows, *folded]], scale)
    body = "".join(_row(one.label, one.line, scale, axis, quiet=one.aside, note=one.note) for one in rows)
    if folded:
        body += _folded(folded, scale, axis)
    picture = escape(scale.said("picture"))
    ticks = "".join(_tick(text, axis.place(tick)) for tick, text in zip(axis.ticks, axis.texts(scale), strict=True))
    return (
        f'<table class="dots" role="table"><caption>{escape(caption)}</caption>\n<thead role="rowgroup"><tr role="row">'
        f'<th role="columnheader" scope="col">{escape(head[0])}</th><th role="columnheader" scope="col">{picture}</th>'
        f'<th role="columnheader" scope="col">{escape(head[1])}</th></tr></thead>\n'
        f'<tbody role="rowgroup">{body}</tbody>\n'
        f'<tfoot aria-hidden="true"><tr><td></td><td><svg class="ax">{ticks}</svg></td><td></td></tr></tfoot></table>'
    )


def _tick(text: str, place: float) -> str:
    """The number below a tick. The unit of the last one follows its number, which stays centred."""
    number, space, unit = text.partition(SPACE)
    if not unit:
        return f'<text class="tx m" x="{place:.2f}%" y="16">{number}</text>'
    return f'<text class="tx" x="{place:.2f}%" dx="-{0.3 * len(number):.1f}em" y="16">{number}{space}{unit}</text>'


def _row(
    label: str, line: ResultLine, scale: NumberScale, axis: TickAxis, *, quiet: bool = False, note: str = ""
) -> str:
    value, interval = scale.shown(line)
    said = f"<b>{escape(value)}</b> ({escape(interval)})" if interval else escape(value)
    said += f", {escape(note)}" if note else ""
    marks = _mark(line, scale, axis)
    rest = ' class="rest"' if quiet or not interval else ""
    return (
        f'<tr role="row"{rest}><th role="rowheader" scope="row">{escape(label)}</th><td role="cell">'
        f'<svg class="iv" aria-hidden="true">{_grid(axis)}{marks}</svg></td><td role="cell">{said}</td></tr>\n'
    )


def _folded(folded: Sequence[Row], scale: NumberScale, axis: TickAxis) -> str:
    """The answers that have no row, as one row: all of them are below the largest upper end."""
    largest = max((one.line for one in folded), key=lambda line: line.high if math.isfinite(line.high) else -1)
    label = scale.said("others" if len(folded) > 1 else "one_other", count=rounded(len(folded), 0, scale.language))
    if all(scale.is_unseen(one.line) or not math.isfinite(one.line.value) for one in folded):
        return _row(label, largest, scale, axis, quiet=True)
    values = [one.line.value for one in folded if math.isfinite(one.line.value)]
    ends = {"low": scale.number(min(values)), "high": scale.value(max(values))} if values else {}
    said = scale.said("between", **ends) if values else scale.said("too_few")
    return (
        f'<tr role="row" class="rest"><th role="rowheader" scope="row">{escape(label)}</th><td role="cell">'
        f'<svg class="iv" aria-hidden="true">{_grid(axis)}</svg></td><td role="cell">{escape(said)}</td></tr>\n'
    )


def _grid(axis: TickAxis) -> str:
    base = 0.0 if axis.low < 0 < axis.high else axis.ticks[0]
    return "".join(
        f'<line class="gl{" zero" if tick == base else ""}" x1="{axis.place(tick):.2f}%" x2="{axis.place(tick):.2f}%"'
        ' y1="0" y2="100%"/>'
        for tick in axis.ticks
    )


def _mark(line: ResultLine, scale: NumberScale, axis: TickAxis) -> str:
    if not math.isfinite(line.value):
        return ""
    low, at, high = (axis.place(value) for value in (line.low, line.value, line.high))
    if scale.is_unseen(line):
        return f'<line class="ci un" x1="{axis.place(0):.2f}%" x2="{high:.2f}%" y1="50%" y2="50%"/>'
    return (
        f'<line class="ci" x1="{low:.2f}%" x2="{high:.2f}%" y1="50%" y2="50%"/>'
        f'<circle class="pt" cx="{at:.2f}%" cy="50%" r="6"/>'
    )


# --- curves --------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class BandCurve:
    """A curve in its band.

    Attributes:
        places, values, low, high: points of the curve; values in [0, 1].
        ends: the range of the answers.
        mark: the place and value of the point to look at, with its text.
    """

    places: Sequence[float]
    values: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    ends: tuple[float, float]
    mark: tuple[float, float, str] | None = None
    language: str = "en"


def curve_frame(curve: BandCurve, *, title: str, y_title: str, x_title: str) -> str:
    """A curve of shares with axes, ticks and titles."""
    axis = TickAxis.over(*curve.ends, 6)
    plain = NumberScale(0, language=curve.language)

    def y(value: float) -> float:
        return HEIGHT - 8 - (HEIGHT - 16) * min(1.0, max(0.0, value))

    def points(values: Sequence[float]) -> list[str]:
        return [f"{10 * axis.place(x):.1f},{y(v):.1f}" for x, v in zip(curve.places, values, strict=True)]

    band = " ".join([*points(curve.high), *reversed(points(curve.low))])
    levels, unit = (0.0, 0.25, 0.5, 0.75, 1.0), f"{SPACE}%"
    left = "".join(
        f'<text class="tx e" x="42" y="{y(one) + 4.5:.1f}">{100 * one:g}{unit if one == 1 else ""}</text>'
        for one in levels
    )
    lines = "".join(f'<line class="gl" x1="0" x2="100%" y1="{y(one):.1f}" y2="{y(one):.1f}"/>' for one in levels)
    below = "".join(
        f'<text class="tx m" x="{axis.place(tick):.2f}%" y="17">{text}</text>'
        for tick, text in zip(axis.ticks, axis.texts(plain), strict=True)
    )
    return (
        f'<div class="frame" role="img" aria-label="{escape(title)}">'
        f'<p class="yt">{escape(y_title)}</p><svg class="y" height="{HEIGHT}">{left}</svg>'
        f'<svg class="plot" height="{HEIGHT}">{lines}<svg viewBox="0 0 1000 {HEIGHT}" width="100%" height="{HEIGHT}"'
        f' preserveAspectRatio="none"><polygon class="area" points="{band}"/><polyline class="curve"'
        f' vector-effect="non-scaling-stroke" points="{" ".join(points(curve.values))}"/></svg>'
        f"{_pointer(curve, axis, y)}</svg>"
        f'<svg class="x">{below}</svg><p class="xt">{escape(x_title)}</p></div>'
    )


def _pointer(curve: BandCurve, axis: TickAxis, y: Callable[[float], float]) -> str:
    if curve.mark is None:
        return ""
    at, value, text = curve.mark
    x, height = axis.place(at), y(value)
    side, anchor = (x + 2, "") if x < 60 else (x - 2, " e")
    return (
        f'<line class="aim" x1="0" x2="{x:.2f}%" y1="{height:.1f}" y2="{height:.1f}"/>'
        f'<line class="aim" x1="{x:.2f}%" x2="{x:.2f}%" y1="{height:.1f}" y2="{HEIGHT - 8}"/>'
        f'<circle class="here" cx="{x:.2f}%" cy="{height:.1f}" r="6"/>'
        f'<text class="tx look halo{anchor}" x="{side:.2f}%" y="{height + 22:.1f}">{escape(text)}</text>'
    )


def marks(rows: Sequence[tuple[str, ResultLine, NumberScale]], look_at: int) -> str:
    """Single numbers beside a picture; `look_at` is the one that the picture points at."""
    items = []
    for place, (what, line, scale) in enumerate(rows):
        value, interval = scale.shown(line)
        here = ' class="at"' if place == look_at else ""
        items.append(f"<li{here}><span>{escape(what)}</span><b>{escape(value)}</b><span>{escape(interval)}</span></li>")
    return f'<ul class="marks">{"".join(items)}</ul>'
