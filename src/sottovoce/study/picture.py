"""The picture of a study's plan: the +- of each question against participants and against epsilon."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from decimal import Decimal
from typing import IO, Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from sottovoce.core.errors import ParameterError, SpecError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, decimal_text
from sottovoce.study.study_plan import PlannedQuestion, StudyPlan

MOST = 12  # questions that are drawn
PARTICIPANTS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # times those of the plan
EPSILONS = ("0.25", "0.5", "0.75", "1", "1.5", "2", "4")  # times that of the plan
COLOUR = "#1f5fa8"


def draw(plan: StudyPlan, file: IO[bytes], form: str) -> None:
    """Write the picture; the same plan gives the same bytes."""
    with mpl.rc_context({"svg.hashsalt": "sottovoce", "svg.fonttype": "none"}):
        rows = plan.questions[:MOST]
        figure = Figure(figsize=(8, 0.6 + 2.1 * len(rows)), layout="constrained")
        axes = figure.subplots(len(rows), 2, squeeze=False)
        for place, one in enumerate(rows):
            _row(plan, one, axes[place], last=place == len(rows) - 1)
        left = f"; {len(plan.questions) - MOST} more questions" if len(plan.questions) > MOST else ""
        figure.suptitle(
            f"{plan.study.name}: half-width at {100 * plan.level:g} %, the plan is the point{left}", fontsize="medium"
        )
        figure.savefig(file, format=form, metadata={"Date": None} if form == "svg" else {"Software": None})


def inline(plan: StudyPlan) -> str:
    """The picture as an element of a page."""
    file = io.BytesIO()
    draw(plan, file, "svg")
    text = file.getvalue().decode()
    return text[text.index("<svg") :]


def by_participants(plan: StudyPlan, one: PlannedQuestion) -> tuple[list[int], list[float]]:
    """Numbers of participants and the half-width at each."""
    places = sorted({max(100, round(one.participants * factor)) for factor in PARTICIPANTS} | {one.participants})
    if isinstance(one.procedure, Mechanism) and not one.shared and not one.asked.question.read_from_curve:
        return places, [one.half_width * math.sqrt(one.participants / place) for place in places]
    return places, [plan.half_width(one.asked.name, participants=place) for place in places]


def by_epsilon(plan: StudyPlan, one: PlannedQuestion) -> tuple[list[float], list[float]]:
    """Budgets and the half-width at each, by the method of the plan, where it supports the budget."""
    widths: list[tuple[float, float]] = []
    for factor in EPSILONS:
        epsilon = plan.epsilon * Decimal(factor)
        if epsilon > MAX_EPSILON:
            continue
        try:
            width = one.half_width if factor == "1" else plan.half_width(one.asked.name, epsilon=epsilon)
        except (ParameterError, SpecError):
            continue
        widths.append((float(epsilon), width))
    return [at for at, _ in widths], [width for _, width in widths]


def _row(plan: StudyPlan, one: PlannedQuestion, axes: Sequence[Any], *, last: bool) -> None:
    unit = "as a share" if one.asked.question.is_share else one.asked.unit_of_numbers
    curves: list[tuple[Sequence[float], Sequence[float]]] = [by_participants(plan, one), by_epsilon(plan, one)]
    points = (float(one.participants), float(plan.epsilon))
    for ax, (places, widths), at in zip(axes, curves, points, strict=True):
        # The interval of a quantile of whole numbers may have no width, and this axis has no zero.
        least = min((width for width in widths if width > 0), default=1.0) / 3
        widths, here = [max(width, least) for width in widths], max(one.half_width, least)
        ax.plot(places, widths, color=COLOUR)
        ax.plot([at], [here], "o", color="black", zorder=5)
        if one.goal is not None:
            ax.axhline(float(one.goal), color="0.6", linestyle="--", linewidth=1)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.grid(True, which="major", color="0.92")
        _ticks(ax.xaxis, sorted({places[0], at, places[-1]}))
        _ticks(ax.yaxis, sorted({widths[0], here, widths[-1]}))
    axes[0].set_ylabel(f"+- {unit}" if unit else "+-")
    margin = one.asked.margin(one.half_width)
    axes[0].set_title(f"{one.asked.name}: +- {margin} with {one.participants:,}", fontsize="small")
    axes[1].set_title(f"at epsilon {decimal_text(plan.epsilon)}", fontsize="small")
    if last:
        axes[0].set_xlabel("participants of the report")
        axes[1].set_xlabel("epsilon")


def _ticks(axis: Any, places: list[float]) -> None:
    """Numbers at both ends and at the plan, where they do not cover each other."""
    kept = [place for place in places if not any(1 < place / other < 1.2 for other in places)]
    axis.set_major_locator(FixedLocator(kept))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"))
    axis.set_minor_locator(NullLocator())
    axis.set_tick_params(labelsize="small")
