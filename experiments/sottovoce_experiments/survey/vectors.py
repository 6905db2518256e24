"""Tables 5 and 6 of the survey: means of several numbers, exactly, and least squares by private gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import sottovoce as sv
from sottovoce.core.exchange import codec
from sottovoce_experiments.claim import Cases, Claim, PaperVerdict
from sottovoce_experiments.experiment import Row
from sottovoce_experiments.papers import SURVEY
from sottovoce_experiments.picture import Picture

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "Laplace": ("split-epsilon", {"inner": "laplace"}),
    "SCDF": ("split-epsilon", {"inner": "scdf"}),
    "staircase": ("split-epsilon", {"inner": "staircase"}),
    "MeanEst": ("duchi-linf", {}),
    "Harmony": ("sampled", {"inner": "bernoulli", "count": 1}),
    "Piecewise": ("sampled", {"inner": "piecewise"}),
    "Hybrid": ("sampled", {"inner": "hybrid"}),
}
SPLIT = ("Laplace", "SCDF", "staircase")
SIZES, BUDGETS = (2, 8, 32), (0.5, 1.0, 2.0, 4.0)
POINTS = (-1.0, -0.5, 0.0, 0.5, 1.0)
PEOPLE, STEPS, RADIUS = (10_000, 100_000), 20, 1


def mean_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Exact standard errors of a coordinate, times the root of participants: for even answers, and for the worst."""
    name, options = METHODS[point["method"]]
    m = sv.mechanism(name, sv.Box(-1, 1, point["d"]), epsilon=point["epsilon"], **options)
    laws = [sv.Prior.uniform(-1, 1), *(sv.Prior([x], [1]) for x in POINTS)]
    even, *fixed = (math.sqrt(float(m.variance(law)[0])) for law in laws)
    return [
        {
            "error": even,
            "worst": max(fixed),
            "bytes": codec.payload_bytes(m.channel),
            "loss": m.epsilon,
            "fingerprint": m.fingerprint,
        }
    ]


def regression_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """The excess risk of least squares after one pass of gradients, each person sending one through a mechanism."""
    p, n, risks = point["p"], point["n"], []
    m = sv.mechanism("duchi-l2", sv.Ball(RADIUS, p), epsilon=point["epsilon"])
    for run in range(runs):
        rng = np.random.default_rng(seed + run)
        truth = np.full(p, 0.5 / math.sqrt(p))
        x = rng.standard_normal((n, p))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        y = np.clip(x @ truth + 0.1 * rng.uniform(-1, 1, n), -1, 1)
        theta, path = np.zeros(p), []
        for step, batch in enumerate(np.array_split(np.arange(n), STEPS)):
            gradient = x[batch] * (np.clip(x[batch] @ theta - y[batch], -1, 1))[:, None]
            sent = m.estimate(m.tally(m.privatize(gradient, seed=run * STEPS + step, threads=1)))
            theta = theta - p / (2 + step / 4) * np.asarray(sent.values)
            theta *= min(1.0, 1 / max(float(np.linalg.norm(theta)), 1e-12))
            path.append(theta)
        away = np.mean(path[STEPS // 2 :], axis=0) - truth
        risks.append(float(away @ away) / p)
    return [
        {"risk": float(np.mean(risks)), "error": float(np.std(risks) / math.sqrt(runs)), "fingerprint": m.fingerprint}
    ]


def growing(names: Sequence[str], most: float) -> Cases:
    """Whether the error at 32 numbers over that at 2 is at most this factor; below 1, at least its inverse."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        found = {(row["method"], row["epsilon"], row["d"]): row["error"] for row in rows}
        for name, epsilon, d in found:
            if name in names and d == max(SIZES):
                ratio = found[name, epsilon, d] / found[name, epsilon, min(SIZES)]
                yield ratio <= most if most >= 1 else ratio >= 1 / most

    return cases


def best(name: str, field: str, others: Sequence[str]) -> Cases:
    """Whether a method has the least number of these, or nearly so."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        found: dict[tuple[int, float], dict[str, float]] = {}
        for row in rows:
            found.setdefault((row["d"], row["epsilon"]), {})[row["method"]] = row[field]
        yield from (each[name] <= 1.001 * min(each[other] for other in others) for each in found.values())

    return cases


def falls(axis: str, factor: float) -> Callable[[Sequence[Row]], Iterator[bool]]:
    """Whether the risk at the largest value of an axis is at most this part of that at the smallest."""

    def cases(rows: Sequence[Row]) -> Iterator[bool]:
        found: dict[tuple[Any, ...], dict[float, float]] = {}
        for row in rows:
            place = tuple(row[name] for name in ("p", "n", "epsilon") if name != axis)
            found.setdefault(place, {})[row[axis]] = row["risk"]
        yield from (each[max(each)] <= factor * each[min(each)] for each in found.values() if len(each) > 1)

    return cases


H, F, D = PaperVerdict.HOLDS, PaperVerdict.FAILS, PaperVerdict.DEPENDS
SAMPLED = ("MeanEst", "Harmony", "Piecewise", "Hybrid")
EXPERIMENTS = (
    SURVEY.figure(
        "table-5",
        "Means of several numbers",
        cell="survey.vectors:mean_cell",
        grid={"d": SIZES, "method": tuple(METHODS), "epsilon": BUDGETS},
        quick={"d": (2, 32), "epsilon": (1.0, 4.0)},
        picture=Picture("epsilon", "error", "method", "d", log="xy"),
        metric="standard error of a mean, times the root of participants",
        claims=(
            Claim(
                "Table 5",
                "Laplace, SCDF and staircase noise have errors that grow with the number d of attributes",
                H,
                growing(SPLIT, 1 / 14),
                "epsilon is split: ask each person about a few attributes",
            ),
            Claim(
                "Table 5",
                "MeanEst, Harmony, Piecewise and Hybrid have errors that grow with the root of d log d",
                H,
                growing(SAMPLED, math.sqrt(16 * 5)),
            ),
            Claim(
                "5.1.2",
                "Hybrid has the least worst-case variance of the listed methods",
                H,
                best("Hybrid", "worst", tuple(METHODS)),
                "each person may answer about several attributes at a large epsilon; `sampled` takes the exact best",
            ),
            Claim(
                "Table 5",
                "Reports of Harmony are no longer than one bit beside the attribute",
                H,
                lambda rows: (row["bytes"] == 1 for row in rows if row["method"] == "Harmony"),
            ),
        ),
        text="Exact: n times the variance of one mean has this root, for answers spread evenly over [-1, 1].",
        methods=tuple(METHODS),
        printed=("worst", "bytes", "loss"),
    ),
    SURVEY.figure(
        "table-6",
        "Least squares by private gradients",
        cell="survey.vectors:regression_cell",
        grid={"p": (2, 8), "n": PEOPLE, "epsilon": (1.0, 4.0)},
        quick={"p": (2,), "n": (10_000, 100_000), "epsilon": (1.0, 4.0)},
        picture=Picture("n", "risk", "epsilon", "p", log="xy"),
        metric="excess risk of least squares",
        runs=10,
        quick_runs=2,
        claims=(
            Claim("Table 6", "More participants lower the excess risk of sequential gradients", H, falls("n", 0.5)),
            Claim("Table 6", "A larger epsilon lowers it", H, falls("epsilon", 0.9)),
        ),
        text="One pass, 20 steps; each person sends one gradient in a ball through `duchi-l2`. Of the table's methods"
        " only the sequential one is here; dimension reduction and polynomials are missing.",
        printed=("error",),
    ),
)
