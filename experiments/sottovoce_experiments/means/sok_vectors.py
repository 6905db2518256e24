"""Figures 2, 10 and 11 of the SoK: means of several numbers, exactly, on its binomial data stacked d times.

Each participant holds d equal numbers, so the l2 method needs a ball of radius sqrt(d). Errors are those of a
coordinate, in means of one number (`means.sok`) otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from sottovoce.core.domain import Ball, Box
from sottovoce.core.registry import mechanism as build
from sottovoce_experiments.claim import Cases, Claim, PaperVerdict
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.means.sok import binomial
from sottovoce_experiments.papers import SOK
from sottovoce_experiments.picture import Picture

SPLIT, PEOPLE_SPLIT, ONE, SOME = "split epsilon", "split n", "Wang, k = 1", "Wang, best k"
INFINITY, EUCLID, OURS = "Duchi, l-infinity", "Duchi, l2", "designed"
BUILT: dict[str, tuple[str, dict[str, Any]]] = {
    SPLIT: ("split-epsilon", {"inner": "piecewise"}),
    PEOPLE_SPLIT: ("split-n", {"inner": "piecewise"}),
    ONE: ("sampled", {"inner": "piecewise", "count": 1}),
    SOME: ("sampled", {"inner": "piecewise"}),
    INFINITY: ("duchi-linf", {}),
    EUCLID: ("duchi-l2", {}),
    OURS: ("sampled", {}),
}
SIZES, SHOWN = (2, 4, 8, 16, 32, 64), 32
PEOPLE, SHOWN_PEOPLE = (100, 1_000, 10_000, 100_000, 1_000_000), (100, 10_000, 100_000)
BUDGETS = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
SAME, NEAR = 2.0, 1.1  # factors within which errors are similar, and nearly the same


def _counts(d: int, epsilon: float) -> dict[str, Any]:
    """The number of coordinates that the paper gives as the best one."""
    return {"count": max(1, min(d, math.floor(epsilon / 2.5)))}


@cache
def noise(method: str, d: int, epsilon: float) -> tuple[float, str]:
    """The variance of a report's noise in a coordinate, over the squared range, and the fingerprint."""
    name, options = BUILT[method]
    options = {**options, **_counts(d, epsilon)} if method == SOME else options
    law = binomial()
    if method != EUCLID:
        m = build(name, Box(-1, 1, d), epsilon=str(epsilon), **options)
        return float(m.variance(law, target="sample")[0]) / 4, m.fingerprint
    m = build(name, Ball(round(math.sqrt(d) + 1e-9, 9), d), epsilon=str(epsilon))
    own = [float(m.variance(np.full(d, x), target="sample")[0]) for x in (0.0, 1.0)]
    second = law.variance + law.mean**2  # the variance is linear in the square of the answer
    return (own[0] + (own[1] - own[0]) * second) / 4, m.fingerprint


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The error of a coordinate of one method."""
    variance, fingerprint = noise(point["method"], point["d"], point["epsilon"])
    return [{"mae": math.sqrt(2 / math.pi * variance / point["n"]), "fingerprint": fingerprint}]


def _errors(rows: Sequence[Row]) -> Iterator[tuple[float, dict[str, float]]]:
    """The budget and the errors of all methods, for each number of coordinates and of participants."""
    found: dict[tuple[int, int, float], dict[str, float]] = {}
    for row in rows:
        found.setdefault((row["d"], row["n"], row["epsilon"]), {})[row["method"]] = row["mae"]
    yield from ((epsilon, errors) for (_, _, epsilon), errors in found.items())


def ratio(first: str, *others: str, low: float = 0.0, high: float = math.inf) -> Cases:
    """Whether the error of a method is between these multiples of the error of each other method."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        for _, errors in _errors(rows):
            yield all(low * errors[name] <= errors[first] <= high * errors[name] for name in others)

    return cases


def constant(rows: Sequence[Row]) -> Iterator[bool]:
    """Whether the l-infinity method has nearly the same error for all budgets and all numbers of participants."""
    found: dict[int, list[float]] = {}
    for row in rows:
        if row["method"] == INFINITY:
            found.setdefault(row["d"], []).append(row["mae"])
    yield from (max(errors) <= NEAR * min(errors) for errors in found.values())


