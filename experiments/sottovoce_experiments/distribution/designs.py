"""Variance of designed channels for a distribution, beside other channels and the lower bound; nothing is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from time import process_time
from typing import Any

import numpy as np

from sottovoce.core.channel import Block, Channel, ListedSets, ShiftSets
from sottovoce.core.domain import Circle, Domain, Integers
from sottovoce.core.registry import mechanism
from sottovoce.design.bound import bound
from sottovoce.estimate.distribution.queries import queries
from sottovoce.tally.laws import law_row
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture

PAGE = Page(
    "results/designed-distributions.md",
    "# Designed channels for a distribution, measured\n\n"
    "Written by `sottovoce reproduce distribution-designs --pages docs`, `distribution-waves` and `ordinal-designs`\n"
    "likewise. What the methods are is on the page"
    " [Designed distributions](../methods/designed-distributions.md).\n",
)
# How each method is asked for; randomized response is a mechanism for shares.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "randomized response": ("grr", {}),
    "square wave": ("square-wave-discrete", {}),
    "coded wave": ("coded-wave", {}),
    "coded wave, 4 patterns": ("coded-wave", {"patterns": 4}),
    "designed table": ("designed-distribution", {}),
    "designed table, 512 outputs": ("designed-distribution", {"outputs": 512}),
}
PLAIN = ("randomized response", "square wave", "coded wave", "designed table")
EPSILONS = (0.5, 1.0, 2.0, 4.0)
LINE = tuple(("line", 64, method, e) for method in (*PLAIN, "designed table, 512 outputs") for e in EPSILONS)
CIRCLE = tuple(("circle", 64, method, e) for method in (*PLAIN, "coded wave, 4 patterns") for e in EPSILONS)
LARGE = tuple(("line", bins, "coded wave", 1.0) for bins in (128, 256))
TARGETS = {
    **{
        ("line", 64, "designed table, 512 outputs", epsilon): most
        for epsilon, most in ((0.5, 43), (1.0, 10), (2.0, 2.02))
    },
    **{("line", 64, "coded wave", epsilon): most for epsilon, most in ((0.5, 45.5), (1.0, 10.7), (2.0, 2.12))},
    **{("line", bins, "coded wave", 1.0): most for bins, most in ((128, 14.2), (256, 18.1))},
}


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The least-variance unbiased decoder of the shipped channel, if all bins are equally common."""
    around, bins, epsilon = point["shape"] == "circle", point["bins"], Decimal(str(point["epsilon"]))
    name, options = METHODS[point["method"]]
    domain: Domain = Circle(bins) if around else Integers(0, bins - 1)
    if around:
        options = options if name == "grr" else {**options, "buckets": bins}
    began = process_time()
    asked: Domain = Integers(0, bins - 1) if name == "grr" else domain
    channel = mechanism(name, asked, epsilon=epsilon, **options).channel
    seconds = process_time() - began
    wanted = queries("ranges" if around else "cdf", bins, circular=around)
    law = np.array([law_row(channel, code) for code in range(bins)]).T
    information = bins * (law / law.sum(axis=1)[:, None]).T @ law
    total = np.trace(np.linalg.solve(information, wanted.gram)) - np.trace(wanted.gram) / bins
    variance, least = float(total / wanted.count), bound(wanted, float(epsilon))
    key = (point["shape"], bins, point["method"], point["epsilon"])
    return [
        {
            "variance": variance,
            "bound": least,
            "ratio": variance / least if least > 1e-3 else None,
            "target": TARGETS.get(key),
            "bits": _bits(channel),
            "seconds": seconds,
        }
    ]


def _bits(channel: Channel) -> int | None:
    """Bits that the specification of a design holds."""
    sets = channel.sets if isinstance(channel, Block) else None
    if isinstance(sets, ListedSets):
        return sets.outputs * sets.codes
    return sets.outputs if isinstance(sets, ShiftSets) else None


def summary(rows: Sequence[Row]) -> list[str]:
    """Whether targets are met, and how near the bound circles come."""
    judged = [row for row in rows if row["target"] is not None]
    met = sum(row["variance"] <= row["target"] for row in judged)
    said = [f"{met} of {len(judged)} targets are met."]
    near = [row["ratio"] for row in rows if row["shape"] == "circle" and row["method"] == "coded wave, 4 patterns"]
    small = [ratio for ratio in near if ratio is not None and ratio < 2]
    if small:
        said.append(f"Four patterns around a circle: {100 * (max(small) - 1):.1f} % above the bound or less.")
    return said


EXPERIMENT = Experiment(
    id="distribution-designs",
    title="Variance of unbiased cumulative shares, and of arcs of a circle, per query and participant",
    metric="variance, averaged over all queries and over equally common bins",
    methods=tuple(METHODS),
    grid=((("shape", "bins", "method", "epsilon"), (*LINE, *CIRCLE, *LARGE)),),
    quick=((("shape", "bins", "method", "epsilon"), tuple(("line", 64, method, 1.0) for method in PLAIN)),),
    runs=1,
    quick_runs=1,
    cell=cell,
    figure=Picture("epsilon", "variance", "method", ("shape", "bins"), dashes="bound"),
    columns=("shape", "bins", "method", "epsilon", "variance", "bound", "ratio", "target", "bits", "seconds"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Variance",
        text="Variance per query and participant of the least-variance unbiased decoder, computed from the law of the"
        " shipped channel: all cumulative shares on a line, all arcs around a circle. The bound is one for every"
        " channel of the budget with a linear, unbiased decoder. `bits` is what the specification holds, `CPU s` the"
        " time of the search on the machine that wrote this page.",
        lead=(PageColumn("bins of a", "shape"), "bins", "method", "epsilon"),
        columns=(
            PageColumn("variance", "variance", ".4g"),
            PageColumn("lower bound", "bound", ".4g"),
            PageColumn("ratio", "ratio", ".3f", missing="-"),
            PageColumn("target", "target", "g", missing="-"),
            PageColumn("bits", "bits", missing="-"),
            PageColumn("CPU s", "seconds", ".1f"),
        ),
    ),
)
