"""Questions over time on a dashboard: a line with its band, and a table of waves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from sottovoce.core.language.display import printable
from sottovoce.estimate.evidence import Bounds
from sottovoce.estimate.series.series import EpochContrast, Series
from sottovoce.study.charts import COLOUR, round_ticks
from sottovoce.study.display.dates import day_text
from sottovoce.study.repeats.waves import Wave, WaveSeries

MOST_LINES = 4  # of one picture; the values that are largest in the last wave
MOST_ROWS = 60  # waves of a table; the last ones
TOO_FEW = "too few reports"
UNKNOWN = "Values that fewer than two waves have enough reports for are left out."
FEW = "Some waves have few reports about a value shown here: the ranges of its changes may be too narrow."
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 150, 64, 14, 14, 26


@dataclass(frozen=True, slots=True)
class TimeRow:
    """One wave of one value: its estimate and its interval, in words."""

    wave: str
    begins: str
    reports: str
    value: str
    interval: str


@dataclass(frozen=True, slots=True)
class TimeLine:
    """One value of a question over time."""

    label: str
    picture: str
    rows: tuple[TimeRow, ...]
    change: str
    trend: str


@dataclass(frozen=True, slots=True)
class TimeCard:
    """One question over time."""

    key: str
    text: str
    lines: tuple[TimeLine, ...]
    note: str


@dataclass(frozen=True, slots=True)
class NumberText:
    """How the numbers of a question are written: shares in per cent."""

    scale: float
    unit: str

    def value(self, number: float) -> str:
        return f"{self.scale * number:.3g}{self.unit}"

    def change(self, number: float) -> str:
        return f"{self.scale * number:+.2g}{' points' if self.unit else ''}".replace("-", "\N{MINUS SIGN}")

    def contrast(self, contrast: EpochContrast, bounds: Bounds, place: int) -> str:
        """A change with its range."""
        if not np.isfinite(contrast.values[place]):
            return TOO_FEW
        low, high = self.change(bounds.low[place]), self.change(bounds.high[place])
        return f"{self.change(contrast.values[place])} ({low} to {high})"


def time_cards(found: Sequence[WaveSeries], waves: Sequence[Wave], level: float) -> list[TimeCard]:
    """The cards of all questions that have two waves."""
    reports = {wave.number: wave.results.reports for wave in waves}
    return [_card(one, reports, level) for one in found]


def _card(one: WaveSeries, reports: dict[int, int], level: float) -> TimeCard:
    series, asked = one.series, one.result.asked
    drawn = np.flatnonzero(np.isfinite(series.values).sum(axis=0) >= 2)  # a line needs two waves
    order = drawn[np.argsort(-series.values[-1, drawn], kind="stable")][:MOST_LINES]
    texts = series.estimates[0].axes.texts()
    share = asked.question.is_share
    numbers = NumberText(100, " %") if share else NumberText(1, "")
    low, high = series.ci(level, simultaneous=True)
    labels = texts if len(texts) > 1 else [""]
    lines = tuple(
        _line(one, place, labels[place], numbers, (low[:, place], high[:, place]), reports, level)
        for place in map(int, order)
    )
    left = len(drawn) - len(lines)
    hidden = f"The {len(lines)} largest values are shown; {left} more are in the export." if left else ""
    hidden = " ".join(filter(None, (hidden, UNKNOWN if len(drawn) < len(texts) else "")))
    few = FEW if one.trend.poor[order].any() else ""
    return TimeCard(one.result.key, asked.text("en"), lines, " ".join(filter(None, (hidden, few))))


def _line(
    one: WaveSeries,
    place: int,
    label: str,
    numbers: NumberText,
    band: tuple[np.ndarray, np.ndarray],
    reports: dict[int, int],
    level: float,
) -> TimeLine:
    series, (low, high) = one.series, band
    values = series.values[:, place]
    rows = [
        TimeRow(
            str(number),
            day_text(begins),
            f"{reports[int(str(number))]:,}",
            numbers.value(value) if np.isfinite(value) else TOO_FEW,
            f"{numbers.value(start)} to {numbers.value(end)}" if np.isfinite(value) else "",
        )
        for number, begins, value, start, end in zip(series.epochs, one.begins, values, low, high, strict=True)
    ]
    sloped = one.trend.quiet_ci(level)
    changes = [one.change, one.overall] if len(series.epochs) > 2 else [one.change]
    return TimeLine(
        printable(label) if label else "",
        picture(series, place, band, numbers, label or one.result.asked.text("en")),
        tuple(reversed(rows[-MOST_ROWS:])),
        " ".join(
            f"{changed.name.removeprefix('change ').capitalize()}:"
            f" {numbers.contrast(changed, changed.quiet_ci(level), place)}."
            for changed in changes
        ),
        f"Trend per wave: {numbers.contrast(one.trend, sloped, place)}.",
    )


def picture(series: Series, place: int, band: tuple[np.ndarray, np.ndarray], numbers: NumberText, title: str) -> str:
    """The unbiased estimates of a value as a line over the waves, inside their band."""
    known = np.flatnonzero(np.isfinite(series.values[:, place]))
    low, high = (end[known] for end in band)
    values, epochs = series.values[known, place], [series.epochs[wave] for wave in known]
    at = np.array([float(str(number)) for number in epochs])
    bottom, top = float(min(low.min(), 0 if low.min() < 0.3 * high.max() else low.min())), float(high.max())
    spread = (top - bottom) or 1.0
    xs = LEFT + (WIDTH - LEFT - RIGHT) * (at - at[0]) / (at[-1] - at[0])

    def y(number: float) -> float:
        return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * (number - bottom) / spread

    edge = [f"{x:.1f},{y(one):.1f}" for x, one in zip(xs, high, strict=True)]
    edge += [f"{x:.1f},{y(one):.1f}" for x, one in zip(xs[::-1], low[::-1], strict=True)]
    places = [(f"{x:.1f}", f"{y(one):.1f}") for x, one in zip(xs, values, strict=True)]
    line = " ".join(f"{x},{height}" for x, height in places)
    dots = "".join(f'<circle class="dot" cx="{x}" cy="{height}" r="3" fill="{COLOUR}"/>' for x, height in places)
    ticks = "".join(
        f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#d5dde0"/>'
        f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{numbers.value(tick)}</text>'
        for tick in round_ticks(bottom, top, 4)
    )
    marks = sorted({0, len(xs) // 2, len(xs) - 1})
    anchors = {0: "start", len(xs) - 1: "end"}
    below = "".join(
        f'<text x="{xs[mark]:.1f}" y="{HEIGHT - 6}" text-anchor="{anchors.get(mark, "middle")}">'
        f"wave {epochs[mark]}</text>"
        for mark in marks
    )
    name = escape(f"{title}, wave by wave, with a band")
    return (
        f'<svg class="chart over-time" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" aria-label="{name}">'
        f"<title>{name}</title>"
        f'{ticks}<polygon class="band" points="{" ".join(edge)}" fill="{COLOUR}" fill-opacity="0.18"/>'
        f'<polyline class="ink" points="{line}" fill="none" stroke="{COLOUR}" stroke-width="2"/>{dots}{below}</svg>'
    )
