"""Figures 1, 5, 7, 8 and 9 of the SoK: means of one number, exactly, over the numeric data of its Table 3.

Answers are moved to [-1, 1], so an error over the range is half of one there. The error against the participants' mean
is nearly normal: its mean absolute value is sqrt(2 / pi) standard errors. The variance of a method is exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import scipy  # loads its parts at their first use

from sottovoce.core.domain import Interval
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.prior import Prior
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.means.laws import column
from sottovoce_experiments.means.sok_claims import BERNOULLI, BITS, CLAIMS, DESIGNED, ROUNDING
from sottovoce_experiments.page import PageColumn
from sottovoce_experiments.papers import SOK
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sources import ADULT, TAXI

CELLS = 2000  # of the range, for laws with a density
METHODS = ("laplace", BERNOULLI, "piecewise", "hybrid", ROUNDING, DESIGNED, BITS)
BUDGETS = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
PEOPLE = (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
WITH_ERROR = METHODS[:-1]
SYNTHETIC, AGES, TRIPS = "synthetic", "Adult ages", "green taxi times"


def _scaled(
    values: Sequence[float] | np.ndarray, weights: Sequence[float] | np.ndarray, low: float, high: float
) -> Prior:
    """A law on a range, moved to [-1, 1]."""
    return Prior(np.clip(2 * (np.asarray(values, float) - low) / (high - low) - 1, -1, 1), weights)


def bimodal() -> Prior:
    """Equal parts of normal laws with means 0.3 and 0.6 and standard deviations 0.1 and 0.2, cut to [0, 1]."""
    edges = np.linspace(0, 1, CELLS + 1)
    parts = [np.diff(scipy.stats.norm(mean, sd).cdf(edges)) for mean, sd in ((0.3, 0.1), (0.6, 0.2))]
    return _scaled((edges[1:] + edges[:-1]) / 2, sum(part / part.sum() for part in parts), 0, 1)


def binomial() -> Prior:
    """100 trials with probability 0.2, in the range [0, 100]."""
    return _scaled(np.arange(101), scipy.stats.binom.pmf(np.arange(101), 100, 0.2), 0, 100)


def _known(file: str, name: str, low: float, high: float) -> Prior:
    return _scaled(*np.unique(column(file, name), return_counts=True), low, high)


LAWS: dict[str, tuple[Callable[[], Prior], ...]] = {
    # Uniform on [0, 1] and on [-100, 100] are one law over their range.
    SYNTHETIC: (lambda: Prior.uniform(-1, 1), lambda: Prior.uniform(-1, 1), bimodal, binomial),
    AGES: (lambda: _known(ADULT.file, "age", 16, 100),),
    TRIPS: (lambda: _known(TAXI.file, "pickup_second", 0, 86_400),),
}


@cache
def laws(data: str) -> tuple[Prior, ...]:
    """The laws of the answers of these data sets, on [-1, 1]."""
    return tuple(make() for make in LAWS[data])


@cache
def variances(data: str, method: str, epsilon: float) -> tuple[list[float], list[float], str | None]:
    """Over the range, for each data set: the variance of a report's noise, and of a report; the fingerprint."""
    if method == BITS:  # the bits themselves, not corrected for flips
        slope = math.tanh(epsilon / 2)
        rates = [(1 + slope * law.mean) / 2 for law in laws(data)]
        return [], [rate * (1 - rate) for rate in rates], None
    if method == ROUNDING:
        noise = [1 - law.mean**2 - law.variance for law in laws(data)]
        fingerprint = None
    else:
        m = build(method, Interval(-1, 1), epsilon=str(epsilon))
        noise, fingerprint = [float(m.average_variance(law)) for law in laws(data)], m.fingerprint
    reports = [own + law.variance for own, law in zip(noise, laws(data), strict=True)]
    return [own / 4 for own in noise], [own / 4 for own in reports], fingerprint


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Errors of one method, averaged over data sets, and the variance of its reports."""
    noise, reports, fingerprint = variances(point["data"], point["method"], point["epsilon"])
    row: Row = {"mae": None, "mse": None, "spread": None, "reports": sum(reports) / len(reports)}
    if noise:
        mse = sum(noise) / len(noise) / point["n"]
        mae = math.sqrt(2 / math.pi) * float(np.mean(np.sqrt(noise))) / math.sqrt(point["n"])
        row |= {"mae": mae, "mse": mse, "spread": math.sqrt(mse - mae**2)}
    return [{**row, "fingerprint": fingerprint}]


_EXACT = (
    "Every number follows from exact variances: the mean absolute error of a nearly normal estimate is sqrt(2 / pi)"
    " times its standard error."
)
_DATA = (
    " The four synthetic data sets of Table 3 are averaged: uniform on [0, 1] and on [-100, 100], bimodal (cut to"
    " [0, 1]) and binomial."
)
_FEW = (
    " With 100 participants and epsilon 10 a few far reports of `designed` decide, and its mean absolute error is"
    " smaller than shown."
)
_REAL = (
    " Ages are those of Adult. Pick-up times are of green taxis in the Januaries of 2021 to 2024, in place of the"
    " paper's yellow taxis of 2018."
)
_NAMES = (
    " `bernoulli` stands for all Bernoulli methods, and for the l2 method, which is the same law for one number."
    " `designed` is ours."
)


def _figure(number: int, title: str, field: str, said: str, **given: Any) -> Experiment:
    return SOK.figure(
        f"figure-{number}",
        title,
        cell="means.sok:cell",
        rows="means",
        grid={"data": tuple(LAWS), "n": PEOPLE, "method": METHODS, "epsilon": BUDGETS},
        quick={"data": (SYNTHETIC,), "n": (10_000,), "method": (*METHODS[:5], BITS), "epsilon": (1.0, 4.0, 8.0, 10.0)},
        claims=CLAIMS.get(number, ()),
        text=f"{said} {_EXACT}{_FEW if number == 7 else ''}{_DATA}{_REAL if number in (1, 5, 9) else ''}{_NAMES}",
        form=".3g",
        needs=(ADULT.file, TAXI.file),
        methods=METHODS,
        data=tuple(LAWS),
        **given,
        picture=Picture(
            "epsilon",
            field,
            "method",
            "n" if number in (7, 8) else "data",
            spread="spread" if number == 5 else "",
            log="xy",
        ),
    )


_TEN_THOUSAND = {"n": (10_000,), "method": WITH_ERROR}
_EVERY_N = {"data": (SYNTHETIC,), "method": WITH_ERROR}
EXPERIMENTS = (
    _figure(
        1,
        "Error of one-dimensional means, 10,000 participants",
        "mae",
        "Mean absolute error over the range by epsilon; numbers of the table are multiplied by 1,000.",
        metric="mean absolute error over the range",
        where=_TEN_THOUSAND,
        lead=("data", "method"),
        scale=1e3,
    ),
    _figure(
        5,
        "Errors of one-dimensional means with deviations, 10,000 participants",
        "mae",
        "The shade is the standard deviation of the absolute error over runs and data sets, which the table shows,"
        " multiplied by 1,000.",
        metric="mean absolute error over the range",
        where=_TEN_THOUSAND,
        lead=("data", "method"),
        columns=tuple(PageColumn(f"{at:g}", "spread", ".3g", (("epsilon", at),), 1e3) for at in BUDGETS),
    ),
    _figure(
        7,
        "Mean absolute error from 100 to 10,000,000 participants",
        "mae",
        "Mean absolute error over the range by epsilon; numbers of the table are multiplied by 1,000.",
        metric="mean absolute error over the range",
        where=_EVERY_N,
        lead=("n", "method"),
        scale=1e3,
    ),
    _figure(
        8,
        "Mean squared error from 100 to 10,000,000 participants",
        "mse",
        "Mean squared error over the squared range by epsilon; numbers of the table are multiplied by 1,000,000.",
        metric="mean squared error over the squared range",
        where=_EVERY_N,
        lead=("n", "method"),
        scale=1e6,
    ),
    _figure(
        9,
        "Variance of the reports",
        "reports",
        "Variance of one report over the squared range, by epsilon. The bits of Ding, Kulkarni and Yekhanin are shown"
        " as they are sent; `bernoulli` corrects them for flips.",
        metric="variance of a report over the squared range",
        where={"n": (10_000,)},
        lead=("data", "method"),
    ),
)
