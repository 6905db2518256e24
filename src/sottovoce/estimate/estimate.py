"""An estimate: shares or a mean, standard errors, intervals, and how to show them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import late
from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.core.mechanism import Mechanism, check_same
from sottovoce.core.params import reject
from sottovoce.core.question import Mean, VectorMean
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.evidence import Bounds, Evidence
from sottovoce.estimate.remarks import outside, reach, remark
from sottovoce.tally.tally import Tally

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.shares.maximise import Fit

Floats = NDArray[np.float64]
TARGETS = ("population", "sample")


class PoorIntervalWarning(UserWarning):
    """An approximate interval is asked for where it misses clearly oftener than it promises."""


def check_target(target: str) -> None:
    """The two things an interval may be about."""
    if target not in TARGETS:
        raise reject("target", "an estimate", " or ".join(map(repr, TARGETS)), target)


def check_level(level: float) -> None:
    """A confidence level strictly between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
        raise reject("level", "ci", "a number in (0, 1)", level)


def check_tally(mechanism: Mechanism, tally: object) -> Tally:
    """A tally of this mechanism with at least one report."""
    if not isinstance(tally, Tally):
        raise ParameterError(f"An estimate is made from a tally: count the reports first. Got {type(tally).__name__}.")
    check_same(mechanism, tally.mechanism, "estimate from the tally")
    if tally.n == 0:
        raise ParameterError("An estimate needs at least one report; this tally has none.")
    return tally


