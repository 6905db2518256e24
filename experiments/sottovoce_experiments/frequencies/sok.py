"""Figures 4, 6, 14, 15 and 16 of the SoK: frequency oracles on its synthetic data, estimates projected to the simplex.

The published pictures come from code whose clients and servers disagree (docs/why/errata.md), so their numbers are not
compared with: the experiments are repeated with right mechanisms. RAPPOR is what the SoK ran, a Bloom filter of 128
bits with two hashes and eight cohorts, in one round; O-RR hashes in eight cohorts too. Averages are over the synthetic
data sets of at most 128 values, on which all methods are computed; Figure 16 has the larger ones. The US Census data is
not part of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.decoder import decoder
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.frequencies.claims import CLAIMS, CORRECTED, O_RR, RAPPOR
from sottovoce_experiments.frequencies.data import GEOMETRIC_SIZES, TABLE_3, crowd
from sottovoce_experiments.frequencies.draws import decoded
from sottovoce_experiments.papers import SOK
from sottovoce_experiments.papers.paper import Grid
from sottovoce_experiments.picture import Picture

Floats = NDArray[np.float64]
BUILT: dict[str, tuple[str, dict[str, int]]] = {  # methods that are not named as in the registry
    RAPPOR: ("one-time-rappor", {"hashes": 2, "bits": 128, "cohorts": 8}),
    O_RR: ("o-rr", {"cohorts": 8}),
    CORRECTED: ("grr", {}),
}
METHODS = ("grr", "sue", "oue", "olh", "hrr", "hadamard", "subset", RAPPOR, O_RR, CORRECTED)
BUDGETS = (0.1, 0.5, 1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
LARGEST = 128  # values up to which the correction is computed, which takes the cube of their number
RUNS = 8  # the paper has 20; errors are averages over seven data sets too
SLOW = (RAPPOR, CORRECTED)  # a system of equations for each tally: a quarter of the runs, and not for
MOST = 100_000  # more participants than these
NOT_COMPUTED: Row = {"mse": None, "std": None, "variance": None, "fingerprint": None}


class Measured(NamedTuple):
    """Squared errors of runs, the variance of an estimate, and the mechanism; of several crowds the first one."""

    errors: Floats
    variance: float
    fingerprint: str


def everywhere(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """One method, averaged over the synthetic data sets of Table 3 that all methods are computed on."""
    if point["method"] in SLOW and point["n"] > MOST:
        return [NOT_COMPUTED]
    used = [(kind, k) for kind, k in TABLE_3 if k <= LARGEST]
    each = [_measured(point["method"], kind, k, point, runs, seed + i) for i, (kind, k) in enumerate(used)]
    errors = np.concatenate([one.errors for one in each])
    return [_row(Measured(errors, float(np.mean([one.variance for one in each])), each[0].fingerprint))]


def by_size(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """One method on the geometric data of one size."""
    if point["method"] == CORRECTED and point["k"] > LARGEST:
        return [NOT_COMPUTED]
    return [_row(_measured(point["method"], "geometric", point["k"], point, runs, seed))]


def by_cohorts(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """O-RR on the geometric data of 128 values, for a number of cohorts."""
    options = {"cohorts": point["cohorts"], "g": point["g"]}
    return [_row(_measured("o-rr", "geometric", LARGEST, point, runs, seed, options))]


def _row(found: Measured) -> Row:
    errors = found.errors
    return {
        "mse": float(errors.mean()),
        "std": float(errors.std()),
        "variance": found.variance,
        "fingerprint": found.fingerprint,
    }


def _measured(
    method: str, kind: str, size: int, point: Mapping[str, Any], runs: int, seed: int, options: Mapping[str, int] = {}
) -> Measured:
    """Squared errors of each run, averaged over values, and the variance of an estimate over runs, averaged too."""
    name, known = BUILT.get(method, (method, {}))
    runs = max(2, runs // 4) if method in SLOW else runs
    held = crowd(kind, size, point["n"], np.random.default_rng(seed))
    mechanism = build(name, Integers(0, size - 1), epsilon=str(point["epsilon"]), **known, **options)
    chosen = decoder("small-sample", runs=1) if method == CORRECTED else "simplex"
    values = decoded(mechanism, held, chosen, runs=runs, seed=seed)
    errors = ((values - held / held.sum()) ** 2).mean(axis=1)
    return Measured(errors, float(values.var(axis=0, ddof=1).mean()), mechanism.fingerprint)


def summary(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The methods of least error, by participants and epsilon."""
    known = [row for row in rows if row["mse"] is not None]
    lines = []
    for n in dict.fromkeys(row["n"] for row in known):
        best = []
        for epsilon in dict.fromkeys(row["epsilon"] for row in known):
            here = [row for row in known if (row["n"], row["epsilon"]) == (n, epsilon)]
            best.append(f"{epsilon:g}: {min(here, key=lambda row: row['mse'])['method']}")
        lines.append(f"Least error with {n:,} participants, by epsilon: {'; '.join(best)}.")
    return lines


