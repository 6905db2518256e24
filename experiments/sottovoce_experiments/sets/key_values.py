"""Keys with numbers: exact variances of every method, and how often intervals hold the truth."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Integers, KeyValue
from sottovoce.core.registry import mechanism
from sottovoce.estimate.key_means.evidence import at_truth
from sottovoce.estimate.request import PoorIntervalWarning, Target
from sottovoce_experiments.experiment import Experiment, Row
from sottovoce_experiments.page import PageColumn, Section
from sottovoce_experiments.picture import Picture
from sottovoce_experiments.sets.designs import PAGE

LEVEL = 0.95
METHODS = ("key-mask", "key-cells", "key-options", "pckv-grr", "privkv")
UNARY = "PCKV-UE, by formula"
SHAPES = ((10, 3), (100, 5), (100, 10), (1_000, 10))  # keys, most
EPSILONS = (1.0, 2.0, 4.0)
BAR = 45.0  # n times the variance of the share of a rare key, for 100 keys of which people hold 10, at epsilon 1
KEYS, MOST, PEOPLE = 20, 4, 60_000
Floats = NDArray[np.float64]


def variances(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """n times the exact variances of the share and of the sum of a key that nearly nobody holds."""
    domain = KeyValue(range(point["keys"]), Integers(1, 5), point["most"])
    rows = []
    for method in METHODS:
        subject = mechanism(method, domain, epsilon=point["epsilon"])
        rare = np.full(point["keys"], 1e-12), np.full(point["keys"], 3.0)
        joint = at_truth(subject, rare, 1).covariance(Target.POPULATION)[0]
        rows.append({"method": method, "share": float(joint[0, 0]), "sum": float(joint[1, 1])})
    return [*rows, {"method": UNARY, **of_unary(point["most"], point["epsilon"])}]


def of_unary(most: int, epsilon: float) -> dict[str, float]:
    """Variances of PCKV-UE with its published parameters: a state for each key, where one of the keys held is drawn.

    A key that is not drawn has an end with b = 2 / (e**epsilon + 3), a fair one; the key that is drawn has one with
    a = 1/2, its own with e**epsilon / (e**epsilon + 1).
    """
    odds = math.exp(epsilon)
    own, other, gap = 0.5, 2 / (odds + 3), (odds - 1) / (odds + 1)
    return {
        "share": most**2 * other * (1 - other) / (own - other) ** 2,
        "sum": most**2 * other / (own * gap) ** 2,
    }


def variances_summary(rows: Sequence[Row]) -> list[str]:
    """Whether the target is met."""
    point = {"keys": 100, "most": 10, "epsilon": 1.0, "method": "key-mask"}
    (found,) = [row["share"] for row in rows if all(row[name] == value for name, value in point.items())]
    return [
        f"100 keys, at most 10, epsilon 1: the share of a rare key has the variance {found:.1f} / n (target {BAR:g})."
    ]


def crowd(rng: np.random.Generator) -> Floats:
    """Ratings from 1 to 5, with half of them at 4, and some keys rated at both ends only; NaN where a key is not held.

    Keys have shares from 0.5 % to 45 %. People who would hold too many keep a random choice; one in seven holds none.
    """
    held = rng.random((PEOPLE, KEYS)) < np.geomspace(0.005, 0.5, KEYS)
    order = np.argsort(rng.random(held.shape) - held, axis=1)  # those held first, at random
    rank = np.argsort(order, axis=1)
    held &= (rank < MOST) & (rng.random((PEOPLE, 1)) < 6 / 7)
    heaped = np.where(rng.random(held.shape) < 0.5, 4, rng.integers(1, 6, held.shape))
    ends = np.where(rng.random(held.shape) < 0.3, 1, 5)
    return np.where(held, np.where(np.arange(KEYS) % 3 == 0, ends, heaped), np.nan)


def coverage(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """Real reports of one new crowd in each run; intervals of means of keys that are shown, and of all shares."""
    subject = mechanism(point["method"], KeyValue(range(KEYS), Integers(1, 5), MOST), epsilon=point["epsilon"])
    rng = np.random.default_rng(seed)
    inside: dict[str, list[float]] = {name: [] for name in ("means", "shares", "few")}
    errors, shown = [], 0
    for _ in range(runs):
        people = crowd(rng)
        shares, means = (~np.isnan(people)).mean(axis=0), np.nanmean(people, axis=0)
        found: Any = subject.estimate(subject.tally(subject.privatize(people, seed=int(rng.integers(1 << 62)))))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)
            low, high = found.ci(LEVEL, target="sample")
            least, most = found.shares.ci(LEVEL, target="sample")
        known = ~np.isnan(found.values)
        shown += int(known.sum())
        inside["means"] += ((low <= means) & (means <= high))[known].tolist()
        right = (least <= shares) & (shares <= most)
        inside["shares"] += right.tolist()
        inside["few"] += right[shares < 0.01].tolist()
        variances = found.shares.evidence.variances(Target.SAMPLE)
        errors.append(float(np.mean((found.shares.values - shares) ** 2 / variances)))
    covered = {name: float(np.mean(one)) if one else None for name, one in inside.items()}
    return [{**covered, "shown": shown, "of predicted": float(np.sqrt(np.mean(errors)))}]


def coverage_summary(rows: Sequence[Row]) -> list[str]:
    """The lowest and the highest coverage."""
    lines = []
    for name in ("means", "shares", "few"):
        found = [row[name] for row in rows if row[name] is not None]
        word = "shares below 1 %" if name == "few" else name
        lines.append(f"95 % intervals of {word}: {min(found):.1%} to {max(found):.1%} hold the truth.")
    return lines


EXPERIMENT = Experiment(
    id="key-value-designs",
    title="Variance of the share of a rare key, and of the sum of its numbers",
    metric="n times the variance, for a key that nobody holds",
    methods=(*METHODS, UNARY),
    grid=((("keys", "most"), SHAPES), ("epsilon", EPSILONS)),
    quick=((("keys", "most"), ((10, 3), (100, 10))), ("epsilon", (1.0,))),
    runs=1,
    quick_runs=1,
    cell=variances,
    figure=Picture(("keys", "most", "epsilon", "method"), ("share", "sum"), dots=True),
    columns=("keys", "most", "epsilon", "method", "share", "sum"),
    summary=variances_summary,
    section=Section(
        page=PAGE,
        heading="## Keys with numbers",
        text="n times the exact variance of the *share* of a key that nobody holds, and of the *sum* of its numbers, on"
        " the scale from -1 to 1, divided by n. People hold at most *most* of the *keys*. The variance of a mean is"
        " about that of the sum over the squared share. `key-mask` and `key-cells` spend 45 % of the reports on ends."
        " PCKV-UE is no method of this package: its variances follow from its published parameters.",
        lead=("keys", "most", "epsilon", "method"),
        columns=(PageColumn("share", "share", ".4g"), PageColumn("sum", "sum", ".4g")),
    ),
)
COVERAGE = Experiment(
    id="key-values-coverage",
    title="Coverage of means and shares of keys",
    metric="share of 95 % intervals that hold the truth",
    methods=METHODS,
    grid=(("method", METHODS), ("epsilon", (1.0, 4.0))),
    quick=(("method", ("key-mask",)), ("epsilon", (4.0,))),
    runs=20,
    quick_runs=2,
    cell=coverage,
    figure=Picture(("method", "epsilon"), ("means", "shares", "few"), dots=True, guide=0.95, log=""),
    columns=("method", "epsilon", "means", "shown", "shares", "few", "of predicted"),
    summary=coverage_summary,
    section=Section(
        page=PAGE,
        heading="## Means and shares of keys",
        text="Real reports of 60,000 people with ratings from 1 to 5 of 20 keys, at most 4 each, in 20 runs with a new"
        " crowd each. Half of the ratings are 4, or all are 1 or 5. Share of 95 % intervals for these people that hold"
        " the truth: of the means that are *shown*, of all shares, and of shares below 1 %. *Of predicted* is the error"
        " of shares over the one that was predicted.",
        lead=("method", "epsilon"),
        columns=(
            PageColumn("means", "means", ".1%", missing="-"),
            PageColumn("shown", "shown", "d"),
            PageColumn("shares", "shares", ".1%"),
            PageColumn("below 1 %", "few", ".1%", missing="-"),
            PageColumn("of predicted", "of predicted", ".3f"),
        ),
    ),
)