H, F, D = PaperVerdict.HOLDS, PaperVerdict.FAILS, PaperVerdict.DEPENDS
_ROUNDED = 1 - 1e-9  # equal laws have errors that differ by rounding
CLAIMS = {
    2: (
        Claim(
            "4.1.2",
            "The l-infinity method has one constant error for 32 numbers",
            F,
            constant,
            "ties of signs need the weight 1: the error falls with n and epsilon",
        ),
        Claim(
            "4.1.2",
            "Splitting epsilon has the largest error of the other methods, with 32 numbers",
            H,
            ratio(SPLIT, PEOPLE_SPLIT, ONE, SOME, EUCLID, low=_ROUNDED),
        ),
        Claim(
            "4.1.2",
            "Splitting the participants has the least error, with 32 numbers",
            H,
            ratio(PEOPLE_SPLIT, SPLIT, ONE, SOME, EUCLID, INFINITY, high=1 / _ROUNDED),
            "k = 1 is the same law",
        ),
        Claim(
            "4.1.2",
            "The l2 method has a slightly larger error than Wang's, with 32 numbers",
            D,
            ratio(EUCLID, SOME, low=1.0, high=SAME),
            "within a factor of two up to epsilon 2; far larger above",
        ),
    ),
    10: (
        Claim(
            "4.1.2",
            "It makes no substantial difference whether k is 1 or the best one",
            D,
            ratio(SOME, ONE, low=1 / NEAR, high=NEAR),
            "equal below epsilon 5; above, k = 1 is better here, since these answers differ little between people",
        ),
        Claim(
            "5.1",
            "Splitting the participants has a smaller error than splitting epsilon",
            H,
            ratio(PEOPLE_SPLIT, SPLIT, high=1.0),
        ),
    ),
}
_SAID = (
    "Mean absolute error of a coordinate over the range by epsilon, for the binomial data of Table 3 stacked d times."
    " Numbers follow from exact variances: sqrt(2 / pi) times the standard error, which needs nearly normal estimates:"
    " with 100 participants and 32 numbers a coordinate has three reports where one coordinate is sent."
    " The best k is max(1, min(d, floor(epsilon / 2.5))). `designed` is ours, with a k that is best for evenly spread"
    " answers. Splitting n is the same law as k = 1, whose line hides it. Numbers of the table are multiplied by 1,000."
)


def _figure(number: int, title: str, people: tuple[int, ...], sizes: tuple[int, ...], said: str = "") -> Experiment:
    return SOK.figure(
        f"figure-{number}",
        title,
        cell="means.sok_vectors:cell",
        rows="vectors",
        where={"d": sizes, "n": people},
        grid={"d": SIZES, "n": PEOPLE, "method": tuple(BUILT), "epsilon": BUDGETS},
        quick={"d": (2, SHOWN), "n": (100, 1_000, 1_000_000), "method": tuple(BUILT)[:-1], "epsilon": (1.0, 4.0, 10.0)},
        picture=Picture("epsilon", "mae", "method", "n" if len(people) > 1 else "d", log="xy"),
        metric="mean absolute error over the range",
        claims=CLAIMS.get(number, ()),
        text=_SAID + said,
        form=".3g",
        scale=1e3,
        methods=tuple(BUILT),
        data=("binomial data of Table 3, stacked",),
        lead=("n" if len(people) > 1 else "d", "method"),
    )


_PANELS = (
    " The paper has panels for some numbers of participants and coordinates; other n change all errors as 1 / sqrt(n)."
)
EXPERIMENTS = (
    _figure(2, "Error of means of 32 numbers", SHOWN_PEOPLE, (SHOWN,)),
    _figure(10, "Error of means of 2 to 64 numbers, 1,000 participants", (1_000,), SIZES, _PANELS),
    _figure(11, "Error of means of 2 to 64 numbers, 1,000,000 participants", (1_000_000,), SIZES, _PANELS),
)
