"""First rounds of an adaptive mean, asked and read in several ways, beside one round; errors are exact after each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds
from sottovoce_experiments.experiment import Experiment, Late
from sottovoce_experiments.means.decided import exact_ratios
from sottovoce_experiments.means.decision import PAGE
from sottovoce_experiments.means.laws import NEEDS, law
from sottovoce_experiments.page import PageColumn, Row, Section, percent
from sottovoce_experiments.picture import Picture

PEOPLE = 20_000
WAYS = (
    ("designed", "likelihood"),
    ("grr", "likelihood"),
    ("grr", "published"),
    ("laplace", "likelihood"),
    ("laplace", "published"),
    ("square-wave", "likelihood"),
)
ANSWERS = ("census ages", "capital gains", "time of day", "wages")


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[dict[str, Any]]:
    """First rounds of people drawn from the law; given each of them the error of the mean is exact."""
    domain, belief = law(point["answers"])
    protocol = AdaptiveMeanRounds(domain, point["epsilon"], PEOPLE, first=point["first"], decoding=point["decoding"])
    mechanism, rng = protocol.start().arms[0].mechanism, np.random.default_rng(seed)
    values, ratios, adapted = np.asarray(belief.values), np.empty(runs), 0
    for run in range(runs):
        answers = rng.choice(values, protocol.asked_first, p=belief.weights)
        first = mechanism.tally(mechanism.privatize(answers, seed=int(rng.integers(1 << 62))))
        decision = protocol.decision(first)
        ratios[run] = exact_ratios(protocol, belief, first, decision)[0]
        adapted += decision.adapted
    root = math.sqrt(ratios.mean())
    return [
        {
            **point,
            "runs": runs,
            "asked": protocol.asked_first,
            "adapted": adapted / runs,
            "ratio": root,
            "std_error": float(ratios.std()) / math.sqrt(runs) / (2 * root),
            "worst": math.sqrt(ratios.max()),
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """The range of the errors of each way."""
    said = []
    for way in dict.fromkeys((row["first"], row["decoding"]) for row in rows):
        own = [row["ratio"] for row in rows if (row["first"], row["decoding"]) == way]
        said.append(f"{way[0]}, {way[1]}: {min(own):.3f} to {max(own):.3f}, on average {sum(own) / len(own):.3f}")
    return said


def text(rows: Sequence[Row]) -> str:
    """What was measured, and the summary."""
    lines = "\n".join(f"- {line}." for line in summary(rows))
    return (
        "Root mean square error of `AdaptiveMeanRounds` over that of one round, for the mean of a population, by the"
        f" channel of the first round (`first`) and what is made of its reports (`decoding`). {PEOPLE:,} participants,"
        f" {rows[0]['runs']} first rounds a line; given each of them the error is exact. The published decodings are"
        " inversion, negative shares set to 0, and scaling (`grr`), and counts of the noisy numbers (`laplace`)."
        " Reports of a square wave describe the answers only, so the mean is that of the second round. `worst` is the"
        f" largest ratio after any of these first rounds. Nothing was chosen on these answers.\n\n{lines}"
    )


EXPERIMENT = Experiment(
    id="adaptive-first-rounds",
    title="First rounds of an adaptive mean: designed, randomized response, additive noise, square wave",
    metric="root mean square error over that of one round",
    data=ANSWERS,
    methods=("AdaptiveMeanRounds",),
    grid=((("first", "decoding"), WAYS), ("epsilon", (1.5, 3.0)), ("answers", ANSWERS)),
    quick=((("first", "decoding"), WAYS[:2]), ("epsilon", (3.0,)), ("answers", ANSWERS[:1])),
    runs=20,
    quick_runs=2,
    cell=Late("means.first_rounds:cell"),
    figure=Picture("epsilon", "ratio", ("first", "decoding"), mean=True, guide=1.0, log=""),
    columns=("first", "decoding", "epsilon", "answers", "asked", "adapted", "ratio", "std_error", "worst"),
    summary=summary,
    needs=NEEDS,
    section=Section(
        page=PAGE,
        heading="## First rounds by name",
        text=text,
        lead=("first", "decoding", "epsilon", "answers"),
        columns=(
            PageColumn("asked first", "asked"),
            percent("adapted", 0, "adapted"),
            PageColumn("ratio", "ratio", ".3f"),
            PageColumn("+-", "std_error", ".3f"),
            PageColumn("worst", "worst", ".3f"),
        ),
    ),
)
