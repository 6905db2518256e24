"""Intervals and standard errors of quantiles where the domain states its step, beside what any interval needs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.special import ndtr

from sottovoce.core.domain import Interval
from sottovoce.core.registry import mechanism
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.tally.laws import law_row
from sottovoce.tally.tally import Tally
from sottovoce_experiments.coverage.distributions.heaped import SHARES, crowd_of
from sottovoce_experiments.coverage.study import LEVEL, Coverage

Floats = NDArray[np.float64]
STEPS = {"smooth": "0.01", "loans": "1000", "half at 40": "1", "both ends": "1", "hours of work": "1"}
ONE_SIDED = 1.6448536269514722  # the normal quantile of 95 %
HEAVY = 1e4  # weight of an equation beside the others, in least squares
TOLD_APART = 6.0  # standard errors from which on an answer adds nothing to the least length


def steps_cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Coverage]:
    """Three quantiles: how often intervals hold them, how wide they are, and what standard errors say."""
    low, high, answers = crowd_of(point["crowd"])
    step = STEPS[point["crowd"]]
    method = mechanism(point["mechanism"], Interval(low, high, step=step), epsilon=point["epsilon"])
    codes = np.rint((answers - low) / float(step)).astype(int)
    truth = np.quantile(codes, SHARES, method="inverted_cdf")
    laws = np.array([law_row(method.channel, code) for code in range(method.channel.inputs)])
    shares = np.bincount(codes, minlength=len(laws)) / len(codes)
    rates, rng, n = shares @ laws, np.random.default_rng(seed), point["n"]
    judged = []
    for _ in range(runs):
        asked = method.estimate(Tally(method, n, rng.multinomial(n, rates / rates.sum()))).quantile(list(SHARES))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoorIntervalWarning)
            limits = asked.ci(LEVEL)
        in_steps = [(np.asarray(one) - low) / float(step) for one in (asked.values, *limits)]
        judged.append([*in_steps, asked.std_errors / float(step)])
    values, lows, highs, errors = np.moveaxis(np.array(judged), 1, 0)
    least = [least_answers(laws, shares, n, part, int(place)) for part, place in zip(SHARES, truth, strict=True)]
    return [
        _coverage(part, (values[:, k], lows[:, k], highs[:, k], errors[:, k]), truth[k], least[k])
        for k, part in enumerate(SHARES)
    ]


def _coverage(part: float, judged: tuple[Floats, Floats, Floats, Floats], truth: float, least: float) -> Coverage:
    """One quantile in all runs, in steps; an answer takes up a step, half of it on each side."""
    values, low, high, errors = judged
    away, room = np.abs(truth - values) + 0.5, np.where(truth >= values, high - values, values - low) + 0.5
    off = float(np.sqrt(np.mean((values - truth) ** 2)))
    told = off >= 1  # below a step the estimate is mostly right, or next to it
    numbers = {
        "factor": float(1 / np.quantile(away / room, LEVEL)),
        "answers": float(np.mean(high - low + 1)),
        "of least": float(np.mean(high - low + 1)) / least,
        "error": float(np.sqrt(np.mean(errors**2))) / off if told else None,
        "spread": float(np.quantile(errors, 0.975) / np.quantile(errors, 0.025)) if told else None,
    }
    held = float(np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)))
    return Coverage(of=f"{100 * part:g} %", method="normal", coverage=held, runs=len(values), numbers=numbers)


def least_answers(laws: Floats, shares: Floats, n: int, part: float, place: int) -> float:
    """How many answers an interval of a quantile holds at least, on average, if it covers 95 % whatever people answer.

    A wrong answer must be in the interval as often as reports of these shares look like those of shares whose quantile
    it is. The nearest such shares, in standard errors of the reports, are a problem of least squares, and the test of
    Neyman and Pearson says how often they are told apart. Reports are taken to be normal.
    """
    rates = shares @ laws
    weighed = (laws / np.sqrt(np.maximum(rates, 1e-300))).T * np.sqrt(n)
    target = weighed @ shares
    triangle = np.asarray(np.linalg.qr(np.column_stack([weighed, target]), mode="r"))
    matrix, aim = triangle[:, :-1], triangle[:, -1]
    total = 1.0  # the quantile itself, nearly always
    for side in (-1, 1):
        at = place + side
        while 0 <= at < len(shares):
            last = at if side < 0 else at - 1  # up to here they have the part of the answers, or less than that
            upto = np.arange(len(shares)) <= last
            rows = np.vstack([matrix, HEAVY * np.ones(len(shares)), HEAVY * upto])
            _, away = nnls(rows, np.concatenate([aim, [HEAVY, HEAVY * part]]), maxiter=100 * len(shares))
            if away > TOLD_APART:
                break
            total += float(ndtr(ONE_SIDED - away))
            at += side
    return total - 1 + float(LEVEL)
