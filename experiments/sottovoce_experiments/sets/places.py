"""Mean places from pairs of items, and from all places at once as a vector: exact variances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from sottovoce.core.domain import Ball, Box, Domain, Ranking
from sottovoce.core.question import MeanPlaces, VectorMean
from sottovoce.study.plan import plan
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sets.designs import PAGE

METHODS = ("pairs", "one place", "vector")


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """n times the mean variance of a place, for a crowd without a preference."""
    items, epsilon = point["items"], point["epsilon"]
    square = Decimal(items * (items * items - 1)) / 12  # of the distance of every ranking from the mean place
    radius = square.sqrt().quantize(Decimal("0.000001"))

    def best(domain: Domain, of: float) -> float:
        return plan(VectorMean(domain), epsilon=epsilon, participants=1).best.std_error ** 2 * of

    pairs = plan(MeanPlaces(Ranking(range(items))), epsilon=epsilon, participants=1).best.std_error ** 2
    one, vector = best(Box(1, items, items), 1), best(Ball(radius, items - 1), (items - 1) / items)
    return [{"pairs": pairs, "one place": one, "vector": vector, "ratio": vector / pairs}]


def summary(rows: Sequence[Row]) -> list[str]:
    """Where the vector is better than pairs."""
    ratios = [row["ratio"] for row in rows]
    return [f"The variance of places read from a vector is {min(ratios):.2f} to {max(ratios):.2f} of that from pairs."]


EXPERIMENT = Experiment(
    id="ranking-designs",
    title="Variance of a mean place",
    metric="n times the variance of a mean place, mean over all items",
    methods=METHODS,
    grid=(("items", (5, 10, 20)), ("epsilon", (0.5, 1.0, 2.0, 4.0))),
    quick=(("items", (5,)), ("epsilon", (1.0,))),
    cell=cell,
    figure=Picture("epsilon", METHODS, panels="items"),
    columns=("items", "epsilon", *METHODS, "ratio"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Places as a vector",
        text="n times the exact variance of a mean place, where the crowd has no preference. *Pairs* is the planned"
        " method of `MeanPlaces`. *One place* asks each person for the place of one item. *Vector* reports all places"
        " at once: they have a fixed sum and lie on a sphere of one dimension less, which `priv-unit` randomizes."
        " *Ratio* is the variance of the vector over that of pairs. Reports of `priv-unit` are vectors of floats, so"
        " its guarantee is idealised; that of pairs is exact.",
        lead=("items", "epsilon"),
        columns=(
            *(PageColumn(method, method, ".4g") for method in METHODS),
            PageColumn("ratio", "ratio", ".2f"),
        ),
    ),
)
