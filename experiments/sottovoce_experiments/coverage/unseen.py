"""Coverage where approximations are hardest, of intervals as everybody gets them, one run after the other."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Circle, Integers, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Distribution
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Protocol
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.protocols.gaussian.known import GaussianMeanKnownSigma
from sottovoce.protocols.gaussian.unknown import GaussianMeanUnknownSigma
from sottovoce.protocols.simulate import simulate
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.declared.unseen import COLUMNS, NORMAL_RUNS
from sottovoce_experiments.coverage.study import LEVEL, Coverage
from sottovoce_experiments.runner import data_file
from sottovoce_experiments.sources import ADULT, PATIENTS, TAXI

Floats = NDArray[np.float64]
VALUES, HOURS = Integers(0, 31), Circle(24)
BUCKETS = 64
_NEAR = 1e-9


@lru_cache(maxsize=16)
def _mechanism(name: str, epsilon: float, circular: bool) -> tuple[Mechanism, Floats]:
    """A mechanism, and the law of its outputs, one row for each code."""
    options: dict[str, Any] = {"buckets": BUCKETS} if circular else {"buckets": 32} if name == "binned" else {}
    found = build(name, HOURS if circular else VALUES, epsilon=epsilon, **options)
    codes = found.channel.inputs
    law = np.array([law_row(found.channel, code) for code in range(codes)])
    return found, law / law.sum(axis=1, keepdims=True)


REAL = {  # the file, the column, and by how much of it the numbers rise by one
    "capital gain": (ADULT.file, "capital_gain", 3_125),
    "emergency visits": (PATIENTS.file, "visits_emergency", 1),
    "tips": (TAXI.file, "tip_usd", 1),
}


@lru_cache(maxsize=8)
def shares_of(shape: str) -> Floats:
    """Shares of the whole numbers from 0 to 31."""
    if shape in REAL:
        import pyarrow.parquet as pq

        file, column, unit = REAL[shape]
        answers = pq.read_table(data_file(file), columns=[column]).column(0).to_numpy()
        codes = np.floor(answers[answers >= 0] / unit).astype(np.int64)
        return np.asarray(np.bincount(np.minimum(codes, 31), minlength=32) / len(codes))
    value = np.arange(32)
    money = np.exp(-(((np.log(value + 2.0) - 2.3) / 0.6) ** 2) / 2) * np.where(value % 4 == 0, 27.0, 1.0)
    tail = np.where(value == 31, 0.75, 0.25 * 0.4 * 0.6 ** (30.0 - value))
    chosen = money if shape == "money" else tail
    return np.asarray(chosen / chosen.sum())


def rare_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Shares, cumulative shares and bands of one shape."""
    method, law = _mechanism(point["mechanism"], point["epsilon"], False)
    shares, n, rng = shares_of(point["shape"]), point["n"], np.random.default_rng(seed)
    below = np.cumsum(shares)[:-1]
    held: dict[str, list[Any]] = {}
    warned: dict[str, list[bool]] = {}
    plain = []
    for _ in range(runs):
        found = method.estimate(Tally(method, n, rng.multinomial(n, shares @ law).astype(np.int64)))
        whole = found if found.evidence.distribution is not None else found.answer(Distribution(VALUES))
        heights = whole.cdf(list(range(31)))
        plain.append(_inside(whole.quiet_ci(LEVEL, method="normal"), shares))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", PoorIntervalWarning)
            band = whole.band(LEVEL)
        each = {
            "share": (_inside(whole.quiet_ci(LEVEL), shares), whole.doubt(LEVEL)),
            "all at once": (
                _inside(whole.quiet_ci(LEVEL, simultaneous=True), shares).all(),
                whole.doubt(LEVEL, simultaneous=True),
            ),
            "cdf": (_inside(heights.quiet_ci(LEVEL), below), heights.doubt(LEVEL)),
            "band": (_inside((band.low[1:-1], band.high[1:-1]), below).all(), said or None),
        }
        for kind, (covered, doubt) in each.items():
            held.setdefault(kind, []).append(covered)
            warned.setdefault(kind, []).append(doubt is not None)
    rows = [_quiet(kind, np.array(held[kind]), np.array(warned[kind])) for kind in held]
    worst = int(np.argmin(np.mean(held["share"], axis=0)))
    rows.append(_quiet("worst share", np.array(held["share"])[:, worst], np.array(warned["share"])))
    rows.append(_quiet("normal, worst share", np.array(plain).mean(axis=0).min(keepdims=True), np.zeros(1, bool)))
    return rows


def _inside(bounds: Any, truth: Floats) -> NDArray[np.bool_]:
    low, high = bounds
    return np.asarray((low - _NEAR <= truth) & (truth <= high + _NEAR))


def _quiet(kind: str, held: NDArray[Any], warned: NDArray[np.bool_]) -> Coverage:
    """The coverage of intervals without a warning, and of those with one."""
    quiet, loud = (float(held[part].mean()) if part.any() else None for part in (~warned, warned))
    numbers = {"warned": float(warned.mean()), "warned_coverage": loud}
    return Coverage(of=kind, method="default", coverage=quiet, runs=int((~warned).sum()), numbers=numbers)


