"""The picture of a plan: the error to expect against the number of participants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import IO, Any

import matplotlib as mpl
from matplotlib.figure import Figure

from sottovoce.core.mechanism import Mechanism
from sottovoce.study.plan import Plan
from sottovoce.study.plan import plan as make_plan

SHOWN = 5  # options, best first
FACTOR = 30.0  # from the number of the plan to either end
MANY, FEW = 25, 7  # places of a curve, where errors are scaled and where they are computed anew


def draw(plan: Plan, target: str, file: IO[bytes], form: str) -> None:
    """Write the picture; the same plan gives the same bytes."""
    with mpl.rc_context({"svg.hashsalt": "sottovoce", "svg.fonttype": "none"}):
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        curves(plan, target, figure.add_subplot())
        figure.savefig(file, format=form, metadata={"Date": None} if form == "svg" else {"Software": None})


def curves(plan: Plan, target: str, axes: Any) -> None:
    """A curve for each of the first options, a point at the plan, and a line at the error that was asked for."""
    goal = plan.goal
    as_width = goal is None or goal.level is not None
    unit = plan.best.half_width(plan.level) / plan.best.std_error if as_width else 1.0
    for method, (places, errors) in errors_by_method(plan, target).items():
        axes.plot(places, [unit * error for error in errors], label=method)
    at = unit * plan.best.std_error
    axes.plot([plan.participants], [at], "o", color="black", zorder=5)
    axes.annotate(
        f"{plan.participants:,} participants, {at:.3g}",
        (plan.participants, at),
        xytext=(-8, -16),  # below the curves, which fall
        textcoords="offset points",
        horizontalalignment="right",
    )
    if goal is not None:
        axes.axhline(float(goal.size), color="0.6", linestyle="--", linewidth=1, label=f"asked for: {goal.size}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("participants")
    axes.set_ylabel(f"half-width at {100 * plan.level:g} %" if as_width else "standard error")
    axes.set_title(f"{plan.subject} at epsilon {plan.epsilon}")
    axes.grid(True, which="both", color="0.92")
    axes.legend(fontsize="small")


def errors_by_method(plan: Plan, target: str) -> dict[str, tuple[Sequence[int], Sequence[float]]]:
    """Numbers of participants and the standard error at each. Errors of mechanisms fall with the root of the number;
    protocols are planned anew for each."""
    n, shown = plan.participants, plan.options[:SHOWN]
    if all(isinstance(option.procedure, Mechanism) for option in shown):
        places = _places(n, MANY, 1)
        return {one.method: (places, [one.std_error * math.sqrt(n / place) for place in places]) for one in shown}
    places = _places(n, FEW, 100)
    plans = [make_plan(plan.question, epsilon=plan.epsilon, participants=place, target=target) for place in places]
    errors_of_plans = [{option.method: option.std_error for option in one.options} for one in plans]
    names = [one.method for one in shown if all(one.method in errors for errors in errors_of_plans)]
    return {name: (places, [errors[name] for errors in errors_of_plans]) for name in names}


def _places(n: int, count: int, fewest: int) -> list[int]:
    """Numbers of participants around that of the plan, evenly spread in logarithms; the plan's own is among them."""
    steps = [FACTOR ** (2 * place / (count - 1) - 1) for place in range(count)]
    return sorted({max(fewest, round(n * step)) for step in steps})