_SOME, _MANY = (1_000, 10_000, 100_000), (100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
_ERROR = "mean squared error of a share, after projection to the simplex"
_TIMES = (
    " Numbers of the table are multiplied by 1,000,000; 8 runs of each method on each data set, two of RAPPOR and of"
    " the correction, which are not computed for more than 100,000 participants."
)


def _figure(number: int, what: str, people: Sequence[int], said: str, field: str = "mse", **given: Any) -> Experiment:
    """A figure over all data sets, or with `k` over the sizes of one."""
    sizes: Grid = {"k": GEOMETRIC_SIZES} if number == 16 else {}
    return SOK.figure(
        f"figure-{number}",
        what,
        cell=f"frequencies.sok:{'by_size' if sizes else 'everywhere'}",
        rows="" if sizes else "figure-14",
        where={"n": tuple(people)},
        grid={**sizes, "n": people if sizes else _MANY, "method": METHODS, "epsilon": BUDGETS},
        quick={"k": (8, 128), "n": (1_000, 100_000), "method": METHODS[:8], "epsilon": (1.0, 6.0, 10.0)},
        picture=Picture("epsilon", field, "method", ("k", "n") if sizes else "n", log="xy", **given),
        metric=_ERROR,
        runs=RUNS,
        quick_runs=4,
        claims=CLAIMS.get(number, ()),
        text=lambda rows: " ".join([f"{said}.{_TIMES}", *(summary(rows) if number in (4, 14) else ())]),
        form=".4g",
        scale=1e6,
        methods=METHODS,
        data=("synthetic data of Table 3: binomial (8, 128 values), geometric (8, ..., 128 values; 512 in Figure 16)",),
        summary=summary,
    )


EXPERIMENTS = (
    _figure(4, "Mean squared error, averaged over data sets", _SOME, "Mean squared error of a share by epsilon"),
    _figure(
        6,
        "Errors with deviations",
        _SOME,
        "Mean squared error by epsilon; the shade is its standard deviation over runs and data sets",
        spread="std",
    ),
    _figure(14, "Errors from 100 to 10,000,000 participants", _MANY, "Mean squared error of a share by epsilon"),
    _figure(15, "Variance of the estimates", _MANY, "Variance of an estimated share over runs, by epsilon", "variance"),
    _figure(16, "Errors by the number of values", _SOME, "Mean squared error of a share by epsilon"),
    SOK.figure(
        "footnote-5",
        "O-RR by the number of cohorts",
        cell="frequencies.sok:by_cohorts",
        grid={"epsilon": (0.5, 1.0, 2.0, 4.0), "g": (2, 4, 8), "cohorts": (2, 4, 8, 16, 32, 64, 128), "n": (100_000,)},
        quick={"epsilon": (1.0, 4.0), "g": (4,), "cohorts": (2, 8, 64)},
        picture=Picture("cohorts", "mse", "g", "epsilon", log="xy"),
        metric=_ERROR,
        runs=RUNS,
        quick_runs=4,
        claims=CLAIMS[5],
        text="128 values with geometric shares, 100,000 participants; each cohort hashes the values to g.",
        form=".4g",
        scale=1e6,
    ),
)
