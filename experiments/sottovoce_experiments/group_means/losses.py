"""The errata of group means as an experiment: stated against true epsilon, exactly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sottovoce.core.arithmetic.rational import float_up, loss
from sottovoce.core.channel import Keyed
from sottovoce.core.domain import Categories, Interval, Pair
from sottovoce.mechanisms.group import bernoulli, laplace, nprr, piecewise
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.group_means.synthetic import PAPER, fingerprint
from sottovoce_experiments.group_means.variants import group_bernoulli, group_laplace, group_nprr, group_piecewise
from sottovoce_experiments.picture import DIAGONAL, Picture

DOMAIN = Pair(Categories(["one", "other"]), Interval(-1, 1))
VARIANTS = (
    "nprr, k = 2",
    "nprr, k = 8",
    "bernoulli, first claim",
    "laplace, half the scale, 2 ranges",
    "laplace, half the scale, 4 ranges",
    "piecewise",
)


def published(variant: str, epsilon: Any) -> Keyed:
    """The published channel that is said to keep epsilon."""
    budget = Decimal(str(epsilon))
    name, *details = variant.split(", ")
    if name == "nprr":
        return group_nprr(budget, int(details[0].removeprefix("k = ")))
    if name == "bernoulli":
        return group_bernoulli(budget)
    if name == "laplace":
        return group_laplace(budget, reach=int(details[1].removesuffix(" ranges")))
    return group_piecewise(budget / 2, budget / 2)


def sibling(variant: str, epsilon: Any) -> float:
    """The exact epsilon of the registered mechanism."""
    name, *details = variant.split(", ")
    if name == "nprr":
        k = int(details[0].removeprefix("k = "))
        return nprr.build(DOMAIN, epsilon=epsilon, value_epsilon=epsilon, k=k).epsilon
    build = {"bernoulli": bernoulli.build, "laplace": laplace.build, "piecewise": piecewise.build}[name]
    return build(DOMAIN, epsilon=epsilon, value_epsilon=epsilon).epsilon


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The loss is computed from the channel, without draws."""
    channel = published(point["variant"], point["epsilon"])
    return [
        {
            "true": float_up(loss(channel.ratio())),
            "ours": sibling(point["variant"], point["epsilon"]),
            "fingerprint": fingerprint(channel),
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """The worst excess of each variant."""
    said = []
    for variant in dict.fromkeys(row["variant"] for row in rows):
        ratio, row = max(
            ((row["true"] / row["epsilon"], row) for row in rows if row["variant"] == variant), key=lambda pair: pair[0]
        )
        if ratio > 1 + 1e-6:
            said.append(f"{variant}: up to {ratio:.2f} times what is stated (at epsilon {row['epsilon']:g}).")
        else:
            said.append(f"{variant}: holds.")
    return said


EXPERIMENT = Experiment(
    id="group-errata",
    paper=f"{PAPER}; Juarez, Korolova, 2023",
    title="Stated against true epsilon of published group mechanisms, 2 groups",
    data=(),
    methods=VARIANTS,
    metric="exact privacy loss of one report",
    grid=(("variant", VARIANTS), ("epsilon", (0.5, 1.0, 2.0, 3.0, 4.0))),
    quick=(("variant", VARIANTS), ("epsilon", (1.0, 4.0))),
    runs=1,
    quick_runs=1,
    cell=cell,
    figure=Picture("epsilon", "true", "variant", guide=DIAGONAL, log=""),
    columns=("variant", "epsilon", "true", "ours"),
    summary=summary,
)
