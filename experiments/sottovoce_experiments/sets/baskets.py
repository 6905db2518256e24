"""How often intervals of shares of items hold the truth: market baskets, real reports of every method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.core.domain import Sets
from sottovoce.core.registry import mechanism
from sottovoce.estimate.request import Target
from sottovoce.estimate.set_shares.evidence import SetEstimate
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sets.designs import PAGE
from sottovoce_experiments.sources import BASKETS

LEVEL = 0.95
RARE = 0.001  # share of an item
PAIRED = 12  # items whose pairs are asked about
CASES = {
    "12 items": (12, 12),
    "their pairs": (66, 10),
    "1,000 items": (1_000, 10),
    "all items": (16_470, 10),
}  # items, most
LONG = "all items"
GRID = (
    *(("12 items", method, epsilon) for method in ("options", "mask") for epsilon in (1.0, 4.0)),
    *(("their pairs", method, epsilon) for method in ("mask", "cells") for epsilon in (1.0, 4.0)),
    *(("1,000 items", method, epsilon) for method in ("mask", "cells") for epsilon in (1.0, 4.0)),
    (LONG, "cells", 2.0),
)


class Baskets(NamedTuple):
    """Baskets as codes, with the truth: the share of each item, and of each number of items."""

    codes: NDArray[np.uint64]
    shares: NDArray[np.float64]
    sizes: NDArray[np.float64]


@lru_cache(maxsize=1)
def purchases() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The basket and the item of each purchase; items are numbered from the most frequent one on."""
    lists = pq.read_table(data_file(BASKETS.file), columns=["items"])["items"].combine_chunks()
    items = np.asarray(lists.flatten().to_numpy(), np.int64)
    owners = np.repeat(np.arange(len(lists)), np.asarray(lists.value_lengths().to_numpy(), np.int64))
    ranks = np.argsort(np.argsort(-np.bincount(items), kind="stable"), kind="stable")
    return owners, ranks[items]


def crowd(case: str, rng: np.random.Generator) -> Baskets:
    """Baskets with some of the items; who would hold more than the most allowed keeps a random choice of them."""
    size, most = CASES[case]
    owners, items = purchases()
    people = int(owners.max()) + 1
    if case == "their pairs":
        held = np.zeros((people, PAIRED), bool)
        few = items < PAIRED
        held[owners[few], items[few]] = True
        both = np.stack([held[:, a] & held[:, b] for a, b in combinations(range(PAIRED), 2)], axis=1)
        owners, items = np.nonzero(both)
    owners, items = owners[items < size], items[items < size]
    order = np.lexsort((rng.random(len(items)), owners))
    owners, items = owners[order], items[order]
    place = np.arange(len(owners)) - np.searchsorted(owners, owners)
    owners, items = owners[place < most], items[place < most]
    codes = np.zeros((people, -(-size // 64)), np.uint64)
    np.bitwise_or.at(codes, (owners, items >> 6), np.uint64(1) << (items & 63).astype(np.uint64))
    numbers = np.bincount(np.bincount(owners, minlength=people), minlength=most + 1)
    return Baskets(codes, np.bincount(items, minlength=size) / people, numbers / people)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Coverage over all runs, and the spread of errors relative to what was predicted."""
    rng, used = np.random.default_rng(seed), 2 if point["case"] == LONG else runs
    people = crowd(point["case"], rng)
    size, most = CASES[point["case"]]
    subject = mechanism(point["method"], Sets(range(size), most), epsilon=point["epsilon"])
    rare = people.shares < RARE
    inside: dict[str, list[float]] = {kind: [] for kind in ("exact", "normal", "rare", "sizes")}
    squares = []
    for _ in range(used):
        words = WordStream.seeded(subject.words, int(rng.integers(1 << 62)))
        found = subject.estimate(subject.tally(draw(subject, people.codes, words)))
        for kind in ("exact", "normal"):
            low, high = found.ci(LEVEL, method=kind, target="sample")
            held = (low <= people.shares) & (people.shares <= high)
            inside[kind].append(float(held.mean()))
        if rare.any():
            inside["rare"].append(float(held[rare].mean()))
        squares.append(float(np.mean((found.values - people.shares) ** 2)))
        if isinstance(found, SetEstimate) and getattr(found.evidence, "sizes", None) is not None:
            low, high = found.sizes.ci(LEVEL, target="sample")
            inside["sizes"].append(float(((low <= people.sizes) & (people.sizes <= high)).mean()))
    predicted = float(np.mean(subject.variance(people.shares, len(people.codes), target=Target.SAMPLE)))
    means = {kind: float(np.mean(one)) if one else None for kind, one in inside.items()}
    spread = float(np.sqrt(np.mean(squares) / predicted))
    return [{**means, "rmse": float(np.sqrt(np.mean(squares))), "of predicted": spread, "intervals": size * used}]


def summary(rows: Sequence[Row]) -> list[str]:
    """The lowest and the highest coverage of each kind."""
    lines = []
    for kind, word in (
        ("exact", "exact"),
        ("normal", "normal"),
        ("rare", "normal, rare items"),
        ("sizes", "numbers of items"),
    ):
        shares = [row[kind] for row in rows if row[kind] is not None]
        lines.append(f"95 % intervals, {word}: {min(shares):.1%} to {max(shares):.1%} hold the truth.")
    errors = [row["of predicted"] for row in rows]
    return [*lines, f"Errors are {min(errors):.3f} to {max(errors):.3f} times as large as predicted."]


EXPERIMENT = Experiment(
    id="sets-coverage",
    title="Coverage of the intervals of shares of items, market baskets",
    metric="share of 95 % intervals that hold the truth",
    data=("retail baskets",),
    methods=("mask", "cells", "options"),
    grid=((("case", "method", "epsilon"), GRID),),
    quick=((("case", "method", "epsilon"), (("12 items", "options", 1.0), ("their pairs", "cells", 4.0))),),
    runs=20,
    quick_runs=2,
    cell=cell,
    figure=Picture(("case", "method", "epsilon"), ("exact", "normal", "rare", "sizes"), dots=True, guide=0.95, log=""),
    columns=("case", "method", "epsilon", "exact", "normal", "rare", "sizes", "rmse", "of predicted", "intervals"),
    summary=summary,
    needs=(BASKETS.file,),
    section=Section(
        page=PAGE,
        heading="## Market baskets",
        text="Real reports of 88,162 baskets about 12 items without a limit, their 66 pairs, 1,000 items and all"
        " 16,470. Reports hold at most 10, of larger baskets a random choice. Share of 95 % intervals for these"
        " baskets that hold the truth, over 20 runs (two of all items). *Rare* are items in under 0.1 % of baskets,"
        " *numbers* the shares of people with 0, 1, 2, ... items. *Of predicted* is the error over the one that was"
        " predicted.",
        lead=("case", "method", "epsilon"),
        columns=(
            PageColumn("exact", "exact", ".1%", missing="-"),
            PageColumn("normal", "normal", ".1%", missing="-"),
            PageColumn("rare", "rare", ".1%", missing="-"),
            PageColumn("numbers", "sizes", ".1%", missing="-"),
            PageColumn("root mean squared error", "rmse", ".4f"),
            PageColumn("of predicted", "of predicted", ".3f"),
        ),
    ),
)
