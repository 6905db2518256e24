"""The statistical tests: one false-alarm rate for all of them, that of the audit."""

from __future__ import annotations

from scipy import stats

from sottovoce.privacy.audit import ALPHA

__all__ = ["ALPHA", "binomial_rejects", "check_rate"]


def binomial_rejects(count: int, n: int, rate: float) -> bool:
    """Whether a count refutes a rate. A right rate is refuted with probability at most `ALPHA`."""
    return bool(stats.binomtest(count, n, rate).pvalue < ALPHA)


def check_rate(what: str, count: int, n: int, rate: float) -> None:
    """Fail where a count refutes its rate, or could not have refuted one that is 30 % off."""
    if binomial_rejects(count, n, rate):
        raise AssertionError(
            f"{what}: {count} of {n} against a rate of {rate:.6g}. A right rate gives this alarm with probability"
            f" below {ALPHA:g}."
        )
    wrong = rate * 1.3 if rate * 1.3 < 1 else rate * 0.7
    if not binomial_rejects(count, n, wrong):
        raise AssertionError(f"{what}: {n} reports cannot tell a rate of {rate:.6g} from {wrong:.6g}; take more.")