def times_of(times: str) -> Floats:
    """Shares of the buckets of a day."""
    turn = 2 * np.pi * np.arange(BUCKETS) / BUCKETS
    shares = {
        "evenly": np.ones(BUCKETS),
        "opposite hours": np.where(np.arange(BUCKETS) % (BUCKETS // 2) == 5, 1.0, 0.0),
        "slightly more at night": 1 + 0.3 * np.cos(turn),
        "around midnight": np.exp(2 * np.cos(turn - 0.1)),
        "one hour": np.where(np.arange(BUCKETS) == BUCKETS - 1, 1.0, 0.0),
    }[times]
    return np.asarray(shares / shares.sum())


def circular_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """The direction of the mean of a day's times."""
    method, _ = _mechanism("square-wave", point["epsilon"], True)
    shares, n, rng = times_of(point["times"]), point["n"], np.random.default_rng(seed)
    held, whole, widths = 0, 0, []
    for _ in range(runs):
        counts = rng.multinomial(n, shares)
        answers = np.repeat((np.arange(BUCKETS) + 0.5) / BUCKETS * 24, counts)
        found = method.estimate(method.tally(method.privatize(answers, seed=int(rng.integers(1 << 62))))).mean()
        known = counts / n if point["whose"] == "sample" else shares
        turns = 2 * math.pi * (np.arange(BUCKETS) + 0.5) / BUCKETS
        truth = math.atan2(float(known @ np.sin(turns)), float(known @ np.cos(turns))) / (2 * math.pi) * 24
        (low,), (high,) = found.quiet_ci(LEVEL, target=point["whose"])
        held += (truth - low) % 24 <= high - low
        whole += high - low >= 24 * (1 - _NEAR)
        widths.append(high - low)
    numbers = {"whole": whole / runs, "width": float(np.median(widths))}
    return [
        Coverage(
            of="circular mean",
            method="default",
            target=point["whose"],
            coverage=held / runs,
            runs=runs,
            numbers=numbers,
        )
    ]


def _answers(kind: str, n: int, rng: np.random.Generator) -> tuple[Floats, float]:
    """Answers of standard deviation 1.5 about 18,518.5, and their mean."""
    if kind in COLUMNS:
        standard = rng.choice(_column(kind), n)
    elif kind == "normal":
        standard = rng.standard_normal(n)
    elif kind == "exponential":
        standard = rng.exponential(size=n) - 1
    elif kind == "lognormal":
        middle = math.exp(0.245)
        standard = (rng.lognormal(0, 0.7, n) - middle) / (middle * math.sqrt(math.expm1(0.49)))
    elif kind == "slight skew":
        standard = (rng.gamma(300, size=n) - 300) / math.sqrt(300)
    elif kind == "two groups":
        standard = 0.9 * np.where(rng.random(n) < 0.5, -1, 1) + math.sqrt(0.19) * rng.standard_normal(n)
    else:
        standard = np.where(rng.random(n) < 0.5, 0.0, rng.exponential(size=n)) / math.sqrt(0.75) - 1 / math.sqrt(3)
    return 18_518.5 + 1.5 * standard, 18_518.5


@lru_cache(maxsize=len(COLUMNS))
def _column(kind: str) -> Floats:
    """A real column with mean 0 and standard deviation 1."""
    import pyarrow.parquet as pq

    file, name = COLUMNS[kind]
    values = np.asarray(pq.read_table(data_file(file), columns=[name]).column(0).drop_null().to_numpy(), np.float64)
    return np.asarray((values - values.mean()) / values.std())


def shape_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Whole protocols, and what they say about the shape of the answers."""
    kind, n, rng = point["answers"], point["n"], np.random.default_rng(seed)
    protocol = _protocol(point["protocol"], n, point["epsilon"])
    made = runs * NORMAL_RUNS if kind == "normal" else runs
    held, allowed, refuted, untold = np.zeros((4, made), bool)
    for run in range(made):
        answers, mean = _answers(kind, n, rng)
        found: Estimate = simulate(protocol, answers, seed=int(rng.integers(1 << 62)))["mean"]
        shape: Any = found.evidence.shape  # type: ignore[attr-defined]
        refuted[run], untold[run] = shape.refuted, not shape.refuted and not shape.told
        low, high = found.quiet_ci(LEVEL)
        held[run] = _inside((low, high), np.array([mean])).all()
        allowed[run] = _inside((low - shape.unseen, high + shape.unseen), np.array([mean])).all()
    quiet = ~(refuted | untold)
    numbers = {"refuted": float(refuted.mean()), "untold": float(untold.mean()), "every": float(held.mean())}
    coverage, wider = (float(each[quiet].mean()) if quiet.any() else None for each in (held, allowed))
    return [
        Coverage(
            method="default",
            coverage=coverage,
            runs=int(quiet.sum()),
            numbers={**numbers, "all_runs": made, "allowed": wider},
        )
    ]


def _protocol(name: str, n: int, epsilon: float) -> Protocol:
    wide, rounds = Interval(-1_000_000, 1_000_000), 1 if name.endswith("OneRound") else 2
    if name.startswith("GaussianMeanUnknownSigma"):
        return GaussianMeanUnknownSigma(wide, "0.1", "100", epsilon, n, rounds=rounds)
    return GaussianMeanKnownSigma(wide, "1.5", epsilon, n, rounds=rounds)
