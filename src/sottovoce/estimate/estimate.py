"""An estimate: shares, standard errors, intervals, and how to show them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.estimate.evidence import Bounds, Evidence
from sottovoce.estimate.project import project

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.maximise import Fit

Floats = NDArray[np.float64]
METHODS = ("exact", "wilson", "normal")
TARGETS = ("population", "sample")


class PoorIntervalWarning(UserWarning):
    """The normal approximation is asked for where it does not hold."""


def check_target(target: str) -> None:
    """The two things an interval may be about."""
    if target not in TARGETS:
        raise reject("target", "an estimate", " or ".join(map(repr, TARGETS)), target)


def check_level(level: float) -> None:
    """A confidence level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise reject("level", "ci", "a number in (0, 1)", level)


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Unbiased shares of each code with standard errors for the population.

    A projected estimate, or one of largest likelihood, has other values but carries the standard errors of the
    unbiased one, and its interval cut to [0, 1]. `fit` says how an iterative decoder ended.
    """

    mechanism: Mechanism
    n: int
    values: Floats
    std_errors: Floats
    evidence: Evidence
    cells: NDArray[np.int64]
    projection: str | None = None
    fit: Fit | None = None

    def ci(
        self,
        level: float = 0.95,
        *,
        method: str = "exact",
        target: str = "population",
        simultaneous: bool = False,
    ) -> Bounds:
        """Confidence intervals, one per code.

        target "population": the share in the population these participants were drawn from; "sample": the share
        among these very participants, so that only the privacy noise counts. `simultaneous` makes all intervals
        hold at once (Bonferroni).
        """
        check_level(level)
        check_target(target)
        if method not in METHODS:
            raise reject("method", "ci", f"one of {', '.join(METHODS)}", method)
        if method == "wilson" and target == "sample":
            raise ParameterError("The Wilson interval is about the population; for the sample ask for 'exact'.")
        each = 1 - (1 - level) / len(self.values) if simultaneous else level
        if method == "exact":
            bounds = self.evidence.exact(each, target)
        elif method == "wilson":
            bounds = self.evidence.wilson(each)
        else:
            self._warn_if_poor()
            bounds = self.evidence.normal(each, target)
        if self.projection is None:
            return bounds
        return Bounds(np.clip(bounds.low, 0, 1), np.clip(bounds.high, 0, 1))

    def _warn_if_poor(self) -> None:
        poor = self.evidence.normal_is_poor()
        if poor.any():
            warnings.warn(
                f"The normal interval is poor for {int(poor.sum())} of {len(poor)} values: too few reports are expected"
                " on one side. The exact interval holds.",
                PoorIntervalWarning,
                stacklevel=3,
            )

    def covariance(self, *, target: str = "population") -> Floats:
        """The estimated covariance matrix of the unbiased shares."""
        check_target(target)
        second_moments = late.load("estimate.frequency:second_moments")
        moments: Floats = second_moments(self.mechanism, self.n, self.cells)
        shares = self.evidence.values()
        first = np.outer(shares, shares) if target == "population" else np.diag(shares)
        result = np.asarray((moments - first) / self.n)
        np.fill_diagonal(result, self.evidence.variances(target))  # the same variances as in the intervals
        return result

    def project(self, name: str) -> Estimate:
        """A new estimate whose values are the unbiased ones projected; "simplex" makes them shares that sum to one."""
        return replace(self, values=project(name, self.evidence), projection=name, fit=None)

    def to_frame(
        self,
        level: float = 0.95,
        *,
        method: str = "exact",
        target: str = "population",
        simultaneous: bool = False,
    ) -> pd.DataFrame:
        """A table: value, estimate, standard error and interval for the target."""
        import pandas as pd

        low, high = self.ci(level, method=method, target=target, simultaneous=simultaneous)
        return pd.DataFrame(
            {
                "value": list(self.mechanism.domain.labels()),
                "estimate": self.values,
                "std_error": np.sqrt(self.evidence.variances(target)),
                "low": low,
                "high": high,
            }
        )

    def plot(self, level: float = 0.95, *, axes: Any = None) -> Any:
        """Estimates with their intervals on Matplotlib axes."""
        return late.load("estimate.plot:plot")(self, level, axes)

    def explain(self, level: float = 0.95) -> str:
        """What these numbers are, in words."""
        low, high = self.ci(level)
        top = int(np.argmax(self.values))
        label = self.mechanism.domain.labels()[top]
        kind = "unbiased" if self.projection is None else f"projected ({self.projection})"
        if self.fit is not None:
            kind = f"those of largest likelihood ({self.projection})"
        return (
            f"{self.n} participants answered through {self.mechanism.name}; nobody's answer can be told from one report"
            f" with odds better than e^{self.mechanism.epsilon:.4g} = {np.exp(self.mechanism.epsilon):.3g} to 1 against"
            f" any other answer. The estimates are {kind}; the standard error of a share is about"
            f" {np.median(self.std_errors):.2g}. The most frequent value is {label!r} with a share of"
            f" {self.values[top]:.4f} ({level:.0%} interval from {low[top]:.4f} to {high[top]:.4f} for the population)."
        )

    def __repr__(self) -> str:
        kind = f", projection={self.projection!r}" if self.projection else ""
        return f"Estimate({self.mechanism.name}, n={self.n}, {len(self.values)} values{kind})"
