"""Write the tables of docs/methods/adaptive-mean.md: errors of the adaptive mean and of every one-round mechanism.

Run `python scripts/generate_adaptive.py` after a change (some minutes: each first round has its own linear program).
What stands above the mark in the page is written by hand and left as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np

import sottovoce as sv
from sottovoce.protocols.mean.belief import spread
from sottovoce_experiments.coverage.adaptive import RANGE, Run, bias, error, first_rounds, hostile, laws

PAGE = Path(__file__).resolve().parents[1] / "docs" / "methods/adaptive-mean.md"
MARK = "<!-- Written by scripts/generate_adaptive.py from here on. -->\n"
EPSILONS = ("1", "2", "4")
PARTICIPANTS = (10_000, 100_000)
SEED = 20_250_605
RUNS = 20
HOSTILE_RUNS = 10
ALL = {**laws(), **hostile()}


@cache
def one_round_names() -> list[str]:
    """Every mechanism for a mean that keeps no memo: a memo is for many reports of one device."""
    return [name for name in sv.names(sv.Mean) if sv.mechanism(name, RANGE, epsilon=1).claimed_forever is None]


def one_round(law: sv.Prior, epsilon: str) -> dict[str, float]:
    """The variance of one report of each one-round mechanism with the spread of the answers, exactly."""
    built = (sv.mechanism(name, RANGE, epsilon=epsilon) for name in one_round_names())
    return {m.name: spread(m, law) for m in built}


def measured(law: str, epsilon: str, n: int, runs: int = RUNS) -> list[Run]:
    """Many first rounds of the adaptive mean."""
    protocol = sv.AdaptiveMeanRounds(RANGE, epsilon, n)
    rng = np.random.default_rng([SEED, n, int(epsilon), list(ALL).index(law)])
    return list(first_rounds(protocol, ALL[law], runs, rng))


def errors(n: int) -> Iterator[str]:
    """The table of one number of participants."""
    names = one_round_names()
    yield f"\n### {n:,} participants\n"
    yield f"| law | epsilon | {' | '.join(names)} | **adaptive** | to the best | to `designed` |"
    yield "|---" * (len(names) + 5) + "|"
    for law in laws():
        for epsilon in EPSILONS:
            single = {name: math.sqrt(one / n) for name, one in one_round(ALL[law], epsilon).items()}
            found = math.sqrt(error(measured(law, epsilon, n))[0])
            least, usual = min(single.values()), single["designed"]
            cells = " | ".join(f"{1000 * one:.3f}" for one in single.values())
            yield (
                f"| {law} | {epsilon} | {cells} | **{1000 * found:.3f}** | {found / least:.3f} | {found / usual:.3f} |"
            )


def hostility() -> Iterator[str]:
    """Laws that adapting may get wrong, and the bias of the weights."""
    yield "| law | epsilon | n | adapted | error to `designed` | bias in standard errors |"
    yield "|---|---|---|---|---|---|"
    for law in hostile():
        for epsilon in EPSILONS:
            for n in PARTICIPANTS:
                runs = measured(law, epsilon, n, HOSTILE_RUNS)
                (square, _), (off, _) = error(runs), bias(runs)
                usual = spread(sv.mechanism("designed", RANGE, epsilon=epsilon), ALL[law]) / n
                share = np.mean([run.adapted for run in runs])
                yield (
                    f"| {law} | {epsilon} | {n} | {100 * share:.0f} % | {math.sqrt(square / usual):.3f}"
                    f" | {off / math.sqrt(square):+.4f} |"
                )


def tables() -> str:
    """All that is below the mark."""
    lines = [
        "## The error beside every one-round mechanism",
        "",
        "Root of the mean square error of the mean of the population, times 1000, on [-1, 1]. One-round mechanisms",
        f"are exact. The adaptive mean has {RUNS} simulated first rounds a cell, each with the exact error of its",
        "second round, so that the standard error of a cell is below 0.5 %. The last columns are ratios to the best",
        "one-round mechanism of the row and to `designed`, the one-round design.",
        *(line for n in PARTICIPANTS for line in errors(n)),
        "",
        "## Laws that it may get wrong",
        "",
        f"{HOSTILE_RUNS} first rounds a row. The bias comes from weights that move with the first mean.",
        "",
        *hostility(),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    above, _, _ = PAGE.read_text(encoding="utf-8").partition(MARK)
    PAGE.write_text(above + MARK + "\n" + tables(), encoding="utf-8")
