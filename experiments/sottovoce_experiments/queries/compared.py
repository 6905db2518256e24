"""Batches of linear queries through vectors, through shares and in turn: errors, projection and coverage."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism
from sottovoce.estimate.linear_queries import LinearQueries, QueriesInTurn
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.page import Page, PageColumn, Row, Section, percent
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
PAGE = Page(
    "results/linear-queries.md",
    "# Linear queries\n\nHow accurate the answers to a batch of linear queries are, by the way they are asked."
    " `sottovoce reproduce linear-queries --pages docs` writes this page.\n",
)
WAYS = ("vectors", "vectors, projected", "shares", "shares, projected")
SIZES = ((16, 16), (64, 256), (1024, 16), (1024, 256))
PEOPLE = 20_000
KINDS = ("Zipf", "two humps")


def shares_of(answers: str, categories: int) -> Floats:
    """The law of the answers."""
    places = np.arange(categories)
    if answers == "Zipf":
        law = 1 / (places + 1.0)
    else:
        humps = [(0.3, 0.05, 0.6), (0.8, 0.1, 0.4)]
        hills = [part * np.exp(-(((places / categories - at) / wide) ** 2) / 2) / wide for at, wide, part in humps]
        law = np.sum(hills, axis=0)
    return np.asarray(law / law.sum())


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """Every run draws new yes/no queries, new participants and new reports; all ways see the same participants."""
    rng, domain, epsilon = np.random.default_rng(seed), Integers(0, point["categories"] - 1), point["epsilon"]
    law, count = shares_of(point["answers"], point["categories"]), point["queries"]
    squares: dict[str, list[float]] = {way: [] for way in (*WAYS, "in turn")}
    largest: dict[str, list[float]] = {way: [] for way in squares}
    held: dict[str, list[float]] = {way: [] for way in squares}
    oracle = mechanism("subset", domain, epsilon=epsilon)
    for _ in range(runs):
        queries = LinearQueries(domain, rng.integers(0, 2, (count, point["categories"])).astype(float))
        answers = rng.choice(len(law), PEOPLE, p=law)
        truth, own = queries.numbers @ law, int(rng.integers(1 << 32))
        ball = queries.mechanism(epsilon=epsilon)
        vectors = queries.of_vectors(ball.tally(ball.privatize(queries.vectors(answers.tolist()), seed=own)))
        shares = queries.of_shares(oracle.estimate(oracle.tally(oracle.privatize(answers, seed=own))))
        found = dict(zip(WAYS, (vectors, queries.projected(vectors), shares, queries.projected(shares)), strict=True))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)
            for way, estimate in found.items():
                _enter(estimate.values, estimate.ci(), truth, squares[way], largest[way], held[way])
            turn = _in_turn(queries, law, epsilon, rng)
            _enter(*turn, truth, squares["in turn"], largest["in turn"], held["in turn"])
    return [
        {
            **point,
            "way": way,
            "runs": runs,
            "rmse": math.sqrt(float(np.mean(squares[way]))),
            "std_error": float(np.std(squares[way])) / math.sqrt(runs) / (2 * math.sqrt(float(np.mean(squares[way])))),
            "largest": float(np.mean(largest[way])),
            "coverage": float(np.mean(held[way])),
        }
        for way in squares
    ]


def _enter(
    values: Floats, bounds: Any, truth: Floats, squares: list[float], largest: list[float], held: list[float]
) -> None:
    squares.append(float(np.mean((values - truth) ** 2)))
    largest.append(float(np.abs(values - truth).max()))
    held.append(float(np.mean((bounds[0] <= truth) & (truth <= bounds[1]))))


def _in_turn(queries: LinearQueries, law: Floats, epsilon: float, rng: np.random.Generator) -> tuple[Floats, Any]:
    """Each query asked of an equal share of the people; the intervals here are those of one query."""
    turns = QueriesInTurn(queries.domain, epsilon, len(queries.numbers))
    asked = turns.mechanism([0.0, 1.0] + [0.0] * (len(law) - 2))  # all yes/no queries have the same
    values, ends = [], []
    for row in queries.numbers:
        numbers = row[rng.choice(len(law), PEOPLE // len(queries.numbers), p=law)]
        estimate = asked.estimate(asked.tally(asked.privatize(numbers, seed=int(rng.integers(1 << 32)))))
        values.append(estimate.value)
        ends.append(estimate.ci())
    low, high = np.array(ends)[:, :, 0].T
    return np.array(values), (low, high)


def text(rows: Sequence[Row]) -> str:
    """What was measured."""
    return (
        f"Yes/no queries drawn at random about {PEOPLE:,} people, {rows[0]['runs']} runs a line. `vectors` sends each"
        " person's column of the matrix through `priv-unit`, `shares` multiplies the matrix with the shares of"
        " `subset`, and `projected` moves either to the nearest possible answers. `in turn` asks each query of people"
        " of its own, which is what queries that depend on earlier answers need."
        " `error` is the root mean square error over queries and runs, `largest` the mean of the largest error of a"
        " batch. Coverage is that of 95 % intervals, one at a time; projected answers keep the intervals of unbiased"
        " ones. Nothing was tuned."
    )


EXPERIMENT = Experiment(
    id="linear-queries",
    title="Batches of linear queries: through vectors, through shares, projected, and in turn",
    metric="root mean square error of an answer, and coverage of the 95 % interval",
    methods=("LinearQueries", "QueriesInTurn"),
    paper="Bassily, Linear queries estimation with local differential privacy, AISTATS 2019",
    grid=((("categories", "queries"), SIZES), ("epsilon", (1.0,)), ("answers", KINDS)),
    quick=((("categories", "queries"), SIZES[:1]), ("epsilon", (1.0,)), ("answers", KINDS[:1])),
    runs=20,
    quick_runs=2,
    cell=Late("queries.compared:cell"),
    figure=Picture(("categories", "queries"), "rmse", "way", where=(("answers", KINDS[0]),), dots=True),
    columns=("categories", "queries", "answers", "way", "rmse", "std_error", "largest", "coverage"),
    section=Section(
        page=PAGE,
        heading="## Ways to ask a batch",
        text=text,
        lead=("categories", "queries", "answers", "way"),
        columns=(
            PageColumn("error", "rmse", ".3g"),
            PageColumn("+-", "std_error", ".1g"),
            PageColumn("largest", "largest", ".3g"),
            percent("coverage", 1),
        ),
    ),
)
