"""Table 2 of the SoK, methods for contingency tables, with measured columns: error on public records, and bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sottovoce.core.domain import Integers, Record
from sottovoce.core.exchange import codec
from sottovoce.core.question import Joint
from sottovoce.estimate.decoder import decoder
from sottovoce.estimate.joint.evidence import JointEvidence, from_cells, from_tallies
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.protocols.shares.joined import jess, joined
from sottovoce.protocols.shares.parities import ParityBlocks
from sottovoce.protocols.shares.published import calm
from sottovoce.protocols.shares.tables import TableViews
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.papers import SOK
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import ADULT, PATIENTS
from sottovoce_experiments.tables.bits import answers, possible
from sottovoce_experiments.tables.records import records
from sottovoce_experiments.tables.results_page import PAGE

SIMPLEX = "simplex"
SETTINGS = {
    "2 categorical": ("marital_status", "relationship"),
    "4 categorical": ("income", "sex", "race", "relationship"),
    "16 binary": (),
}


class PublishedMethod(NamedTuple):
    """A line of the table: who proposed it, what it needs, and how it is asked and decoded here."""

    setting: str
    authors: str
    goal: str
    component: str
    ask: Callable[[Record, float, int], Any]  # a protocol or a mechanism
    decoder: Any = None


def _pairs(people: Record) -> Joint:
    return Joint(people, 2)


METHODS = {
    "RAPPOR-EM": PublishedMethod(
        *("2 categorical", "Fanti, Pihur, Erlingsson", "full table", "expectation maximization"),
        lambda people, epsilon, n: joined(people, epsilon=epsilon),
        "joint-em",
    ),
    "subset and RAPPOR": PublishedMethod(
        *("2 categorical", "Peng et al.", "full table", "subset selection beside RAPPOR"),
        lambda people, epsilon, n: joined(people, epsilon=epsilon, kinds=["subset", "bloom"]),
        "joint-em",
    ),
    "JESS": PublishedMethod(
        *("2 categorical", "Xue, Zhu, Wang", "full table", "subset selection, extended to two attributes"),
        lambda people, epsilon, n: jess(people, epsilon=epsilon),
    ),
    "JESS, EM": PublishedMethod(
        *("2 categorical", "Xue, Zhu, Wang; EM is ours", "full table", "subset selection, extended to two attributes"),
        lambda people, epsilon, n: jess(people, epsilon=epsilon),
        "joint-em",
    ),
    "LoPub, EM": PublishedMethod(
        *("4 categorical", "Ren et al.", "fixed k-way table, records", "expectation maximization, dependency graph"),
        lambda people, epsilon, n: joined(people, epsilon=epsilon, bits=5),
        "lopub",
    ),
    "LoPub, Lasso": PublishedMethod(
        *("4 categorical", "Ren et al.", "fixed k-way table, records", "Lasso, dependency graph"),
        lambda people, epsilon, n: joined(people, epsilon=epsilon, bits=5),
        decoder("lopub", method="lasso"),
    ),
    "InpHT": PublishedMethod(
        *("16 binary", "Cormode, Kulkarni, Srivastava", "all k-way tables", "Hadamard transform of the answer"),
        lambda people, epsilon, n: ParityBlocks.inp_ht(people, 2, epsilon),
    ),
    "parity blocks": PublishedMethod(
        *("16 binary", "this package", "all k-way tables", "several parities in one report"),
        lambda people, epsilon, n: ParityBlocks(people, 2, epsilon),
    ),
    "parity blocks, fitted": PublishedMethod(
        *("16 binary", "this package", "all k-way tables, records", "latent classes"),
        lambda people, epsilon, n: ParityBlocks(people, 2, epsilon),
        "latent-classes",
    ),
}
for _setting in SETTINGS:
    METHODS[f"CALM, {_setting}"] = PublishedMethod(
        *(_setting, "Zhang et al.", "all k-way tables", "sampled tables, consistency, maximum entropy"),
        lambda people, epsilon, n: calm(_pairs(people), epsilon, n),
        "calm",
    )
METHODS["one view, 2 categorical"] = PublishedMethod(
    *("2 categorical", "this package", "full table", "subset selection of a cell, nearest possible shares"),
    lambda people, epsilon, n: TableViews(people, _pairs(people).tables, epsilon),
    SIMPLEX,
)
METHODS["views, fitted, 4 categorical"] = PublishedMethod(
    *("4 categorical", "this package", "all k-way tables, records", "latent classes"),
    lambda people, epsilon, n: TableViews.for_fit(people, _pairs(people).tables, epsilon),
    "latent-classes",
)


def people_of(setting: str) -> tuple[Record, np.ndarray]:
    """The record of a setting, and the codes of all people."""
    if setting == "16 binary":
        return Record({f"q{place}": Integers(0, 1) for place in range(16)}), answers()[:, :16]
    every = records("adult")
    places = [list(every.sizes).index(name) for name in SETTINGS[setting]]
    return Record({name: Integers(0, every.sizes[name] - 1) for name in SETTINGS[setting]}), every.codes[:, places]


def evidence_of(asked: Any, codes: np.ndarray, rng: np.random.Generator) -> JointEvidence:
    """The evidence of people who send one report each."""
    stream = int(rng.integers(1 << 62))
    if not hasattr(asked, "start"):
        batch = draw(asked, codes.astype(np.uint32), WordStream.seeded(asked.words, stream))
        return from_cells(asked, len(codes), asked.tally(batch).cells)
    arms, tallies = asked.start().arms, []
    weights = np.array([arm.weight for arm in arms], float)
    chosen = rng.choice(len(arms), len(codes), p=weights / weights.sum())
    names = [name for name, _ in asked.record.fields]
    sizes = dict(asked.record.fields)
    for place, arm in enumerate(arms):
        view = arm.mechanism.domain.names
        columns = tuple(codes[chosen == place, names.index(name)] for name in view)
        cells = np.ravel_multi_index(columns, [sizes[name].size or 0 for name in view])
        words = WordStream.seeded(arm.mechanism.words, stream + place)
        tallies.append(arm.mechanism.tally(draw(arm.mechanism, cells.astype(np.uint32), words)))
    return from_tallies(asked.question, tallies)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The mean over runs of the sum of absolute errors of a table of two attributes, for one method."""
    method, rng = METHODS[point["method"]], np.random.default_rng(seed)
    people, codes = people_of(method.setting)
    names = [name for name, _ in people.fields]
    sizes = [domain.size or 0 for _, domain in people.fields]
    asked = method.ask(people, point["epsilon"], len(codes))
    channels = [arm.mechanism.channel for arm in asked.start().arms] if hasattr(asked, "start") else [asked.channel]
    errors = []
    for _ in range(runs):
        evidence = evidence_of(asked, codes[rng.integers(0, len(codes), len(codes))], rng)
        source: Any = evidence.tables
        table = source.values
        if method.decoder == SIMPLEX:
            table = partial(possible, source)
        elif method.decoder is not None:
            chosen = decoder(method.decoder) if isinstance(method.decoder, str) else method.decoder
            fit: Any = chosen.solve(evidence).fit
            table = fit.model.table
        away = []
        for i, j in combinations(range(len(names)), 2):
            truth = np.bincount(codes[:, i] * sizes[j] + codes[:, j], minlength=sizes[i] * sizes[j]) / len(codes)
            away.append(float(np.abs(table((names[i], names[j])).ravel() - truth).sum()))
        errors.append(float(np.mean(away)))
    return [
        {
            **{"attributes": method.setting, "authors": method.authors, "goal": method.goal},
            **{"component": method.component, "distance": float(np.mean(errors))},
            **{"error": float(np.std(errors) / np.sqrt(max(runs - 1, 1))), "people": len(codes), "used": runs},
            "bytes": max(map(codec.payload_bytes, channels)),
        }
    ]


