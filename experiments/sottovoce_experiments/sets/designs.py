"""Variance of the share of a rare item, of every method for sets of items, beside the bound of a whole family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from sottovoce.core.domain import Sets
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.question import SetShares
from sottovoce.core.registry import mechanism
from sottovoce.study.plan import plan
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
PAGE = Page(
    "results/sets.md",
    "# Sets of items, measured\n\n"
    "Written by `sottovoce reproduce set-designs --pages docs`, and `sets-coverage` likewise. How to ask is on the\n"
    "page [Multiple choice](../guides/multiple-choice.md).\n",
)
METHODS = ("mask", "cells", "options", "padding-sampling", "wheel")
FORMULAS = ("hashed sample", "one cell", "index")
PEOPLE = 10_000
FINE = np.exp(np.linspace(np.log(1e-5), np.log(0.6), 200_000))
MOST_RATIO, MOST_PLANNED = 1.06, 1.03


def family_bound(most: int, epsilon: float) -> float:
    """The least n times variance of a rare item where a report is e**epsilon times likelier if it hits any item held.

    Each report contains an item with density f, independently of all others, for a list without end: u = 1 - (1 - f)**m
    of the reports hit one of m items.
    """
    return float(np.min(_variance_of_density(FINE, 1 - (1 - FINE) ** most, epsilon)))


def _variance_of_density(f: Floats, u: Floats, epsilon: float) -> Floats:
    e = np.exp(epsilon)
    return np.asarray((1 - f) / f * ((1 + (e - 1) * u) / ((e - 1) * (1 - u))) ** 2)


def one_cell(most: int, epsilon: float) -> float:
    """One of g cells, e**epsilon times likelier among K: those of the person's items, cut or padded by chance."""
    e, least = np.exp(epsilon), np.inf
    for g in np.unique(np.geomspace(most + 1, 80 * most, 80).astype(int)):
        taken, places = np.eye(1, most + 1)[0], np.arange(most + 1)
        for _ in range(most):
            taken = taken * places / g + np.concatenate([[0], (taken * (g - places) / g)[:-1]])
        for kept in range(1, min(most, g - 1) + 1):
            is_kept = float(taken @ np.minimum(1, kept / np.maximum(places, 1)))
            own, other = (1 + (e - 1) * is_kept) / (kept * e + g - kept), 1 / g
            least = min(least, other * (1 - other) / (own - other) ** 2) if own > other else least
    return float(least)


def index(most: int, epsilon: float, sets: int = 4096) -> float:
    """An index, likelier among K of the public random sets: those that hold an item of the person, cut or padded."""
    e, least = np.exp(epsilon), np.inf
    f0 = float(FINE[np.argmin(_variance_of_density(FINE, 1 - (1 - FINE) ** most, epsilon))])
    for f in f0 * np.array([0.8, 0.85, 0.9, 0.95, 1, 1.05]):
        u = 1 - (1 - f) ** most
        numbers = np.arange(sets)
        law = binom.pmf(numbers, sets - 1, u)  # of the other sets that are hit
        for kept in np.round(sets * u + np.sqrt(sets * u * (1 - u)) * np.arange(-2, 3, 0.25)).astype(int):
            is_kept = float(law @ np.minimum(1, kept / (numbers + 1)))
            own = sets * f * (1 + (e - 1) * is_kept) / (kept * e + sets - kept)
            least = min(least, f * (1 - f) / (own - f) ** 2)
    return float(least)


def hashed_sample(most: int, epsilon: float) -> float:
    """Padding and sampling with local hashing, whose variance does not grow with the list."""
    e = np.exp(epsilon)
    return float(most**2 * 4 * e / (e - 1) ** 2)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The exact variance of the shipped mechanism."""
    items, most, epsilon = point["items"], point["most"], point["epsilon"]
    domain = Sets(range(items), most)
    row: Row = {"bound": family_bound(most, epsilon), "hashed sample": hashed_sample(most, epsilon)}
    row |= {"one cell": one_cell(most, epsilon), "index": index(most, epsilon)}
    nobody = np.zeros(items)
    for method in METHODS:
        try:
            shipped = mechanism(method, domain, epsilon=epsilon)
        except ParameterError:
            continue
        row[method] = float(shipped.variance(nobody, 1)[0])
        row[f"{method} bytes"] = codec.payload_bytes(shipped.channel)
    best = plan(SetShares(domain), epsilon=epsilon, participants=PEOPLE, prior="rare").best
    least = min(row[method] for method in METHODS if method in row)
    row |= {"planned": best.method, "of the best": row[best.method] / least, "ratio": row[best.method] / row["bound"]}
    return [{name: row.get(name) for name in EXPERIMENT.columns if name not in point}]


def summary(rows: Sequence[Row]) -> list[str]:
    """Whether the targets are met."""
    limited = [row for row in rows if row["most"] < row["items"] / 2]
    return [
        f"The planned method has at most {max(row['ratio'] for row in limited):.3f} times the variance of the bound"
        f" (target {MOST_RATIO}).",
        f"It has at most {max(row['of the best'] for row in rows):.3f} times the variance of the best method"
        f" (target {MOST_PLANNED}).",
    ]


GRID = (
    *((8, 8, epsilon) for epsilon in (1.0, 2.0)),
    *((items, most, epsilon) for items in (100, 1_000, 16_470) for most in (5, 10, 50) for epsilon in (1.0, 2.0)),
)

EXPERIMENT = Experiment(
    id="set-designs",
    title="Variance of the share of a rare item, sets of items",
    metric="variance of the share of an item that nobody holds, times the number of participants",
    methods=METHODS,
    grid=((("items", "most", "epsilon"), GRID),),
    quick=((("items", "most", "epsilon"), ((8, 8, 1.0), (100, 5, 1.0), (1_000, 10, 2.0))),),
    runs=1,
    quick_runs=1,
    cell=cell,
    figure=Picture(("items", "most", "epsilon"), METHODS, over="bound", dots=True, guide=1.0),
    columns=(
        *("items", "most", "epsilon", *METHODS, *FORMULAS, "bound", "planned", "ratio", "of the best"),
        *("mask bytes", "cells bytes"),
    ),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Variance of a rare item",
        text="n times the variance of the share of an item that nobody holds, from the law of the shipped mechanisms."
        " People hold at most *most* of the *items*. By formula, for a list without end: the *bound* of all designs"
        " whose reports are likelier if they hit any item of the person; *hashed sample*, padding and sampling with"
        " local hashing; *one cell* of g, with the cells of a person cut or padded to K; an *index* of one"
        " of 4,096 public random sets. Where half of the list or more may be ticked, `options` goes below the bound.",
        lead=("items", "most", "epsilon"),
        columns=(
            *(PageColumn(method, method, ".4g", missing="-") for method in METHODS),
            *(PageColumn(name, name, ".4g") for name in FORMULAS),
            PageColumn("bound", "bound", ".4g"),
            PageColumn("planned", "planned"),
            PageColumn("over the bound", "ratio", ".3f"),
            PageColumn("over the best", "of the best", ".3f"),
            PageColumn("bytes of mask", "mask bytes", "d"),
            PageColumn("bytes of cells", "cells bytes", "d"),
        ),
    ),
)
