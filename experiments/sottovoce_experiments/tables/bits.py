"""Cross tables of yes/no attributes: exact variance of designs over the lower bound, and errors on hospital records."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from sottovoce.core.domain import Integers, Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import Joint
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.joint import latent
from sottovoce.estimate.joint.evidence import JointEvidence, from_tallies
from sottovoce.estimate.joint.residuals import TableSource
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.protocols.shares.parities import ParityBlocks
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import PATIENTS
from sottovoce_experiments.tables.fits import mean_ratio
from sottovoce_experiments.tables.results_page import PAGE

ATTRIBUTES = (16, 32)
BARS = {(2, 1.0): 1.02, (2, 2.0): 1.20, (3, 1.0): 1.18, (3, 2.0): 1.70}
DESIGNS = ("parity_blocks", "inp_ht", "marg_ht", "marg_ps", "views")
METHODS = ("inp_ht", "unbiased", "simplex", "independence", "fit")
ABOVE = {  # the answer is yes above these numbers
    **{"days_in_hospital": (3, 6), "num_lab_procedures": (44, 60), "num_procedures": (0, 2)},
    **{"num_medications": (14, 20), "number_diagnoses": (7, 8)},
    **{"visits_outpatient": (0,), "visits_emergency": (0,), "visits_inpatient": (0,)},
}
EQUAL = {  # the answer is yes for these entries
    **{"gender": ("Female",), "race": ("Caucasian", "AfricanAmerican"), "admission_type_id": ("1", "3")},
    **{"admission_source_id": ("7",), "discharge_disposition_id": ("1", "3"), "payer_code": ("MC", "?")},
    **{"medical_specialty": ("?",), "a1c_result": ("None",), "metformin": ("No",), "insulin": ("No",)},
    **{"med_change": ("Ch",), "diabetes_med": ("Yes",), "readmitted": ("NO",)},
}
OLD = ("[50-60)", "[60-70)", "[70-80)", "[80-90)", "[90-100)")


def record(attributes: int) -> Record:
    """A record of yes/no attributes."""
    return Record({f"q{place}": Integers(0, 1) for place in range(attributes)})


def design_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The ratios of all designs; nothing is drawn."""
    people, ways, epsilon = record(point["attributes"]), point["ways"], point["epsilon"]
    best = ParityBlocks(people, ways, epsilon)
    row: Row = {"parity_blocks": best.variance()}
    for name in ("inp_ht", "marg_ht", "marg_ps"):
        row[name] = getattr(ParityBlocks, name)(people, ways, epsilon).variance()
    # Views are symmetric here, so that equal weights are the best.
    question = Joint(people, ways)
    small = len(question.tables) <= 512
    row["views"] = TableViews(people, question.tables, epsilon).variance() if small else None
    ratios = {name: value and value / best.lower_bound() for name, value in row.items()}
    return [ratios | {"bar": BARS.get((ways, epsilon)), "blocks": ", ".join(best.kinds)}]


@lru_cache(maxsize=1)
def answers() -> np.ndarray:
    """Yes or no of every patient, one row each, for 32 questions about the first visit."""
    names = ["patient", "age_band", *ABOVE, *EQUAL]
    frame = pq.read_table(data_file(PATIENTS.file), columns=names).to_pandas().drop_duplicates("patient")
    columns = [frame["age_band"].isin(OLD), frame["age_band"].isin(OLD[2:])]
    columns += [frame[name] > least for name, ends in ABOVE.items() for least in ends]
    columns += [frame[name].astype(str) == entry for name, entries in EQUAL.items() for entry in entries]
    return np.stack([np.asarray(column, np.int64) for column in columns], axis=1)


def reports(rows: np.ndarray, protocol: ParityBlocks, rng: np.random.Generator) -> JointEvidence:
    """The evidence of people who send one report each."""
    codes = (rows << np.arange(rows.shape[1])[::-1]).sum(axis=1).astype(np.uint32)
    weights = np.array(protocol.weights, float)
    arms = rng.choice(len(weights), len(rows), p=weights / weights.sum())
    tallies = []
    for place, arm in enumerate(protocol.start().arms):
        stream = WordStream.seeded(arm.mechanism.words, int(rng.integers(1 << 62)))
        tallies.append(arm.mechanism.tally(draw(arm.mechanism, codes[arms == place], stream)))
    return from_tallies(protocol.question, tallies)


