"""PEM beside one round of fragments: which words are found in rounds, and what the verifying group adds."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.round import Round
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.protocols.words.pem import PEM
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.frequent_words.found import (
    DOMAINS,
    PAGE,
    PEOPLE,
    SHARES,
    TARGETS,
    people,
    reports_of,
    shares_of_all,
)
from sottovoce_experiments.page import Section, percent
from sottovoce_experiments.picture import Picture

COUNT = 32  # words that PEM shows
LEVEL = 0.95


def played(protocol: PEM, words: Sequence[str], held: NDArray[np.int64], rng: np.random.Generator) -> Estimate:
    """The words that PEM shows, from real reports of people who hold these words, in random order."""
    order, history, asked = rng.permutation(held), [], 0
    stage: Any = protocol.start()
    while isinstance(stage, Round):
        subject = stage.arms[0].mechanism
        codes = np.array([subject.domain.encode(word) for word in words], np.uint64)
        now = order[asked : None if stage.quota is None else asked + stage.quota]
        history.append((subject.tally(reports_of(subject, codes[now], int(rng.integers(1 << 62)))),))
        asked, stage = asked + len(now), protocol.advance(history)
    found: Estimate = stage["words"]
    return found


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """How many frequent words are found, and how many intervals of the words shown hold their shares."""
    domain, rng, target = DOMAINS[point["bits"]], np.random.default_rng(seed), TARGETS[point["bits"], point["epsilon"]]
    protocol, shares = PEM(domain, point["epsilon"], COUNT, PEOPLE, verify=point["verify"]), shares_of_all()
    found, held = np.zeros(len(SHARES)), []
    for _ in range(runs):
        codes, given = people(rng, domain, shares)
        known, places, counts = np.unique(given, return_inverse=True, return_counts=True)
        words = [domain.word(int(code)) for code in known]
        estimate = played(protocol, words, places, rng)
        given_share = dict(zip(words, counts / PEOPLE, strict=True))
        truth = np.array([given_share.get(str(word), 0.0) for word in estimate.labels])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)  # of words that the same reports chose
            low, high = estimate.ci(LEVEL)
        held.append(float(((low <= truth) & (truth <= high)).mean()))
        found += np.isin(codes[: len(SHARES)], [domain.encode(word) for word in estimate.labels])
    frequent = target - 1e-9 <= SHARES
    rate = float(found[frequent].mean() / runs)
    row = {
        "target": target,
        "recall": rate,
        "recall error": float(np.sqrt(rate * (1 - rate) / (runs * frequent.sum()))),
        "at target": float(found[np.isclose(SHARES, target)].mean() / runs),
        "held": float(np.mean(held)),
        "held error": float(np.std(held) / np.sqrt(runs)),
    }
    return [row]


def summary(rows: Sequence[Row]) -> list[str]:
    """What PEM finds of the words that one round finds, and what its intervals hold."""
    return [
        f"{row['bits']} bits, epsilon {row['epsilon']:g}, {row['verify']} % verify: words of {row['target']:.2%} and"
        f" more are found in {row['recall']:.1%}, and {row['held']:.1%} of the intervals hold the share."
        for row in rows
    ]


EXPERIMENT = Experiment(
    id="words-rounds",
    title="Words found in rounds by PEM",
    metric="share of frequent words that are found, and of intervals that hold the share of a word",
    methods=("PEM",),
    grid=(("bits", (48, 28)), ("epsilon", (2.0, 4.0)), ("verify", (0, 20))),
    quick=(("bits", (28,)), ("epsilon", (4.0,)), ("verify", (0, 20))),
    runs=10,
    quick_runs=1,
    cell=cell,
    figure=Picture(("bits", "epsilon"), ("recall", "held"), dots=True, guide=LEVEL, log=""),
    columns=("bits", "epsilon", "verify", "target", "recall", "at target", "held"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Words found in rounds",
        text="PEM on crowds like those of the first table, in 10 runs: it shows 32 words. *Verify* is"
        " the percentage of the people who verify them; 0 is PEM as published. *Found* is the share of words of the"
        " *target* share or more that are shown, with its standard error; *at the target* that of words with exactly"
        " this share. *Hold* is the share of 95 % intervals of all words shown that hold the true share, which is zero"
        " for words that nobody gave.",
        columns=(
            percent("target, %", 2, "target"),
            percent("found, %", 1, "recall"),
            percent("±", 1, "recall error"),
            percent("at the target, %", 1, "at target"),
            percent("hold, %", 1, "held"),
            percent("± ", 1, "held error"),
        ),
    ),
)
