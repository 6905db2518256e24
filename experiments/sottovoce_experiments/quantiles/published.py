"""Published methods for order statistics side by side: the rows of an overview table, with measured errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.protocols.play import play
from sottovoce.protocols.quantile.bayes_search import QuantileBayesSearch
from sottovoce.protocols.quantile.binary_search import QuantileBinarySearch
from sottovoce.protocols.quantile.gradient import QuantileGradient
from sottovoce.protocols.quantile.rounds import QuantileRounds
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.page import PageColumn, Row, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.quantiles.declared import PAGE
from sottovoce_experiments.quantiles.laws import QuantileLaw
from sottovoce_experiments.quantiles.search import drawn, floor, searched

EPSILON, PEOPLE, BUCKETS = 1.0, 100_000, 64
LAWS = ("Beta(5, 2)", "uniform", "two humps", "exponential", "three spikes")


@dataclass(frozen=True, slots=True)
class PublishedSearch:
    """A method of the overview: who published it, and how it is built for a range and a number of people."""

    reference: str
    build: Callable[[Any, int], Any]


SEARCHES: dict[str, PublishedSearch] = {
    "binary search": PublishedSearch(
        "Cyphers, Veeramachaneni 2017; Gaboardi et al. 2019",
        lambda domain, people: QuantileBinarySearch(domain, "0.5", EPSILON, people),
    ),
    "minimum by binary search": PublishedSearch(
        "Fukuchi, Yu, Sakuma 2022", lambda domain, people: QuantileBinarySearch.minimum(domain, EPSILON, people)
    ),
    "gradient steps, 10 batches": PublishedSearch(
        "Duchi, Jordan, Wainwright 2018", lambda domain, people: QuantileGradient(domain, "0.5", EPSILON, people, 10)
    ),
    "gradient steps, 100 batches": PublishedSearch(
        "Duchi, Jordan, Wainwright 2018", lambda domain, people: QuantileGradient(domain, "0.5", EPSILON, people, 100)
    ),
    "prefix queries": PublishedSearch(
        "Cormode, Kulkarni, Srivastava 2019",
        lambda domain, people: sv.mechanism("haar", domain, epsilon=EPSILON, buckets=BUCKETS),
    ),
    "Bayes with screening": PublishedSearch(
        "Gretta, Price 2024; Aamand et al. 2025",
        lambda domain, people: QuantileBayesSearch(domain, "0.5", EPSILON, people),
    ),
    "QuantileRounds": PublishedSearch("ours", lambda domain, people: QuantileRounds(domain, ["0.5"], EPSILON, people)),
}


def found(law: QuantileLaw, method: Any, people: int, rng: np.random.Generator) -> tuple[float, float, int]:
    """The estimate, the share asked for, and the number of rounds."""
    if isinstance(method, sv.Mechanism):
        values = np.interp(rng.random(people), law.heights, law.edges)
        reports = method.privatize(values, seed=int(rng.integers(1 << 62)))
        return float(method.estimate(method.tally(reports)).median().value), 0.5, 1
    if isinstance(method, QuantileRounds):
        estimates = searched(law, method, rng).estimates
        return float(estimates["quantile"].value), 0.5, method.rounds
    last = play(method, lambda stage, number: drawn(law, stage, method.people(number - 1), rng))
    return float(last.estimates["quantile"].value), float(method.share), method.rounds


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Error of the share below the estimate over the floor, for one method and one distribution."""
    law, search = QuantileLaw.of(point["data"]), SEARCHES[point["method"]]
    method, squares, level, rounds = search.build(law.domain, PEOPLE), [], 0.5, 1
    for run in range(runs):
        rng = np.random.default_rng([seed % (1 << 63), run])
        value, level, rounds = found(law, method, PEOPLE, rng)
        squares.append((law.error(value, level) / floor(EPSILON, level, PEOPLE)) ** 2)
    ratio = float(np.sqrt(np.mean(squares)))
    error = float(np.std(squares, ddof=1) / np.sqrt(runs) / 2 / max(ratio, 1e-12))
    about = {"reference": search.reference, "rounds": rounds, "share": level}
    return [{**about, "ratio": ratio, "std_error": error, "runs": runs}]


def text(rows: Sequence[Row]) -> str:
    """What was measured."""
    shares = {row["share"] for row in rows if row["method"] == "minimum by binary search"}
    return (
        "The order statistics of Table 8 of the overview of descriptive statistics, with measured errors, beside two"
        f" methods that it does not have. Epsilon {EPSILON:g}, {PEOPLE:,} people, {rows[0]['runs']} runs a line."
        " `ratio` is the root mean square error of the share below the estimate of the median over the floor, as above."
        " No private method finds a minimum that few people hold: the row of the minimum is about the smallest share"
        f" that noise leaves visible, {', '.join(f'{share:.3f}' for share in sorted(shares))}. Rounds of one threshold"
        " each are mini-batches; prefix queries are read from 64 buckets."
    )


EXPERIMENT = Experiment(
    id="order-statistics",
    title="Published methods for order statistics: error over the least possible one",
    metric="root mean square error of the share below the estimate, over the floor",
    data=LAWS,
    methods=tuple(SEARCHES),
    grid=(("method", tuple(SEARCHES)), ("data", LAWS)),
    quick=(("method", ("binary search", "QuantileRounds")), ("data", ("uniform",))),
    runs=20,
    quick_runs=3,
    cell=Late("quantiles.published:cell"),
    figure=Picture("method", "ratio", "data", dots=True, guide=1.0),
    columns=("method", "reference", "rounds", "data", "ratio", "std_error"),
    section=Section(
        page=PAGE,
        heading="## Published methods",
        text=text,
        lead=("method", "reference", "rounds", "data"),
        columns=(PageColumn("ratio", "ratio", ".2f"), PageColumn("+-", "std_error", ".2f")),
    ),
)