def fit_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The mean sum of absolute errors of a table of two attributes, for each method."""
    if runs < 1:
        raise ParameterError("An experiment needs at least one run.")
    count, rng = point["attributes"], np.random.default_rng(seed)
    people, own = answers()[:, :count], record(count)
    pairs = list(combinations((name for name, _ in own.fields), 2))
    totals: dict[str, list[float]] = {name: [] for name in METHODS}
    for _ in range(runs):
        rows = people[rng.integers(0, len(people), len(people))]
        tables = reports(rows, ParityBlocks(own, 2, point["epsilon"]), rng).tables
        hadamard = reports(rows, ParityBlocks.inp_ht(own, 2, point["epsilon"]), rng).tables
        fit = latent.fit(tables, None, 0)
        ways: dict[str, Callable[[tuple[str, ...]], np.ndarray]] = {
            "inp_ht": hadamard.values,
            "unbiased": tables.values,
            "simplex": partial(possible, tables),
            "independence": fit.independent.table,
            "fit": fit.model.table,
        }
        for name, table in ways.items():
            totals[name].append(_distance(people, pairs, table))
    row: Row = {name: float(np.mean(values)) for name, values in totals.items()}
    row["of_independence"], row["error"], row["worst"] = mean_ratio(totals["fit"], totals["independence"])
    return [row | {"people": len(people), "used": runs}]


def possible(tables: TableSource, names: tuple[str, ...]) -> np.ndarray:
    """The nearest shares that are not negative and sum to one."""
    shares = tables.values(names)
    return simplex(shares.ravel()).reshape(shares.shape)


def _distance(people: np.ndarray, pairs: Sequence[Any], table: Callable[[Any], np.ndarray]) -> float:
    total = 0.0
    for first, second in pairs:
        a, b = people[:, int(first[1:])], people[:, int(second[1:])]
        truth = np.bincount(2 * a + b, minlength=4).reshape(2, 2) / len(people)
        total += float(np.abs(table((first, second)) - truth).sum())
    return total / len(pairs)


def _design_text(rows: Sequence[Mapping[str, Any]]) -> str:
    worst = {ways: max(row["parity_blocks"] for row in rows if row["ways"] == ways) for ways in (2, 3)}
    return (
        "The exact total variance over the lower bound, for all tables of two or three yes/no attributes. *Blocks* are"
        f" what the parity blocks report. They have at most {worst[2]:.2f} times the bound for two attributes and"
        f" {worst[3]:.2f} times for three. A protocol has at most 512 views, so that the last column ends there."
    )


def _ratio(field: str) -> PageColumn:
    return PageColumn(field.replace("_", " "), field, ".3f")


GRID = (("attributes", ATTRIBUTES), ("ways", (2, 3)), ("epsilon", (0.5, 1.0, 2.0)))
EXPERIMENT = Experiment(
    id="tables-bits-designs",
    title="Cross tables of yes/no attributes: exact total variance of designs over the lower bound",
    methods=DESIGNS,
    metric="total variance of the noise of all cells, at equal shares, over the lower bound",
    grid=GRID,
    quick=GRID,
    runs=1,
    quick_runs=1,
    cell=design_cell,
    figure=Picture("epsilon", DESIGNS, panels=("attributes", "ways"), log="xy"),
    columns=("attributes", "ways", "epsilon", *DESIGNS, "bar", "blocks"),
    section=Section(
        page=PAGE,
        heading="## Designs for yes/no attributes",
        text=_design_text,
        lead=("attributes", "ways", "epsilon"),
        columns=(
            _ratio("parity_blocks"),
            PageColumn("wanted", "bar", ".2f"),
            PageColumn("blocks", "blocks"),
            *map(_ratio, DESIGNS[1:]),
        ),
    ),
)
FITS = Experiment(
    id="tables-bits-fits",
    title="Cross tables of yes/no questions to hospital patients, all pairs: errors of methods",
    data=("hospital",),
    methods=METHODS,
    metric="sum of absolute errors of the cells, mean over all tables of two attributes",
    grid=(("attributes", ATTRIBUTES), ("epsilon", (0.5, 1.0, 2.0))),
    quick=(("attributes", (16,)), ("epsilon", (1.0,))),
    runs=20,
    quick_runs=2,
    cell=fit_cell,
    figure=Picture("epsilon", METHODS, panels="attributes", log="xy"),
    columns=("attributes", "epsilon", *METHODS, "of_independence", "error", "worst", "people", "used"),
    needs=(PATIENTS.file,),
    section=Section(
        page=PAGE,
        heading="## Yes/no attributes",
        text="Questions about 71,518 hospital patients, all tables of two, means of 20 runs. InpHT has reports of its"
        " own; all other methods read the reports of parity blocks. The ratio is the error of the fit over that of"
        " independence in single runs, with its standard error.",
        lead=("attributes", "epsilon"),
        columns=(
            *(PageColumn(name.replace("_", " "), name, ".3f") for name in METHODS),
            PageColumn("of independence", "of_independence", ".3f"),
            PageColumn("±", "error", ".3f"),
            PageColumn("worst run", "worst", ".2f"),
        ),
    ),
)
