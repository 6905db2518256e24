"""Which words are found without a list: real reports of made-up words with known shares."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Words
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate.frequent_words.evidence import smallest_found
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import Page, PageColumn, Section, percent
from sottovoce_experiments.picture import Picture

PEOPLE = 500_000
SYMBOLS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-"
DOMAINS = {48: Words(SYMBOLS, 8), 28: Words(SYMBOLS[:25], 6)}  # bits of the number of a word
TARGETS = {(48, 2.0): 0.0125, (48, 4.0): 0.004, (28, 2.0): 0.0092, (28, 4.0): 0.003}
RECALL, FALSE, SECONDS = 0.95, 0.05, 60.0
SHARES = np.repeat(
    [
        0.06,
        0.03,
        0.02,
        0.015,
        0.0125,
        0.0115,
        0.0105,
        0.0092,
        0.008,
        0.006,
        0.005,
        0.0045,
        0.004,
        0.0035,
        0.003,
        0.0025,
    ],
    [1, 1, 1, 1, 3, 1, 1, 3, 1, 1, 1, 1, 3, 1, 3, 1],
)
TAIL = 20_000  # words that share the rest, in falling order

PAGE = Page(
    "results/words.md",
    "# Words without a list, measured\n\nWritten by `sottovoce reproduce words-found --pages docs`, and others"
    " likewise. How to ask is on the page [Words](../guides/words.md).\n",
)


def shares_of_all() -> NDArray[np.float64]:
    """The shares of the words with known shares, then of the tail, none of which exceeds 0.2 %."""
    tail = 1 / np.arange(20, 20 + TAIL) ** 0.9
    tail = np.minimum(tail * (1 - SHARES.sum()) / tail.sum(), 0.002)
    return np.concatenate([SHARES, tail * (1 - SHARES.sum()) / tail.sum()])


def people(rng: np.random.Generator, domain: Words, shares: NDArray[np.float64]) -> tuple[Any, Any]:
    """The codes of random words, and of what each person gives: numbers of people as near to the shares as can be."""
    codes = rng.integers(1, domain.size, len(shares))
    held = np.floor(shares * PEOPLE).astype(np.int64)
    rest = PEOPLE - int(held.sum())
    np.add.at(held, rng.integers(len(SHARES), len(shares), rest), 1)
    return codes, np.repeat(codes, held).astype(np.uint64)


def reports_of(subject: Mechanism, codes: Any, seed: int) -> Any:
    """Real reports of people who hold these codes."""
    return draw(subject, codes, WordStream.seeded(subject.words, seed))


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Which words are found, how many of those that are shown nobody gave, and how long the tally is read."""
    domain, rng = DOMAINS[point["bits"]], np.random.default_rng(seed)
    subject, shares = mechanism("fragments", domain, epsilon=point["epsilon"]), shares_of_all()
    found, false, wrong, shown, seconds = np.zeros(len(SHARES)), [], 0, 0, []
    for _ in range(runs):
        codes, given = people(rng, domain, shares)
        tally = subject.tally(reports_of(subject, given, int(rng.integers(1 << 62))))
        start = time.process_time()
        words = subject.estimate(tally).labels
        seconds.append(time.process_time() - start)
        named = [domain.encode(word) for word in words]
        known = {*codes.tolist()}
        nobody = sum(code not in known for code in named)
        wrong, shown = wrong + nobody, shown + len(named)
        false.append(nobody / max(1, len(named)))
        found += np.isin(codes[: len(SHARES)], named)
    limit = smallest_found(subject, PEOPLE)
    target = TARGETS[point["bits"], point["epsilon"]]
    frequent = target - 1e-9 <= SHARES
    rate = found[frequent].mean() / runs
    row = {
        "target": target,
        "recall": float(rate),
        "recall error": float(np.sqrt(rate * (1 - rate) / (runs * frequent.sum()))),
        "at target": float(found[np.isclose(SHARES, target)].mean() / runs),
        "false": float(np.mean(false)),
        "false error": float(np.std(false) / np.sqrt(runs)),
        "nobody": wrong,
        "shown": shown / runs,
        "seconds": float(np.median(seconds)),
        "limit": limit,
    }
    return [row]


def summary(rows: Sequence[Row]) -> list[str]:
    """Whether the targets are met."""
    lines = []
    for row in rows:
        met = row["recall"] >= RECALL and row["false"] <= FALSE and row["seconds"] < SECONDS
        lines.append(
            f"{row['bits']} bits, epsilon {row['epsilon']:g}: words of {row['target']:.2%} and more are found in"
            f" {row['recall']:.1%}, {row['false']:.1%} of those shown are false: {'met' if met else 'missed'}."
        )
    return lines


EXPERIMENT = Experiment(
    id="words-found",
    title="Words found without a list",
    metric="share of frequent words that are found, and of shown words that nobody gave",
    methods=("fragments",),
    grid=(("bits", (48, 28)), ("epsilon", (2.0, 4.0))),
    quick=(("bits", (28,)), ("epsilon", (4.0,))),
    runs=40,
    quick_runs=2,
    cell=cell,
    figure=Picture(("bits", "epsilon"), ("recall", "at target", "false"), dots=True, guide=0.95, log=""),
    columns=("bits", "epsilon", "target", "recall", "at target", "false", "shown", "limit", "seconds"),
    summary=summary,
    section=Section(
        page=PAGE,
        heading="## Words that are found",
        text="Real reports of 500,000 people, in 40 runs with new words each. Words are random among those of up to 8"
        " of 63 symbols (48 bits), or up to 6 of 25 (28 bits). 24 of them have known shares, and 20,000 others"
        " share the rest. *Found* is the share of words of the *target* share or more that are shown, with its"
        " standard error; *at the target* that of words with exactly this share. *False* is the mean share of"
        " shown words that nobody gave. *Limit* is the smallest share that is found with probability 95 %, from"
        " the law. *Seconds* of one core read a tally.",
        columns=(
            percent("target, %", 2, "target"),
            percent("found, %", 1, "recall"),
            percent("±", 1, "recall error"),
            percent("at the target, %", 1, "at target"),
            percent("false, %", 1, "false"),
            percent("± ", 1, "false error"),
            PageColumn("shown", "shown", ".1f"),
            percent("limit, %", 2, "limit"),
            PageColumn("seconds", "seconds", ".2f"),
        ),
    ),
)
