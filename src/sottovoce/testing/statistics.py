"""The statistical tests: one false-alarm rate for all of them, that of the audit."""

from __future__ import annotations

import math

from scipy import stats

from sottovoce.privacy.drawn import ALPHA

__all__ = ["ALPHA", "binomial_rejects", "check_mean", "check_rate", "reports_for_mean"]


def binomial_rejects(count: int, n: int, rate: float) -> bool:
    """Whether a count refutes a rate. A right rate is refuted with probability at most `ALPHA`."""
    return bool(stats.binomtest(count, n, rate).pvalue < ALPHA)


def check_rate(what: str, count: int, n: int, rate: float) -> None:
    """Fail if a count refutes its rate, or could not refute one that is 30 % off."""
    if binomial_rejects(count, n, rate):
        raise AssertionError(
            f"{what}: {count} of {n} against a rate of {rate:.6g}. A right rate gives this alarm with probability"
            f" below {ALPHA:g}."
        )
    wrong = rate * 1.3 if rate * 1.3 < 1 else rate * 0.7
    if not binomial_rejects(count, n, wrong):
        raise AssertionError(f"{what}: {n} reports are too few to distinguish a rate of {rate:.6g} from {wrong:.6g}.")


def mean_bound(n: int, variance: float, reach: float) -> float:
    """How far a mean of n may be from the truth, by Bernstein: farther with probability at most `ALPHA`."""
    log_term = math.log(2 / ALPHA) / n
    return reach * log_term / 3 + math.sqrt((reach * log_term / 3) ** 2 + 2 * variance * log_term)


def reports_for_mean(variance: float, reach: float, off: float) -> int:
    """How many reports distinguish a mean from one that is `off`: then both bounds together are less than that."""
    half = 0.49 * off
    return math.ceil(math.log(2 / ALPHA) * 2 * (variance + reach * half / 3) / half**2)


def check_mean(what: str, mean: float, n: int, truth: float, variance: float, reach: float, off: float) -> None:
    """Fail if a mean refutes its law, or could not refute one that is `off`."""
    bound = mean_bound(n, variance, reach)
    if not abs(mean - truth) <= bound:
        raise AssertionError(
            f"{what}: {mean:.6g} of {n} against {truth:.6g}. A right mean gives this alarm with probability below"
            f" {ALPHA:g}."
        )
    if min(abs(mean - truth - off), abs(mean - truth + off)) <= bound:
        raise AssertionError(
            f"{what}: {n} reports are too few to distinguish a mean of {truth:.6g} from one that is {off:.3g} off."
        )
