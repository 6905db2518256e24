"""Numbers of a record asked through waves: errors of tables of bins, and of where numbers lie inside their bins.

Both designs ask the same shares of people for a table and for one attribute. They differ in what people report who
answer a number alone: its bin through subset selection, or one of fine buckets through a mixed wave.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sottovoce.core.domain import Bins, Integers, Interval, Record
from sottovoce.core.errors import ParameterError
from sottovoce.estimate.joint import latent
from sottovoce.estimate.joint.evidence import JointEvidence, from_tallies
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT
from sottovoce_experiments.tables.fits import mean_ratio
from sottovoce_experiments.tables.records import Floats, Ints
from sottovoce_experiments.tables.results_page import PAGE

BUCKETS = 72  # of each number: twelve in each of six bins
NUMBERS = {  # census records; edges of bins, and the range
    "age": (Interval(16, 91), (25, 35, 45, 55, 65)),
    "hours_per_week": (Interval(1, 100), (20, 35, 40, 45, 55)),
}
CATEGORIES = ("income", "sex", "relationship")
METHODS = ("bins", "waves")


def record() -> Record:
    """Two numbers in bins and three categorical attributes."""
    numbers = {name: Bins(limits, edges) for name, (limits, edges) in NUMBERS.items()}
    return Record(numbers | {name: Integers(0, int(people()[name].max())) for name in CATEGORIES})


@lru_cache(maxsize=1)
def people() -> dict[str, Ints]:
    """The answers of all people; categories as codes."""
    frame = pq.read_table(data_file(ADULT.file), columns=[*NUMBERS, *CATEGORIES])
    answers = {name: np.asarray(frame[name].to_numpy(), np.int64) for name in NUMBERS}
    codes = {name: np.unique(frame[name].to_pylist(), return_inverse=True)[1] for name in CATEGORIES}
    return answers | {name: np.asarray(column, np.int64) for name, column in codes.items()}


def coded(domain: Any, answers: Ints) -> Ints:
    """The bin or bucket of each number; codes of categories stay as they are."""
    edges = getattr(domain, "edges", None)
    return answers if edges is None else np.searchsorted(np.array(edges, float), answers, side="right")


def collected(protocol: TableViews, rows: Ints, rng: np.random.Generator) -> JointEvidence:
    """The evidence of people who send one report each."""
    weights = np.array(protocol.weights, float)
    arms = rng.choice(len(weights), len(rows), p=weights / weights.sum())
    tallies = []
    for place, arm in enumerate(protocol.start().arms):
        domain: Any = arm.mechanism.domain
        columns = tuple(coded(own, people()[name][rows[arms == place]]) for name, own in domain.parts)
        cells = np.ravel_multi_index(columns, [own.size for _, own in domain.parts]).astype(np.uint32)
        stream = WordStream.seeded(arm.mechanism.words, int(rng.integers(1 << 62)))
        tallies.append(arm.mechanism.tally(draw(arm.mechanism, cells, stream)))
    return from_tallies(protocol.question, tallies)


def shares_of_numbers(model: Any, name: str) -> tuple[Floats, Floats]:
    """The ends of the pieces of a number, and the share of each piece; numbers lie evenly in a piece."""
    limits, edges = NUMBERS[name]
    if isinstance(model, latent.BucketClasses):
        (wave,) = (one for one in model.waves if one.name == name)
        own = dict(zip(model.buckets.names, model.buckets.shares, strict=True))[name]
        edges, shares = wave.buckets.edges, model.weights @ own  # type: ignore[attr-defined]
    else:
        shares = model.table((name,))
    return np.array([limits.low, *edges, limits.high], float), shares


def distance_of_numbers(model: Any, name: str) -> float:
    """The Wasserstein distance of the fitted from the true numbers, over the length of the range; units are whole."""
    ends, shares = shares_of_numbers(model, name)
    units = np.arange(ends[0], ends[-1] + 1)  # a person who is 30 is between 30 and 31
    fitted = np.interp(units, ends, np.append(0.0, np.cumsum(shares)))
    true = np.searchsorted(np.sort(people()[name]), units, side="left") / len(people()[name])
    return float(np.abs(fitted - true).mean())


def distance_of_tables(model: Any) -> float:
    """The mean over all pairs of the sum of the absolute errors of the cells."""
    fields = dict(record().fields)
    codes = {name: coded(own, people()[name]) for name, own in fields.items()}
    away = []
    for first, second in combinations(fields, 2):
        shape = [int(fields[first].size or 0), int(fields[second].size or 0)]
        truth = np.bincount(np.ravel_multi_index((codes[first], codes[second]), shape), minlength=int(np.prod(shape)))
        away.append(float(np.abs(model.table((first, second)) - truth.reshape(shape) / len(codes[first])).sum()))
    return float(np.mean(away))


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Errors of the fit of both designs, for the same people; ratios are those of single runs."""
    if runs < 1:
        raise ParameterError("An experiment needs at least one run.")
    rng, count = np.random.default_rng(seed), len(people()["age"])
    pairs = list(combinations(dict(record().fields), 2))
    designs = {
        "bins": TableViews.for_fit(record(), pairs, point["epsilon"]),
        "waves": TableViews.for_fit(record(), pairs, point["epsilon"], buckets=BUCKETS),
    }
    found: dict[str, list[float]] = {f"{method}_{what}": [] for method in METHODS for what in ("tables", *NUMBERS)}
    for _ in range(runs):
        rows = rng.integers(0, count, count)
        for method, protocol in designs.items():
            model = latent.fit(collected(protocol, rows, rng).tables, None, 0).model
            found[f"{method}_tables"].append(distance_of_tables(model))
            for name in NUMBERS:
                found[f"{method}_{name}"].append(distance_of_numbers(model, name))
    row: Row = {name: float(np.mean(values)) for name, values in found.items()}
    for what in ("tables", *NUMBERS):
        ratio, error, _ = mean_ratio(found[f"waves_{what}"], found[f"bins_{what}"])
        row |= {f"ratio_{what}": ratio, f"ratio_{what}_error": error}
    return [row | {"people": count, "used": runs}]


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    return (
        "Age and weekly hours of work of 48,842 census records, in six bins each, with three categorical attributes:"
        " all ten tables of two. Who answers a number alone reports its bin, or one of"
        f" {BUCKETS} buckets through a wave (`TableViews.for_fit(..., buckets={BUCKETS})`). The error of a table is as"
        " above. The error of a number is the Wasserstein distance between fitted and true numbers, over the length of"
        f" the range; bins spread their people evenly. Means of {rows[0]['used']} runs; ratios of waves over bins are"
        " those of single runs, with standard errors."
    )


