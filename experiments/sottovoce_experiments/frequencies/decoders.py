"""Decoders compared: the error of shares by the crowd, the mechanism, the participants and the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.core.domain import Integers
from sottovoce.core.errors import ParameterError
from sottovoce.core.registry import mechanism as build
from sottovoce_experiments.experiment import Experiment, Late, Row
from sottovoce_experiments.frequencies.data import crowd
from sottovoce_experiments.frequencies.draws import decoded
from sottovoce_experiments.page import Page, PageColumn, Section
from sottovoce_experiments.picture import Picture

DECODERS = ("linear", "normalise", "simplex", "norm-mul", "base-cut", "em", "small-sample")
CROWDS = (("even", 16), ("zipf", 64), ("geometric", 64), ("sparse", 64))
CROWD = ("crowd", "k")
PAGE = Page(
    "results/decoders.md",
    """\
# Decoders compared

Written by `sottovoce reproduce decoders --pages docs`. What the decoders are, and when to take which, is on
[the page on decoding](../guides/clean-shares.md).
""",
)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """One row for each decoder; the crowd is drawn anew for each run, and errors are against its own shares."""
    mechanism = build(point["mechanism"], Integers(0, point["k"] - 1), epsilon=str(point["epsilon"]))
    rng = np.random.default_rng(seed)
    held = [crowd(point["crowd"], point["k"], point["n"], rng) for _ in range(runs)]
    rows: list[Row] = []
    for decoder in DECODERS:
        try:
            values = [decoded(mechanism, each, decoder, runs=1, seed=seed + run)[0] for run, each in enumerate(held)]
        except ParameterError:  # this tally has no likelihood
            rows.append({"decoder": decoder, "error": None, "top": None, "bias": None})
            continue
        off = np.stack(values) - np.stack(held) / point["n"]
        largest = np.argsort(np.sum(held, axis=0))[::-1][:5]
        rows.append(
            {
                "decoder": decoder,
                "error": float(np.sqrt((off**2).mean())),
                "top": float(np.sqrt((off[:, largest] ** 2).mean())),
                "bias": float(off[:, largest].mean()),
            }
        )
    return rows


def _columns() -> tuple[PageColumn, ...]:
    each = [PageColumn(name, "error", ".2f", (("decoder", name),), 100) for name in DECODERS]
    tops = [
        PageColumn(f"{name}, top 5", "top", ".2f", (("decoder", name),), 100) for name in ("linear", "simplex", "em")
    ]
    bias = [
        PageColumn(f"{name}, bias", "bias", ".2f", (("decoder", name),), 100) for name in ("simplex", "small-sample")
    ]
    return (*each, *tops, *bias)


def summary(rows: Sequence[Row]) -> list[str]:
    """How often each decoder has the least error, over all values."""
    lines: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        lines.setdefault(tuple(row[name] for name in ("crowd", "k", "mechanism", "n", "epsilon")), []).append(row)
    least = [
        min((r for r in line if r["error"] is not None), key=lambda r: r["error"])["decoder"] for line in lines.values()
    ]
    return [f"Least error over all values: {', '.join(f'{name} {least.count(name)} times' for name in DECODERS)}."]


EXPERIMENT = Experiment(
    id="decoders",
    title="Decoders of shares beside each other",
    metric="root mean squared error of a share, in points",
    grid=((CROWD, CROWDS), ("mechanism", ("grr", "oue", "hadamard")), ("n", (1_000, 100_000)), ("epsilon", (0.5, 2.0))),
    quick=((CROWD, (("zipf", 64),)), ("mechanism", ("grr",)), ("n", (1_000,)), ("epsilon", (2.0,))),
    runs=16,
    quick_runs=4,
    cell=Late("frequencies.decoders:cell"),
    figure=Picture("decoder", "error", ("mechanism", "n", "epsilon"), mean=True, dots=True),
    columns=("crowd", "k", "mechanism", "n", "epsilon", "decoder", "error", "top", "bias"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Errors of shares",
        text="Root mean squared error of a share in points (hundredths), over all values, 16 crowds a line; then that"
        " of the five most common values, and the mean error of these five. Crowds: *even* shares; *zipf*, falling like"
        " 1, 1/2, 1/3, ...; *geometric*, falling by 1 - 5/k; *sparse*, ten values in use. Empty where counts of"
        " supports do not determine a likelihood; with the reports themselves `em` works there too.",
        columns=(*_columns(),),
    ),
)
