"""Frequent items of market baskets: published protocols beside one round of cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Domain, HeldCount, Itemsets, Sets
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.core.round import Protocol, Round
from sottovoce.fast.batch import draw
from sottovoce.fast.item_sets import held_itemsets
from sottovoce.fast.words import WordStream
from sottovoce.protocols.play import play
from sottovoce.protocols.sets.ldp_miner import LdpMiner
from sottovoce.protocols.sets.svim import FrequentItems
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sets.baskets import purchases
from sottovoce_experiments.sets.designs import PAGE
from sottovoce_experiments.sources import BASKETS

COUNT = 64
ITEMS = 16_470
KEPT = 10  # items of a basket that one round of cells is about, of larger ones a random choice
SLOTS = 15  # nine in ten baskets hold at most about so many
METHODS = ("svim", "ldp-miner", "cells")
Rows = NDArray[np.uint64]


@lru_cache(maxsize=1)
def _lengths() -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Owner and item of each purchase, and the number of items of each basket."""
    owners, items = purchases()
    return owners, items, np.bincount(owners)


def crowd(most: int, rng: np.random.Generator) -> tuple[Rows, NDArray[np.float64]]:
    """Baskets in a random order as rows of bits, of larger ones a random choice of items; and the true shares."""
    owners, items, lengths = _lengths()
    shares = np.bincount(items, minlength=ITEMS) / len(lengths)
    order = np.lexsort((rng.random(len(items)), owners))
    place = np.arange(len(owners)) - np.searchsorted(owners, owners)
    kept = order[place < most]
    people = rng.permutation(len(lengths))[owners[kept]]
    codes = np.zeros((len(lengths), -(-ITEMS // 64)), np.uint64)
    np.bitwise_or.at(codes, (people, items[kept] >> 6), np.uint64(1) << (items[kept] & 63).astype(np.uint64))
    return codes, shares


def tally_of(subject: Mechanism, held: Rows, seed: int) -> Any:
    """Real reports of some baskets."""
    return subject.tally(draw(subject, _seen(subject.domain, held), WordStream.seeded(subject.words, seed)))


def _seen(domain: Domain, held: Rows) -> Any:
    """What a domain sees of baskets."""
    if isinstance(domain, HeldCount):
        return np.bitwise_count(_seen(domain.of, held)).sum(axis=1).astype(np.uint32)
    return held_itemsets(domain, held) if isinstance(domain, Itemsets) else held


def run(protocol: Protocol, held: Rows, seed: int) -> Any:
    """The estimates of a protocol; each basket answers once, or in every round where the protocol asks again."""
    left = 0

    def ask(stage: Round, number: int) -> tuple[Any, ...]:
        nonlocal left
        people = len(held) - left if stage.quota is None else min(stage.quota, len(held) - left)
        some = held[left : left + people]
        left += 0 if protocol.answers > 1 else people
        return (tally_of(stage.arms[0].mechanism, some, seed + number),)

    return play(protocol, ask).estimates


def _svim(epsilon: float, rng: np.random.Generator) -> tuple[Any, Any]:
    held, shares = crowd(MOST, rng)
    protocol = FrequentItems(Sets(range(ITEMS), MOST), epsilon, COUNT, len(held))
    return run(protocol, held, int(rng.integers(1 << 60)))["items"], shares


def _miner(epsilon: float, rng: np.random.Generator) -> tuple[Any, Any]:
    held, shares = crowd(MOST, rng)
    protocol = LdpMiner(Sets(range(ITEMS), MOST), epsilon, COUNT, SLOTS, len(held))
    return run(protocol, held, int(rng.integers(1 << 60)))["items"], shares


def _cells(epsilon: float, rng: np.random.Generator) -> tuple[Any, Any]:
    held, shares = crowd(KEPT, rng)
    subject = mechanism("cells", Sets(range(ITEMS), KEPT), epsilon=epsilon)
    return subject.estimate(tally_of(subject, held, int(rng.integers(1 << 60)))), shares


MOST = 76  # items of the largest basket
RUN: dict[str, Callable[[float, np.random.Generator], tuple[Any, Any]]] = dict(
    zip(METHODS, (_svim, _miner, _cells), strict=True)
)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """How many of the true top items are found, weighted by rank, and the error of their shares."""
    rng = np.random.default_rng(seed)
    ranks, found, errors = [], [], []
    for _ in range(runs):
        estimate, shares = RUN[point["method"]](point["epsilon"], rng)
        right = np.argsort(-shares, kind="stable")[:COUNT]
        values = {int(label): float(value) for label, value in zip(estimate.labels, estimate.values, strict=True)}
        best = sorted(values, key=lambda item: -values[item])[:COUNT]
        quality = {int(item): COUNT - rank for rank, item in enumerate(right)}
        ranks.append(sum(quality.get(item, 0) for item in best) / sum(quality.values()))
        hits = [item for item in best if item in quality]
        found.append(len(hits) / COUNT)
        errors.append(float(np.mean([(values[item] - shares[item]) ** 2 for item in hits])) if hits else np.nan)
    error = float(np.std(ranks, ddof=1) / np.sqrt(runs)) if runs > 1 else None
    return [
        {
            "ncr": float(np.mean(ranks)),
            "error": error,
            "found": float(np.mean(found)),
            "rmse": float(np.sqrt(np.nanmean(errors))),
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """The rank score of each method."""
    return [
        f"{method}: "
        + ", ".join(f"{row['ncr']:.2f} at epsilon {row['epsilon']:g}" for row in rows if row["method"] == method)
        for method in dict.fromkeys(row["method"] for row in rows)
    ]


EXPERIMENT = Experiment(
    id="set-mining",
    title="Frequent items of market baskets",
    metric="normalised cumulative rank of the 64 most frequent items",
    paper="Wang, Li, Jha, S&P 2018",
    data=("retail baskets",),
    methods=METHODS,
    grid=(("method", METHODS), ("epsilon", (1.0, 2.0, 4.0))),
    quick=(("method", ("svim",)), ("epsilon", (4.0,))),
    runs=4,
    quick_runs=1,
    cell=cell,
    figure=Picture("epsilon", "ncr", lines="method", log="x"),
    columns=("method", "epsilon", "ncr", "error", "found", "rmse"),
    summary=summary,
    needs=(BASKETS.file,),
    section=Section(
        page=PAGE,
        heading="## Frequent items",
        text="The 64 most frequent of 16,470 items, from real reports of 88,162 baskets, in four runs. *Rank* is the"
        " normalised cumulative rank of the papers: each true item that is found counts by its rank, from 64 down to 1,"
        " divided by the sum of all; ± is its standard error. *Found* is the share of the 64 that is found, and the"
        " last column the root mean squared error of their shares. *SVIM* asks half of the people for one item, a tenth"
        " for the number of candidates, and the others for one candidate; at small budgets the factor that scales its"
        " shares up is mostly noise. *LDPMiner* asks all people twice, each time with half of the budget. *Cells* is"
        " one round about at most ten items of a basket, a random choice of larger ones, so that its shares are too"
        " low.",
        lead=("method", "epsilon"),
        columns=(
            PageColumn("rank", "ncr", ".3f"),
            PageColumn("±", "error", ".3f"),
            PageColumn("found", "found", ".0%"),
            PageColumn("root mean squared error", "rmse", ".4f"),
        ),
    ),
)