@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """Unbiased shares of each code, or the mean of a number, with standard errors for the population.

    A projected estimate, or one of largest likelihood, has other values but carries the standard errors of the
    unbiased one, and its interval moved to where the truth can be. `fit` says how an iterative decoder ended,
    `simulated` that the reports were no survey: words, tables and pictures say so too.
    """

    mechanism: Mechanism
    n: int
    values: Floats
    std_errors: Floats
    evidence: Evidence
    cells: NDArray[np.int64]
    projection: str | None = None
    fit: Fit | None = None
    simulated: bool = field(default=False, kw_only=True)

    def ci(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
    ) -> Bounds:
        """Confidence intervals, one per value, by one of `evidence.methods`; by default by `default_method`.

        target "population": what holds in the population these participants were drawn from; "sample": what holds
        among these very participants, so that only the privacy noise counts. `simultaneous` makes all intervals
        hold at once (Bonferroni).
        """
        check_level(level)
        check_target(target)
        chosen = self.default_method if method is None else method
        if chosen not in self.evidence.methods:
            raise reject("method", "ci", f"one of {', '.join(self.evidence.methods)}", method)
        each = 1 - (1 - level) / max(1, len(self.values)) if simultaneous else level
        doubt = self.evidence.doubt(chosen, each)
        if doubt is not None:
            warnings.warn(doubt, PoorIntervalWarning, stacklevel=2)
        if self.projection is None:
            return self.evidence.interval(each, chosen, target)
        low, high = self.evidence.inside(each, chosen, target)
        # A projection looks at all values together, so it may leave the interval of one of them.
        shown = np.clip(self.values, *self.evidence.limits)
        return Bounds(np.minimum(low, shown), np.maximum(high, shown))

    @property
    def default_method(self) -> str:
        """Which intervals are given where none are named: those of a projected share lie in [0, 1]."""
        bounded = self.projection is not None and "bounded" in self.evidence.methods
        return "bounded" if bounded else self.evidence.default

    @property
    def value(self) -> float:
        """The estimate of a single number, such as a mean."""
        if len(self.values) != 1:
            raise ParameterError(f"This estimate has {len(self.values)} values, not one: ask for `values`.")
        return float(self.values[0])

    @property
    def labels(self) -> Sequence[object]:
        """What each value is about."""
        return self.evidence.labels(self.mechanism.domain)

    def covariance(self, *, target: str = "population") -> Floats:
        """The estimated covariance matrix of the unbiased values."""
        check_target(target)
        if len(self.values) == 1:
            return self.evidence.variances(target).reshape(1, 1)
        if isinstance(self.mechanism.question, VectorMean):
            raise NoCovarianceError(
                "A tally of vectors counts each coordinate by itself, so their covariance is unknown."
            )
        second_moments = late.load("estimate.shares.shares:second_moments")
        moments: Floats = second_moments(self.mechanism, self.n, self.cells)
        shares = self.evidence.values()
        first = np.outer(shares, shares) if target == "population" else np.diag(shares)
        result = np.asarray((moments - first) / self.n)
        np.fill_diagonal(result, self.evidence.variances(target))  # the same variances as in the intervals
        return result

    def project(self, name: str) -> Estimate:
        """A new estimate whose values are the unbiased ones projected.

        "simplex" makes them shares that sum to one; "range" moves a mean into the range of the answers.
        """
        return replace(self, values=self.evidence.project(name), projection=name, fit=None)

    def to_frame(
        self,
        level: float = 0.95,
        *,
        method: str | None = None,
        target: str = "population",
        simultaneous: bool = False,
    ) -> pd.DataFrame:
        """A table: value, estimate, standard error and interval for the target; of a simulation one column more.

        `attrs["remark"]` is `remark`.
        """
        import pandas as pd

        low, high = self.ci(level, method=method, target=target, simultaneous=simultaneous)
        mark = {COLUMN: True} if self.simulated else {}
        frame = pd.DataFrame(
            {
                "value": list(self.labels),
                "estimate": self.values,
                "std_error": np.sqrt(self.evidence.variances(target)),
                "low": low,
                "high": high,
                **mark,
            }
        )
        frame.attrs["remark"] = self.remark(Bounds(low, high), target=target)
        return frame

    def remark(self, bounds: Bounds, *, target: str = "population") -> str | None:
        """One sentence where an estimate, or one of these intervals of it, lies where the truth cannot be."""
        return remark(self, bounds, target=target)

    def plot(self, level: float = 0.95, *, axes: Any = None) -> Any:
        """Estimates with their intervals on Matplotlib axes."""
        return late.load("estimate.plot:plot")(self, level, axes)

    def explain(self, level: float = 0.95) -> str:
        """What these numbers are, in words."""
        return in_words(self._explained(level), self.simulated)

    def _explained(self, level: float) -> str:
        low, high = self.ci(level)
        top = int(np.argmax(self.values))
        kind = "unbiased" if self.projection is None else f"projected ({self.projection})"
        if self.fit is not None:
            kind = f"those of largest likelihood ({self.projection})"
        start = (
            f"{self.n} participants answered through {self.mechanism.name}; nobody's answer can be told from one report"
            f" with odds better than e^{self.mechanism.epsilon:.4g} = {np.exp(self.mechanism.epsilon):.3g} to 1 against"
            f" any other answer."
        )
        if isinstance(self.mechanism.question, Mean):
            bottom, ceiling = self.evidence.limits
            return (
                f"{start} The estimate of their mean is {kind}: {self.values[0]:.6g} on a scale from {bottom:g} to"
                f" {ceiling:g}, with a standard error of {self.std_errors[0]:.2g} ({level:.0%} {self.evidence.default}"
                f" interval from {low[0]:.6g} to {high[0]:.6g} for the population)."
            )
        if isinstance(self.mechanism.question, VectorMean):
            return (
                f"{start} The estimates of the means of {len(self.values)} coordinates are {kind}; the standard error"
                f" of one is about {np.median(self.std_errors):.2g}. Intervals hold for one coordinate at a time, with"
                " simultaneous=True for all at once."
            )
        note = self.remark(Bounds(low, high))
        return (
            f"{start} The estimates are {kind}; the standard error of a share is about"
            f" {np.median(self.std_errors):.2g}. The most frequent value is {self.labels[top]!r} with an estimated"
            f" share of {self.values[top]:.4f} ({level:.0%} interval from {low[top]:.4f} to {high[top]:.4f} for the"
            f" population).{'' if note is None else ' ' + note}"
        )

    def __repr__(self) -> str:
        kind = (f", projection={self.projection!r}" if self.projection else "") + ", simulation" * self.simulated
        noise = f", {count} outside {reach(self)} by noise" if (count := outside(self)) else ""
        return f"{type(self).__name__}({self.mechanism.name}, n={self.n}, {len(self.values)} values{kind}{noise})"
