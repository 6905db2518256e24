"""Two estimates of one question from different people: A/B tests, two waves, two regions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from sottovoce.core.errors import NoCovarianceError, ParameterError
from sottovoce.core.language.display import card, printable
from sottovoce.core.language.plural import plural
from sottovoce.core.params import reject
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.comparison.chi_square import homogeneity
from sottovoce.estimate.comparison.multiple import adjust, check_correction
from sottovoce.estimate.comparison.test import Effect, Test, shown_p
from sottovoce.estimate.comparison.watched import watched_tests
from sottovoce.estimate.estimate import LINEAR, Estimate
from sottovoce.estimate.evidence import Bounds, Floats, deviate
from sottovoce.estimate.request import Method, Target, check_level
from sottovoce.estimate.sources import EstimateSource

if TYPE_CHECKING:
    import pandas as pd

FARTHEST = 7.0  # standard normal deviates; smaller p-values are not told apart
GRID = np.linspace(0, FARTHEST, 71)  # between which the reach of intervals is interpolated
DIFFERENT_PEOPLE = "nobody is in both samples, and each person was put into one without looking at the answer."
SAME_PEOPLE = (
    "Estimates from the same people cannot be compared as two samples: their errors are correlated. Ask each person in"
    " one of the two samples only."
)


def compare(
    a: Estimate, b: Estimate, *, people: str = "different", method: str | None = None, target: str = "population"
) -> Comparison:
    """Compare two estimates of the same question from different people.

    Valid only if nobody is in both samples: the arms of an experiment, two regions, or two waves of different people.

    Args:
        a: The first estimate, such as that of the new version.
        b: The estimate it is compared with, such as that of the old version.
        people: "different" states that nobody is in both; "same" is refused.
        method: Interval method of the two estimates. By default the score interval where there is one, else their
            default; "anytime" holds while an experiment is watched.
        target: "population", or "sample" for the difference between these participants themselves.

    Returns:
        A `Comparison`: differences a less b with intervals, p-values, ratios, equivalence and adjusted p-values.

    Raises:
        ParameterError: The estimates answer different questions, or a difference of their values means nothing.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["lark", "owl"]), epsilon=1)
        >>> new = m.estimate(sv.simulate_counts(m, [6_000, 4_000], seed=1))
        >>> old = m.estimate(sv.simulate_counts(m, [5_000, 5_000], seed=2))
        >>> low, high = sv.compare(new, old).ci()
        >>> print(f"{low[0]:.2f} to {high[0]:.2f}")
        0.07 to 0.13

    See also:
        `combine` for several tallies of one population, `TestOf` for the number of people a test needs.
    """
    for one in (a, b):
        if not isinstance(one, Estimate):
            raise ParameterError(f"compare needs two estimates: use m.estimate(tally). Got {type(one).__name__}.")
    if people != "different":
        raise ParameterError(SAME_PEOPLE) if people == "same" else reject("people", "compare", "'different'", people)
    if a.question.kind != b.question.kind or [*map(repr, a.labels)] != [*map(repr, b.labels)]:
        if (a.question.kind, len(a.labels)) == (b.question.kind, len(b.labels)):
            raise ParameterError(
                f"compare needs two estimates of the same values. Both have {len(a.labels)} values of a"
                f" {a.evidence.noun}, but with other labels; state the categories or the range, the same for both."
            )
        raise ParameterError(
            f"compare needs two estimates of the same question. Got a {a.evidence.noun} with {len(a.labels)} values and"
            f" a {b.evidence.noun} with {len(b.labels)}; `a.answer(question)` reads another question from the same"
            " reports."
        )
    if not a.question.has_differences:
        raise ParameterError(
            f"Two estimates of a {a.evidence.noun} cannot be subtracted: directions on a circle have no difference with"
            " a sign. Compare shares of ranges of the circle instead."
        )
    return Comparison(a, b, Target.of(target), _method(a, b, method))


def _method(a: Estimate, b: Estimate, method: str | None) -> Method | None:
    """The method of the intervals of both; None for the default of each."""
    known = [one for one in a.evidence.methods if one in b.evidence.methods]
    if method is not None:
        return Method.of(method, known, "compare")
    return Method.WILSON if Method.WILSON in known else None


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Differences between two estimates from different people: a less b, one for each value.

    Intervals of a difference are recovered from those of both estimates (MOVER), so that they are as good as these for
    small samples; p-values invert them: a p-value is below 1 - level exactly if the interval leaves out zero.
    """

    a: Estimate
    b: Estimate
    target: Target
    method: Method | None = None
    simulated: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "simulated", self.a.simulated or self.b.simulated)

    # --- numbers -----------------------------------------------------------------------------------
    @property
    def labels(self) -> Sequence[object]:
        """The label of each difference."""
        return self.a.labels

    @property
    def values(self) -> Floats:
        """The unbiased differences."""
        return np.asarray(self.a.evidence.values() - self.b.evidence.values())

    @property
    def value(self) -> float:
        """The difference of a single number, such as a mean."""
        if len(self.labels) != 1:
            raise ParameterError(f"This comparison has {len(self.labels)} differences, not one: use `values`.")
        return float(self.values[0])

    @property
    def std_errors(self) -> Floats:
        """Standard errors of the differences."""
        return np.asarray(np.sqrt(self.a.evidence.variances(self.target) + self.b.evidence.variances(self.target)))

    @property
    def sources(self) -> tuple[EstimateSource, ...]:
        """The mechanisms of both estimates, with the number of reports of each."""
        return (*self.a.sources, *self.b.sources)

    def ci(self, level: float = 0.95, *, simultaneous: bool = False) -> Bounds:
        """Intervals of the differences; `simultaneous` makes all of them hold at once (Bonferroni)."""
        check_level(level)
        return self._interval(1 - (1 - level) / max(1, len(self.labels)) if simultaneous else level)

    def _interval(self, level: float) -> Bounds:
        if self.method == Method.ANYTIME:  # both hold at all times, so that their difference does
            first, second = (self._single(one, (1 + level) / 2) for one in (self.a, self.b))
            return Bounds(first.low - second.high, first.high - second.low)
        first, second = (self._single(one, level) for one in (self.a, self.b))
        one, other, values = self.a.evidence.values(), self.b.evidence.values(), self.values
        below = np.hypot(one - first.low, second.high - other)
        above = np.hypot(first.high - one, other - second.low)
        return Bounds(values - below, values + above)

    def _single(self, one: Estimate, level: float) -> Bounds:
        """The interval of one estimate, around its unbiased values."""
        unbiased = replace(one, values=one.evidence.values(), decoder=LINEAR, fit=None)
        method = self.method
        if method == Method.WILSON and self.target == Target.SAMPLE:
            method = None
        return unbiased.quiet_ci(level, method=method, target=self.target)

    @property
    def p_values(self) -> Floats:
        """Two-sided p-values of no difference, one for each value: the levels whose intervals end at zero."""
        gaps = self.values
        below, above = self._reached(np.maximum(gaps, 0), np.maximum(-gaps, 0))
        return np.asarray(2 * ndtr(-np.where(gaps >= 0, below, above)))

    @property
    def p_value(self) -> float:
        """The two-sided p-value of a single difference."""
        return float(self.p_values[0]) if math.isfinite(self.value) else math.nan

    def _reached(self, below: Floats, above: Floats) -> tuple[Floats, Floats]:
        """The normal deviates at whose levels the intervals reach so far below and above the differences."""
        values = self.values

        def reach(z: float) -> Bounds:
            if z == 0:
                return Bounds(np.zeros(len(values)), np.zeros(len(values)))
            low, high = self._interval(float(2 * ndtr(z) - 1))
            return Bounds(values - low, high - values)

        return _deviates(reach, below, above)

    def adjusted(self, correction: str = "holm") -> Floats:
        """P-values adjusted for many comparisons: "holm", "bonferroni" or "fdr"."""
        return adjust(self.p_values, check_correction(correction, "adjusted"))

    def ratio(self, level: float = 0.95) -> tuple[Floats, Bounds]:
        """The ratios a / b with Fieller intervals, which are unbounded where b may be zero."""
        check_level(level)
        one, other = self.a.evidence.values(), self.b.evidence.values()
        spread, below = (item.evidence.variances(self.target) for item in (self.a, self.b))
        z2 = deviate(level) ** 2
        denominator = other**2 - z2 * below
        with np.errstate(divide="ignore", invalid="ignore"):
            root = np.sqrt(np.maximum((one * other) ** 2 - denominator * (one**2 - z2 * spread), 0))
            low, high = (one * other - root) / denominator, (one * other + root) / denominator
            known = denominator > 0
            limits = Bounds(np.where(known, low, -np.inf), np.where(known, high, np.inf))
            if float(np.min(self.a.evidence.limits[0])) >= 0:
                limits = Bounds(np.maximum(limits.low, 0.0), limits.high)
            return np.where(other != 0, one / other, np.nan), limits

    def change(self, level: float = 0.95) -> tuple[Floats, Bounds]:
        """Percentage changes from b to a, with Fieller intervals."""
        ratio, (low, high) = self.ratio(level)
        return 100 * (ratio - 1), Bounds(100 * (low - 1), 100 * (high - 1))

    def equivalence(self, margin: float) -> Floats:
        """P-values that a difference is at least `margin` in size (two one-sided tests).

        A small one shows equivalence: the true difference lies between -margin and margin.
        """
        if isinstance(margin, bool) or not isinstance(margin, (int, float)) or not 0 < margin < math.inf:
            raise reject("margin", "equivalence", "a positive number", margin)

        # The interval of level 1 - 2 alpha lies inside the margins exactly if both one-sided tests reject at alpha.
        below, above = margin + self.values, margin - self.values
        deviates = np.minimum(*self._reached(np.maximum(below, 0), np.maximum(above, 0)))
        return np.where(np.minimum(below, above) > 0, ndtr(-deviates), 1.0)

    # --- tests -------------------------------------------------------------------------------------
    def watched(self) -> tuple[Test, ...]:
        """One test for each difference that may be looked at after every report, and stop the experiment: e-values."""
        hypotheses = [self._hypothesis(label) for label in self.labels]
        return watched_tests(self.a, self.b, hypotheses, DIFFERENT_PEOPLE)

    def tests(self, level: float = 0.95) -> tuple[Test, ...]:
        """A `Test` of each difference."""
        low, high = self.ci(level)
        rows = zip(self.labels, self.values, self.std_errors, self.p_values, low, high, strict=True)
        return tuple(
            Test(
                self._hypothesis(label),
                float(value / error) if error > 0 else math.inf,
                float(p_value),
                effect=Effect("difference", float(value), float(start), float(end), level),
                valid_given=DIFFERENT_PEOPLE,
                sources=self.sources,
                simulated=self.simulated,
            )
            for label, value, error, p_value, start, end in rows
        )

    def _hypothesis(self, label: object) -> str:
        named = f" of {printable(label)}" if len(self.labels) > 1 else ""
        return f"The {self.a.evidence.noun}{named} is the same in both populations."

    def overall(self) -> Test:
        """One test that nothing differs: chi-square for shares, else the smallest p-value times their number."""
        try:
            return homogeneity([self.a, self.b])
        except (NoCovarianceError, ParameterError):
            p_values = self.p_values
            smallest = int(np.argmin(p_values))
            single = self.tests()[smallest]
            hypothesis = f"Every {self.a.evidence.noun} is the same in both populations."
            return replace(single, hypothesis=hypothesis, p_value=float(min(1.0, len(p_values) * p_values[smallest])))

    # --- showing -----------------------------------------------------------------------------------
    def to_frame(self, level: float = 0.95, *, correction: str = "holm", simultaneous: bool = False) -> pd.DataFrame:
        """A table: both estimates, difference, standard error, interval, p-value and adjusted p-value."""
        import pandas as pd

        low, high = self.ci(level, simultaneous=simultaneous)
        labels = dict(zip(self.a.axes.headings, self.a.axes.columns(), strict=True))
        numbers = {
            "a": self.a.evidence.values(),
            "b": self.b.evidence.values(),
            "difference": self.values,
            "std_error": self.std_errors,
            "low": low,
            "high": high,
            "p_value": self.p_values,
            "adjusted": self.adjusted(correction),
        }
        return pd.DataFrame({**labels, **numbers, **({COLUMN: True} if self.simulated else {})})

    def explain(self, level: float = 0.95) -> str:
        """The comparison in words."""
        low, high = self.ci(level)
        noun, p_values = self.a.evidence.noun, self.p_values
        if len(self.labels) == 1:
            text = (
                f"The {noun} of the first sample less that of the second is {self.values[0]:.4g} ({level:.0%} interval"
                f" from {low[0]:.4g} to {high[0]:.4g}; p = {shown_p(float(p_values[0]))})."
            )
        else:
            clear = int((self.adjusted("holm") < 1 - level).sum())
            count = plural(len(self.labels), "difference", ",")
            text = f"Of {count} of a {noun}, {clear:,} cannot be explained by chance (Holm, level {level:.0%})."
        return in_words(f"{text} This assumes that {DIFFERENT_PEOPLE}", self.simulated)

    def __repr__(self) -> str:
        count = plural(len(self.labels), "difference", ",")
        return f"Comparison({count} of a {self.a.evidence.noun}{', simulation' * self.simulated})"

    def _repr_html_(self) -> str:
        return card("Comparison", notes=[self.explain()])


def _deviates(reach: Callable[[float], Bounds], below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """The deviates z at which `reach(z)`, which rises and is nearly linear, equals the gaps on either side."""
    if len(below) == 1:  # a root is found in a few steps
        known = lru_cache(None)(reach)
        return (
            np.array([deviate_reaching(lambda z: float(known(z).low[0]), float(below[0]))]),
            np.array([deviate_reaching(lambda z: float(known(z).high[0]), float(above[0]))]),
        )
    reached = [reach(z) for z in GRID]
    return (
        _interpolated(np.stack([one.low for one in reached]), below),
        _interpolated(np.stack([one.high for one in reached]), above),
    )


def _interpolated(reached: Floats, gaps: Floats) -> Floats:
    """Where on the grid each column reaches its gap."""
    return np.array([np.interp(gap, column, GRID) for gap, column in zip(gaps, reached.T, strict=True)])


def deviate_reaching(reach: Callable[[float], float], gap: float) -> float:
    """The deviate z, at most `FARTHEST`, at which `reach(z)` equals a gap."""
    if gap <= 0:
        return 0.0
    return FARTHEST if reach(FARTHEST) < gap else float(brentq(lambda z: reach(z) - gap, 0.0, FARTHEST, xtol=1e-6))
