"""Variance of unbiased shares of ranges, of waves and of trees, beside the lower bound; nothing is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from time import process_time
from typing import Any

import numpy as np

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.domain import Integers
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism
from sottovoce.design.bound import bound
from sottovoce.design.coded import coded_bits
from sottovoce.design.descent import Cost
from sottovoce.design.distribution import usual_cells, usual_patterns
from sottovoce.estimate.distribution.queries import Queries, queries
from sottovoce.study.workloads import error_of
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture

PAGE = Page(
    "results/ranges.md",
    "# Ranges, measured\n\n"
    "Written by `sottovoce reproduce range-designs --pages docs`, `range-trees`, `range-decoders` and `range-pripl`"
    " likewise. Which\nmethod to take is on the page [Designed distributions](../methods/designed-distributions.md)."
    " The rows of `range-decoders` with 1,024\nbuckets were measured before `bayes` tried equal parts too, which makes"
    " it closer on smooth data.\n",
)
WAVE = "coded wave"
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    WAVE: ("coded-wave", {}),
    "hierarchy, 4 children": ("hierarchy", {"branching": 4}),
    "hierarchy, 2 children": ("hierarchy", {"branching": 2}),
    "Haar": ("haar", {}),
}
EPSILONS = (0.5, 1.0, 2.0)
GRID = (
    *((256, method, epsilon) for method in METHODS for epsilon in EPSILONS),
    *((1024, method, epsilon) for method in (WAVE, "hierarchy, 4 children", "Haar") for epsilon in EPSILONS),
    *((4096, WAVE, epsilon) for epsilon in EPSILONS),
)
MOST_EXACT = 1024  # bins for which the variance of all ranges and the bound are computed
RATIOS = {0.5: 1.10, 1.0: 1.12, 2.0: 1.17}  # targets of 256 bins, relative to the bound
TARGETS = {0.5: 172.0, 1.0: 41.0, 2.0: 8.4}  # of 1,024 bins
SECONDS = 5.0


def search_seconds(bins: int, epsilon: float) -> float:
    """The time that the search for a wave takes, without designs on disk."""
    budget = Decimal(str(epsilon))
    cells = usual_cells(bins, budget, "ranges")
    began = process_time()
    price = Cost(queries("ranges", bins), float(odds(budget)), np.full(bins, 1 / bins))
    coded_bits(price, cells, usual_patterns(cells))
    return process_time() - began


def sampling(wanted: Queries) -> float:
    """The part of the variance that is there without noise, since participants are a sample."""
    even = np.full(wanted.bins, 1 / wanted.bins)
    return float(even @ np.diag(wanted.gram) - even @ wanted.gram @ even) / wanted.count


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The unbiased decoder of the shipped channel, if all bins are equally common."""
    bins, epsilon = point["bins"], point["epsilon"]
    name, options = METHODS[point["method"]]
    domain, exact = Integers(0, bins - 1), bins <= MOST_EXACT
    method = mechanism(name, domain, epsilon=epsilon, buckets=bins, workload="ranges", **options)
    wanted = queries("ranges", bins)
    variance = error_of(method, Distribution(domain, "ranges", bins)) ** 2 - sampling(wanted) if exact else None
    least = bound(wanted, epsilon) if exact else None
    target = RATIOS[epsilon] * least if bins == 256 and least else TARGETS[epsilon] if bins == 1024 else None
    return [
        {
            "variance": variance,
            "bound": least,
            "ratio": variance / least if variance and least else None,
            "target": target if point["method"] == WAVE else None,
            "seconds": search_seconds(bins, epsilon) if point["method"] == WAVE else None,
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """Whether targets are met."""
    judged = [row for row in rows if row["target"] is not None]
    met = sum(row["variance"] <= row["target"] for row in judged)
    timed = [row["seconds"] for row in rows if row["seconds"] is not None and row["bins"] <= MOST_EXACT]
    return [
        f"{met} of {len(judged)} targets of the variance are met.",
        f"The slowest search of up to {MOST_EXACT:,} bins took {max(timed):.1f} s of CPU time (target {SECONDS:g} s).",
    ]


EXPERIMENT = Experiment(
    id="range-designs",
    title="Variance of unbiased shares of ranges, per query and participant",
    metric="variance, averaged over all ranges and over equally common bins",
    methods=tuple(METHODS),
    grid=((("bins", "method", "epsilon"), GRID),),
    quick=((("bins", "method", "epsilon"), tuple((256, method, 1.0) for method in METHODS)),),
    runs=1,
    quick_runs=1,
    cell=cell,
    figure=Picture("epsilon", "variance", "method", "bins", dashes="bound"),
    columns=("bins", "method", "epsilon", "variance", "bound", "ratio", "target", "seconds"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Unbiased ranges",
        text="n times the mean squared error of all ranges that the noise adds, computed from the law of the shipped"
        " channel for equally common bins. The bound holds for every channel of the budget with a linear, unbiased"
        " decoder. `CPU s` is the time of the search for the patterns of a wave, on the machine that wrote this page.",
        lead=("bins", "method", "epsilon"),
        columns=(
            PageColumn("n x MSE", "variance", ".4g", missing="-"),
            PageColumn("lower bound", "bound", ".4g", missing="-"),
            PageColumn("ratio", "ratio", ".3f", missing="-"),
            PageColumn("target", "target", ".4g", missing="-"),
            PageColumn("CPU s", "seconds", ".1f", missing="-"),
        ),
    ),
)
