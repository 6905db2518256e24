"""How near the order of a crowd's estimated ranking is to the true one: mean places, and sorting by single pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Ranking
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import SetShares
from sottovoce.core.registry import mechanism
from sottovoce.estimate.set_shares.evidence import SetEstimate
from sottovoce.study.plan import plan
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sets.designs import PAGE

PEOPLE = 10_000
LEVEL = 0.95
EPSILONS = (0.5, 1.0, 2.0)
DISPERSION = 0.9  # of Mallows' law: how likely a further swap is
STRENGTH = 0.15  # between neighbours of Plackett and Luce's law, in logarithms
Ints = NDArray[np.int64]


def mallows(items: int, rng: np.random.Generator) -> Ints:
    """Orders by repeated insertion: item j goes l places before the end with a probability that falls with l."""
    orders = np.zeros((PEOPLE, 0), np.int64)
    for item in range(items):
        weights = DISPERSION ** np.arange(item, -1, -1.0)
        at = rng.choice(item + 1, size=PEOPLE, p=weights / weights.sum())[:, None]
        places = np.arange(item + 1)
        before = np.concatenate([orders, np.zeros((PEOPLE, 1), np.int64)], axis=1)
        after = np.concatenate([np.zeros((PEOPLE, 1), np.int64), orders], axis=1)
        orders = np.where(places < at, before, np.where(places == at, item, after))
    return orders


def plackett_luce(items: int, rng: np.random.Generator) -> Ints:
    """Orders of a utility of each item with Gumbel noise."""
    utility = -STRENGTH * np.arange(items) + rng.gumbel(size=(PEOPLE, items))
    return np.argsort(-utility, axis=1)


CROWDS: dict[str, Callable[[int, np.random.Generator], Ints]] = {"Mallows": mallows, "Plackett-Luce": plackett_luce}


def pairs_of(orders: Ints) -> NDArray[np.bool_]:
    """Who puts which item of each pair first."""
    places = np.argsort(orders, axis=1)
    first, second = np.array(list(combinations(range(orders.shape[1]), 2))).T
    return np.asarray(places[:, first] < places[:, second])


def distance(order: Sequence[Any]) -> int:
    """Kendall's distance to the order 0, 1, 2, ..., which both laws prefer."""
    return sum(one > other for one, other in combinations(order, 2))


def _estimated(mechanism: Mechanism, bits: Any, seed: int) -> SetEstimate:
    found = mechanism.estimate(mechanism.tally(mechanism.privatize(bits, seed=seed)))
    if not isinstance(found, SetEstimate):
        raise TypeError("Reports about rankings are estimated as sets.")
    return found


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Real reports of one crowd in each run. Both orders of one pair are read from the same reports."""
    rng, items = np.random.default_rng(seed), point["items"]
    domain, epsilon = Ranking(range(items)), point["epsilon"]
    one_pair = mechanism("options", domain, epsilon=epsilon, asked=1)
    planned = plan(SetShares(domain), epsilon=epsilon, participants=PEOPLE).best.mechanism
    found: dict[str, list[float]] = {name: [] for name in ("kwiksort", "borda", "planned", "covered")}
    for _ in range(runs):
        orders = CROWDS[point["crowd"]](items, rng)
        bits, seed_of_run = pairs_of(orders), int(rng.integers(1 << 62))
        single, best = (_estimated(m, bits, seed_of_run) for m in (one_pair, planned))
        for name, order in (
            ("kwiksort", single.order(method="kwiksort", seed=seed_of_run)),
            ("borda", single.order()),
            ("planned", best.order()),
        ):
            found[name].append(distance(order))
        low, high = best.places.ci(LEVEL, target="sample")
        places = 1 + np.argsort(orders, axis=1).mean(axis=0)
        found["covered"].append(float(((low <= places) & (places <= high)).mean()))
    gains = np.array(found["kwiksort"]) - np.array(found["planned"])
    means = {name: float(np.mean(one)) for name, one in found.items()}
    error = float(np.std(gains, ddof=1) / np.sqrt(runs)) if runs > 1 else None
    return [{**means, "gain": float(gains.mean()), "error": error, "pairs": items * (items - 1) // 2}]


def summary(rows: Sequence[Row]) -> list[str]:
    """Whether the planned method is nearer everywhere."""
    better = sum(row["planned"] < row["kwiksort"] for row in rows)
    worst = max(row["planned"] / row["kwiksort"] for row in rows)
    return [
        f"Mean places are nearer than KwikSort in {better} of {len(rows)} cells, at most {worst:.2f} of its distance.",
        f"95 % intervals of mean places hold {min(row['covered'] for row in rows):.1%} to"
        f" {max(row['covered'] for row in rows):.1%} of them.",
    ]


EXPERIMENT = Experiment(
    id="set-rankings",
    title="Kendall's distance of estimated rankings",
    metric="Kendall's distance to the order that the crowd was drawn around",
    methods=("kwiksort", "borda", "planned"),
    data=tuple(CROWDS),
    grid=(("crowd", tuple(CROWDS)), ("items", (10, 20)), ("epsilon", EPSILONS)),
    quick=(("crowd", tuple(CROWDS)), ("items", (10,)), ("epsilon", (1.0,))),
    runs=40,
    quick_runs=4,
    cell=cell,
    figure=Picture(("crowd", "items", "epsilon"), ("kwiksort", "borda", "planned"), dots=True, log=""),
    columns=("crowd", "items", "epsilon", "pairs", "kwiksort", "borda", "planned", "gain", "error", "covered"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Rankings",
        text="Kendall's distance between the estimated order and the one that a crowd of 10,000 was drawn around (0 is"
        " perfect, all *pairs* reversed is the worst). *KwikSort* is LDPKwikSort with one pair from each person;"
        " *places* orders items by mean place from the same reports, *planned* from the reports that the planner"
        " chooses. Means of 40 runs; *gain* is the difference of KwikSort and planned in paired runs, with its standard"
        " error. *Covered* is the share of 95 % intervals of mean places that hold those of the crowd.",
        lead=("crowd", "items", "epsilon"),
        columns=(
            PageColumn("pairs", "pairs", "d"),
            PageColumn("KwikSort", "kwiksort", ".2f"),
            PageColumn("places", "borda", ".2f"),
            PageColumn("planned", "planned", ".2f"),
            PageColumn("gain", "gain", ".2f"),
            PageColumn("±", "error", ".2f"),
            PageColumn("covered", "covered", ".1%"),
        ),
    ),
)
