"""How often two means by private group appear in their right order, beside what plans and estimates say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import ndtr

from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.group_mean.contrasts import difference
from sottovoce.estimate.group_mean.evidence import from_cells
from sottovoce.estimate.group_mean.power import group_error_ratio, least_gap, order_probability, participants_for_order
from sottovoce.estimate.group_mean.truth import Crowd, keyed_channel
from sottovoce.estimate.prior import Prior
from sottovoce_experiments.coverage.group import cohorts, draw_cells
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.group_means.real import (
    AGE_BY_DIAGNOSIS,
    AGE_BY_SEX,
    DAYS_BY_ADMISSION,
    PatientQuestion,
    counts,
)
from sottovoce_experiments.page import THOUSANDS, Page, PageColumn, Row, Section, percent
from sottovoce_experiments.picture import DIAGONAL, Picture
from sottovoce_experiments.sources import PATIENTS

PAGE = Page(
    "results/groups.md",
    """\
# Means of private groups

How often means appear in their right order, and what a shuffler hides. Coverage of the intervals is on
[a page of its own](coverage.md#means-by-group), means after a search of the range on
[means in rounds](means-in-rounds.md#groups-and-distributions-without-a-known-range). Each section is written by
`sottovoce reproduce ID --pages docs`.
""",
)
QUESTIONS: dict[str, tuple[PatientQuestion, tuple[str, str]]] = {
    "age by sex": (AGE_BY_SEX, ("female", "male")),
    "days in hospital by admission": (DAYS_BY_ADMISSION, ("emergency", "elective")),
    "age by diagnosis": (AGE_BY_DIAGNOSIS, ("circulatory", "diabetes")),
}
METHODS = ("group-nprr", "group-piecewise")
WANTED = (0.8, 0.95)
STATED = (0.5, 0.7, 0.85, 0.95, 1.0)
REACH = 5.0  # standard errors: differences are drawn evenly up to this size
LARGEST = 1.2  # as numbers lie between -1 and 1


def _asked(question: PatientQuestion, name: str, epsilon: float) -> tuple[Mechanism, Crowd]:
    """The mechanism and the crowd of a question about patients."""
    members = counts(question)
    domain = Pair(Categories(list(members)), Interval(question.low, question.high))
    sizes = np.array([sum(values.values()) for values in members.values()], float)
    priors = [Prior(list(values), list(values.values())) for values in members.values()]
    return mechanism(name, domain, epsilon=epsilon), Crowd.of(domain, (sizes / sizes.sum()).tolist(), priors)


def _means(asked: Mechanism, crowd: Crowd, n: int, rng: np.random.Generator) -> Any:
    """What is estimated from n people who are drawn from a population."""
    channel = keyed_channel(asked)
    people = cohorts(asked, crowd, rng.multinomial(n, crowd.shares), fixed=False)
    return from_cells(asked, n, draw_cells(channel, list(people), rng).ravel())


def planned_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """As many people as the plan asks for, drawn again and again."""
    question, pair = QUESTIONS[point["answers"]]
    asked, crowd = _asked(question, point["mechanism"], point["epsilon"])
    labels, rng = list(counts(question)), np.random.default_rng(seed)
    places = [labels.index(name) for name in pair]
    gap = float(np.subtract(*crowd.means[places]))
    known: dict[str, Any] = {"shares": crowd.shares.tolist(), "priors": list(crowd.priors), "groups": pair}
    n = participants_for_order(asked, abs(gap), probability=point["wanted"], **known)
    right = 0
    for _ in range(runs):
        totals = _means(asked, crowd, n, rng).totals
        right += (np.subtract(*(totals.sums / totals.sizes)[places]) > 0) == (gap > 0)
    return [
        {
            **point,
            "runs": runs,
            "gap": abs(gap),
            "n": n,
            "planned": order_probability(asked, abs(gap), n=n, **known),
            "right": float(right) / runs,
            "std_error": math.sqrt(float(right) * (runs - right) / runs**3),
            "wrong group": float(group_error_ratio(asked)),
        }
    ]


def stated_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """Differences drawn evenly, so that both orders are equally likely beforehand; estimates by what they state."""
    domain, rng, n = Pair(Categories(["a", "b"]), Interval(-1, 1)), np.random.default_rng(seed), point["n"]
    asked = mechanism(point["mechanism"], domain, epsilon=point["epsilon"])
    places, pair = np.array([-0.3, 0.0, 0.3]), np.array([0, 1])
    error = least_gap(asked, Crowd.of(domain, None, [Prior.of(places)] * 2), pair, n, probability=float(ndtr(1)))
    reach = min(REACH * error, LARGEST)
    stated, right, shown = np.zeros(runs), np.zeros(runs, bool), np.zeros(runs, bool)
    for run in range(runs):
        gap = float(rng.uniform(-reach, reach))
        crowd = Crowd.of(domain, None, [Prior.of(places + half) for half in (gap / 2, -gap / 2)])
        means = _means(asked, crowd, n, rng)
        if means.estimable.all():
            shown[run], found = True, difference(means, "a", "b")
            stated[run], right[run] = found.order_probability, (found.value > 0) == (gap > 0)
    rows = []
    for low, high in pairwise(STATED):
        own = shown & (stated >= low) & ((stated < high) | (high == 1))
        share, count = float(right[own].mean()), int(own.sum())
        rows.append(
            {
                **point,
                "runs": runs,
                "from": low,
                "to": high,
                "estimates": count,
                "stated": float(stated[own].mean()),
                "right": share,
                "std_error": math.sqrt(share * (1 - share) / count),
            }
        )
    return rows


def planned_summary(rows: Sequence[Row]) -> list[str]:
    """The largest distance of what was planned."""
    worst = max(rows, key=lambda row: abs(row["right"] - row["planned"]))
    return [
        f"{len(rows)} lines; planned and measured differ by at most {100 * abs(worst['right'] - worst['planned']):.1f}"
        f" points, {abs(worst['right'] - worst['planned']) / worst['std_error']:.1f} standard errors"
    ]


def stated_summary(rows: Sequence[Row]) -> list[str]:
    """The largest distance of what was stated."""
    worst = max(rows, key=lambda row: abs(row["right"] - row["stated"]))
    return [f"stated and measured differ by at most {100 * abs(worst['right'] - worst['stated']):.1f} points"]


def planned_text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    return (
        "As many patients as `participants_for_order` asks for, drawn from the record of 130 hospitals, so that the two"
        " means that are named appear in their right order with the planned probability. `difference` is that of the"
        " true means. `wrong group` is the group error ratio (`group_error_ratio`, exact): the share of reports that do"
        f" not support the true group. {rows[0]['runs']:,} runs a line.\n\n- {planned_summary(rows)[0]}."
    )


def stated_text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    return (
        "`difference.order_probability` of an estimate holds for a reader who held both orders as likely. So true"
        f" differences are drawn evenly, up to {REACH:g} standard errors to either side, and estimates are sorted by"
        f" what they state. {rows[0]['runs']:,} runs for each mechanism.\n\n- {stated_summary(rows)[0]}."
    )


PLANNED_ORDERS = Experiment(
    id="group-orders",
    title="Two means by private group in their right order, as often as planned",
    metric="share of runs with the right order",
    data=(PATIENTS.file,),
    methods=METHODS,
    grid=(("answers", tuple(QUESTIONS)), ("mechanism", METHODS), ("epsilon", (1.0, 3.0)), ("wanted", WANTED)),
    quick=(("answers", tuple(QUESTIONS)[:1]), ("mechanism", METHODS[:1]), ("epsilon", (3.0,)), ("wanted", WANTED[:1])),
    runs=500,
    quick_runs=20,
    cell=Late("group_means.orders:planned_cell"),
    figure=Picture("planned", "right", "answers", dots=True, guide=DIAGONAL, log=""),
    columns=("answers", "mechanism", "epsilon", "gap", "wrong group", "n", "planned", "right", "std_error"),
    summary=planned_summary,
    needs=(PATIENTS.file,),
    section=Section(
        page=PAGE,
        heading="## The right order, as planned",
        text=planned_text,
        lead=("answers", "mechanism", "epsilon", PageColumn("difference", "gap", ".2f"), THOUSANDS),
        columns=(
            percent("wrong group", 0, field="wrong group"),
            percent("planned", 1, field="planned"),
            percent("measured", 1, field="right"),
            percent("+-", 1, field="std_error"),
        ),
    ),
)
STATED_ORDERS = Experiment(
    id="group-orders-stated",
    title="The order of two means: the stated probability, and how often it is right",
    metric="share of estimates with the right order",
    methods=METHODS,
    grid=(("mechanism", METHODS), (("epsilon", "n"), ((1.0, 20_000), (3.0, 2_000)))),
    quick=(("mechanism", METHODS[:1]), (("epsilon", "n"), ((3.0, 2_000),))),
    runs=3_000,
    quick_runs=200,
    cell=Late("group_means.orders:stated_cell"),
    figure=Picture("stated", "right", "mechanism", dots=True, guide=DIAGONAL, log=""),
    columns=("mechanism", "epsilon", "n", "from", "to", "estimates", "stated", "right", "std_error"),
    summary=stated_summary,
    section=Section(
        page=PAGE,
        heading="## The right order, as stated",
        text=stated_text,
        lead=("mechanism", "epsilon", THOUSANDS, PageColumn("from", "from"), PageColumn("to", "to")),
        columns=(
            PageColumn("estimates", "estimates", ","),
            percent("stated", 1, field="stated"),
            percent("measured", 1, field="right"),
            percent("+-", 1, field="std_error"),
        ),
    ),
)
