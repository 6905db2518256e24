"""Real word frequencies: how many words are found without a list, and how often their intervals hold the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sottovoce.core.domain import Words
from sottovoce.core.registry import mechanism
from sottovoce.estimate.frequent_words.evidence import smallest_found
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.frequent_words.found import PAGE, PEOPLE, reports_of
from sottovoce_experiments.page import PageColumn, Section, percent
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import WORDS

LEVEL = 0.95
DOMAIN = Words(longest=10, longer="cut")


@lru_cache(maxsize=1)
def english() -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The codes of English words, cut to ten letters, and their shares."""
    table = pq.read_table(data_file(WORDS.file), columns=["word", "count"]).to_pydict()
    counts: Counter[int] = Counter()
    for word, count in zip(table["word"], table["count"], strict=True):
        counts[DOMAIN.encode(word)] += count
    return np.array(list(counts)), np.array(list(counts.values())) / sum(counts.values())


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Intervals of the words that are shown, in runs with people drawn from the word frequencies."""
    (codes, shares), rng = english(), np.random.default_rng(seed)
    subject = mechanism("fragments", DOMAIN, epsilon=point["epsilon"])
    known = dict(zip(codes.tolist(), shares.tolist(), strict=True))
    limit = smallest_found(subject, PEOPLE) or 1.0
    covered: dict[str, list[bool]] = {"all": [], "near": []}
    widths, found, false, shown = [], [], [], 0
    for _ in range(runs):
        given = rng.choice(codes, PEOPLE, p=shares).astype(np.uint64)
        estimate = subject.estimate(subject.tally(reports_of(subject, given, int(rng.integers(1 << 62)))))
        low, high = estimate.ci(LEVEL)
        named = [DOMAIN.encode(word) for word in estimate.labels]
        truth = np.array([known.get(code, 0.0) for code in named])
        inside = (low <= truth) & (truth <= high)
        covered["all"] += inside.tolist()
        covered["near"] += inside[estimate.values < 1.5 * limit].tolist()
        widths += (high - low).tolist()
        found.append(float(np.isin(codes[shares >= limit], named).mean()))
        false.append(float(np.mean(truth == 0)) if named else 0.0)
        shown += len(named)
    return [
        {
            "shown": shown / runs,
            "covered": float(np.mean(covered["all"])),
            "covered error": float(np.std(covered["all"]) / np.sqrt(len(covered["all"]))),
            "near": float(np.mean(covered["near"])) if covered["near"] else None,
            "count near": len(covered["near"]),
            "width": float(np.median(widths)),
            "found": float(np.mean(found)),
            "false": float(np.mean(false)),
            "limit": limit,
        }
    ]


def summary(rows: Sequence[Row]) -> list[str]:
    """The coverage of each row."""
    return [f"epsilon {row['epsilon']:g}: {row['covered']:.1%} of 95 % intervals hold the true share." for row in rows]


EXPERIMENT = Experiment(
    id="words-english",
    title="English words found without a list",
    metric="share of 95 % intervals that hold the true share",
    methods=("fragments",),
    grid=(("epsilon", (1.0, 2.0, 4.0)),),
    quick=(("epsilon", (4.0,)),),
    runs=40,
    quick_runs=2,
    cell=cell,
    figure=Picture(("epsilon",), ("covered", "near", "found", "false"), dots=True, guide=0.95, log=""),
    columns=("epsilon", "shown", "covered", "near", "found", "false", "limit", "width"),
    summary=summary,
    needs=(WORDS.file,),
    section=Section(
        page=PAGE,
        heading="## English words",
        text="Real reports of 500,000 people, each of whom gives one English word, drawn by its frequency; words are"
        " cut to ten letters. 40 runs. *Hold the share* is the share of 95 % intervals of shown words that hold"
        " the true share, with its standard error; *near the limit* that of words whose estimate is below 1.5"
        " times the *limit*, and how many there were. *Found* is the share of words at or above the limit that are"
        " shown.",
        columns=(
            PageColumn("shown", "shown", ".1f"),
            percent("hold the share, %", 1, "covered"),
            percent("±", 1, "covered error"),
            percent("near the limit, %", 1, "near", missing="-"),
            PageColumn("of", "count near", "d"),
            percent("found, %", 1, "found"),
            percent("false, %", 1, "false"),
            percent("limit, %", 2, "limit"),
            percent("median width, points", 2, "width"),
        ),
    ),
)