def _columns(what: str, word: str, form: str) -> tuple[PageColumn, ...]:
    return (
        PageColumn(f"{word}, bins", f"bins_{what}", form),
        PageColumn("waves", f"waves_{what}", form),
        PageColumn("ratio", f"ratio_{what}", ".2f"),
        PageColumn("±", f"ratio_{what}_error", ".2f"),
    )


EXPERIMENT = Experiment(
    id="tables-numbers",
    title="Cross tables with numbers: the fit from bins, and from fine buckets through waves",
    data=("adult",),
    methods=METHODS,
    metric="sum of absolute errors of the cells; Wasserstein distance of numbers over their range",
    grid=(("epsilon", (0.5, 1.0, 2.0)),),
    quick=(("epsilon", (2.0,)),),
    runs=20,
    quick_runs=1,
    cell=cell,
    figure=Picture("epsilon", tuple(f"ratio_{name}" for name in ("tables", *NUMBERS)), guide=1.0, log="x"),
    columns=("epsilon", *(f"{m}_{w}" for w in ("tables", *NUMBERS) for m in (*METHODS, "ratio")), "people", "used"),
    needs=(ADULT.file,),
    section=Section(
        page=PAGE,
        heading="## Numbers through waves",
        text=_text,
        lead=("epsilon",),
        columns=(
            *_columns("tables", "tables", ".3f"),
            *_columns("age", "age", ".4f"),
            *_columns("hours_per_week", "hours", ".4f"),
        ),
    ),
)