def _text(rows: Sequence[Mapping[str, Any]]) -> str:
    runs = max(row["used"] for row in rows)
    return (
        "The methods of Table 2 of the SoK, and ours beside them, on the same records. The error is the sum of absolute"
        f" errors of the cells of a table of two attributes, mean over all pairs and {runs} runs. Categorical"
        " attributes are those of 48,842 census records. Yes/no attributes are those of 71,518 hospital patients.\n\n"
        "JESS follows the description in the SoK, since the text of its paper was not available. LoPub keeps a tree of"
        " pairs here, with Bloom filters of five bits. JESS, InpHT and parity blocks are unbiased and have intervals;"
        " the other methods are fits or possible shares."
    )


def _error(epsilon: float) -> tuple[PageColumn, PageColumn]:
    where = (("epsilon", epsilon),)
    return PageColumn(f"error at epsilon {epsilon:g}", "distance", ".3f", where), PageColumn("±", "error", ".3f", where)


EXPERIMENT = Experiment(
    id="sok-table-2",
    title="Table 2 of the SoK: methods for contingency tables, measured",
    paper=SOK.title,
    data=("adult", "hospital"),
    methods=tuple(METHODS),
    metric="sum of absolute errors of the cells of a table of two attributes, mean over all pairs",
    grid=(("method", tuple(METHODS)), ("epsilon", (1.0, 4.0))),
    quick=(("method", ("RAPPOR-EM", "InpHT")), ("epsilon", (4.0,))),
    runs=20,
    quick_runs=2,
    cell=cell,
    figure=Picture("epsilon", "distance", ("method", "attributes"), log="xy"),
    columns=("attributes", "method", "authors", "epsilon", "distance", "error", "bytes", "people", "used"),
    needs=(ADULT.file, PATIENTS.file),
    section=Section(
        page=PAGE,
        heading="## Table 2 of the SoK, measured",
        text=_text,
        columns=(
            PageColumn("authors", "authors"),
            PageColumn("attributes", "attributes"),
            PageColumn("goal", "goal"),
            PageColumn("main component", "component"),
            *_error(1.0),
            *_error(4.0),
            PageColumn("bytes", "bytes"),
        ),
        lead=("method",),
    ),
)
