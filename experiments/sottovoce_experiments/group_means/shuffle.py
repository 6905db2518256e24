"""What a shuffler hides of reports about a private group and a number: the loss in a crowd, from the law."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.core.registry import mechanism
from sottovoce.privacy.accounting.shuffling import shuffled
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.group_means.orders import PAGE
from sottovoce_experiments.page import THOUSANDS, PageColumn, Section
from sottovoce_experiments.picture import MOST, Picture

DELTA = 1e-6
METHODS = ("group-bernoulli", "group-nprr", "group-piecewise", "group-laplace")


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """The bound from the law of the mechanism, and that of clones, which knows epsilon only."""
    groups = Categories([f"g{place}" for place in range(point["groups"])])
    asked = mechanism(point["mechanism"], Pair(groups, Interval(-1, 1)), epsilon=point["epsilon"])
    found = shuffled(asked, participants=point["n"], delta=DELTA)
    return [{**point, "amplified": found.epsilon, "clones": found.claimed["clones"], "method": found.method}]


EXPERIMENT = Experiment(
    id="group-shuffled",
    title="Means by private group behind a shuffler: the loss of a report in a crowd",
    metric="epsilon of one report for an observer of shuffled reports",
    methods=METHODS,
    grid=(
        ("mechanism", METHODS),
        ("groups", (2, 8)),
        ("epsilon", (0.5, 1.0, 3.0)),
        ("n", (10_000, 1_000_000)),
    ),
    quick=(("mechanism", METHODS[:1]), ("groups", (2,)), ("epsilon", (1.0,)), ("n", (10_000,))),
    runs=1,
    quick_runs=1,
    cell=Late("group_means.shuffle:cell"),
    figure=Picture("epsilon", "amplified", "mechanism", panels="groups", where=(("n", MOST),)),
    columns=("mechanism", "groups", "epsilon", "n", "amplified", "clones", "method"),
    section=Section(
        page=PAGE,
        heading="## Behind a shuffler",
        text="The epsilon of one report for an observer who sees shuffled reports only, with delta 10^-6 (`shuffled`)."
        " `shuffled` is what is claimed: the smaller one of a bound from the law of the mechanism and of `clones`,"
        " which knows epsilon alone. The dossier of a study with a shuffler states it. Nothing is simulated.",
        lead=("mechanism", "groups", "epsilon", THOUSANDS),
        columns=(
            PageColumn("shuffled", "amplified", ".4f"),
            PageColumn("from", "method"),
            PageColumn("clones", "clones", ".4f"),
        ),
    ),
)
