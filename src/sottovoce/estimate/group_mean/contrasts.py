"""Differences between groups: one, all pairs at once, and a test that there are none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import chdtrc, ndtr, ndtri

from sottovoce.core import late
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.core.language.display import card, printable
from sottovoce.core.language.plural import plural
from sottovoce.core.params import check_decimal, reject
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.comparison.multiple import adjust, check_correction
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.evidence import Bounds, Floats, Ints, deviate
from sottovoce.estimate.group_mean.equal_means import PairTests, equality_statistic
from sottovoce.estimate.group_mean.law import Blocks, Totals
from sottovoce.estimate.group_mean.ratio import NOT_ESTIMABLE
from sottovoce.estimate.request import IntervalRequest, Method, Target, check_level
from sottovoce.estimate.show.tables import intervals_sentence, latex, markdown, methods_sentence, printed
from sottovoce.estimate.sources import EstimateSource

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.group_mean.evidence import GroupMeansEvidence

MAX_PAIRS = 1 << 13
MAX_TESTED = 1 << 9  # groups in a test of equality
SMALLEST_P = 1e-300  # of a statistic: the deviate of a p-value of zero is infinite
ENOUGH = "reports of different people, and enough of them that sums over groups are nearly normal."
ROUNDING = 1e-9  # of the variances of two means, that of their difference must exceed


def mean_covariances(totals: Totals, blocks: Blocks, rows: Ints, columns: Ints) -> Floats:
    """Covariances of the means of groups (rows, columns), to first order."""
    divisors = np.where(totals.sizes == 0, 1.0, totals.sizes)  # a group of size zero is never shown
    m = totals.sums / divisors
    sizes, right, left, sums = blocks.at(rows, columns)
    residuals = sums - m[rows] * right - m[columns] * left + m[rows] * m[columns] * sizes
    return np.asarray(residuals / (divisors[rows] * divisors[columns]))


class GroupComparison:
    """Differences of means: their methods sentence and picture."""

    simulated: bool
    sources: tuple[EstimateSource, ...]
    __slots__ = ()

    def _sentence(self, what: str, about: list[str]) -> str:
        """How numbers were made, for a paper."""
        return methods_sentence(what, sum(source.n for source in self.sources), self.sources, about, self.simulated)

    def _picture(self, table: pd.DataFrame, about: str, axes: Any) -> Any:
        return late.load("estimate.show.plot:plot_differences")(self, table, about, axes)

    def _test(self, group: object, other: object, effect: Effect, p_value: float, adjusted: str = "") -> Test:
        """The test that two groups have the same number; its statistic is the normal deviate of the p-value."""
        about = {"sources": self.sources, "simulated": self.simulated}
        score = float(np.copysign(-ndtri(max(p_value, SMALLEST_P) / 2), effect.value))
        said = f"Groups {printable(group)} and {printable(other)} have the same number."
        return Test(said, score, p_value, effect=effect, valid_given=f"{ENOUGH}{adjusted}", **about)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, eq=False)
class Difference(GroupComparison):
    """The mean of `group` less that of `other`.

    The "fieller" interval holds all differences that the test does not reject, so that the p-value is below 1 - level
    exactly if the interval leaves out zero. It ends at the largest possible differences. "delta" takes the variance at
    the estimates, and ignores that the groups were selected to be shown.
    """

    group: object
    other: object
    value: float
    std_error: float
    target: Target
    means: tuple[float, float]
    tests: PairTests
    simulated: bool = field(default=False, kw_only=True)
    sources: tuple[EstimateSource, ...] = field(default=(), kw_only=True)

    def ci(self, level: float = 0.95, *, method: str = "fieller") -> tuple[float, float]:
        """The interval of the difference."""
        check_level(level)
        if _check_method(method) == Method.DELTA:
            half = deviate(level) * self.std_error
            return self.value - half, self.value + half
        low, high = self.tests.intervals(np.array([self.value]), level)
        return float(low[0]), float(high[0])

    def holds(self, difference: float, level: float = 0.95, *, method: str = "fieller") -> bool:
        """Whether this difference is not rejected; faster than computing the interval."""
        check_level(level)
        if _check_method(method) == Method.DELTA:
            return bool(abs(self.value - difference) <= deviate(level) * self.std_error)
        return bool(self.tests.p_values_at(np.array([difference]))[0] >= 1 - level)

    @property
    def p_value(self) -> float:
        """The two-sided p-value of the hypothesis that there is no difference."""
        return float(self.tests.p_values(np.array([self.value]))[0])

    @property
    def order_probability(self) -> float:
        """The probability that the group with the larger estimate has the larger mean, if both orders were as likely.

        It is one less half the p-value: the posterior probability of the sign under a flat prior.
        """
        return 1 - self.p_value / 2

    def test(self, level: float = 0.95) -> Test:
        """Test that both groups have the same mean; the effect has the interval of this level."""
        low, high = self.ci(level)
        return self._test(self.group, self.other, Effect("difference", self.value, low, high, level), self.p_value)

    def explain(self, level: float = 0.95) -> str:
        """The difference in words."""
        low, high = self.ci(level)
        text = (
            f"The mean of group {self.group!r} less that of group {self.other!r} is {self.value:.6g} ({level:.0%}"
            f" interval from {low:.6g} to {high:.6g} for the {self.target}; p = {self.p_value:.2g})."
        )
        return in_words(text, self.simulated)

    def to_frame(self, level: float = 0.95, *, method: str = "fieller") -> pd.DataFrame:
        """A table of one row, with the columns that one pair of `Pairs.to_frame` has."""
        import pandas as pd

        low, high = self.ci(level, method=method)
        names = {"group": self.group, "other": self.other}
        numbers = {"difference": self.value, "std_error": self.std_error, "p_value": self.p_value}
        mark = {COLUMN: True} if self.simulated else {}
        return pd.DataFrame([{**names, **numbers, "low": low, "high": high, **mark}])

    def plot(self, level: float = 0.95, *, method: str = "fieller", axes: Any = None) -> Any:
        """The difference with its interval on Matplotlib axes, beside the line of no difference."""
        check_level(level)
        about = f"{100 * level:g} % {method} interval, p = {self.p_value:.2g}"
        return self._picture(self.to_frame(level, method=method), about, axes)

    def methods_sentence(self, level: float = 0.95, *, method: str = "fieller") -> str:
        """How this number was made, for a paper."""
        check_level(level)
        request = IntervalRequest(level, _check_method(method), self.target)
        about = [intervals_sentence(request), "The p-value is two-sided."]
        return self._sentence("difference between the means of two groups", about)

    def to_markdown(self, level: float = 0.95, *, method: str = "fieller") -> str:
        """The table in Markdown, with `methods_sentence` below it."""
        return markdown(printed(self.to_frame(level, method=method)), self.methods_sentence(level, method=method))

    def to_latex(self, level: float = 0.95, *, method: str = "fieller") -> str:
        """The table in LaTeX, with `methods_sentence` as its caption."""
        return latex(printed(self.to_frame(level, method=method)), self.methods_sentence(level, method=method))

    def __repr__(self) -> str:
        names = f"{printable(self.group)} less {printable(self.other)}"
        return f"Difference({names}, {self.value:.6g}, std_error={self.std_error:.2g}{', simulation' * self.simulated})"

    def _repr_html_(self) -> str:
        title = f"Difference: {printable(self.group)} less {printable(self.other)}"
        table = printed(self.to_frame())
        notes = [intervals_sentence(IntervalRequest(0.95, Method.FIELLER, self.target))]
        return card(title, table=(table.header, table.rows), notes=notes, simulated=self.simulated)


def _check_method(method: str) -> Method:
    if method not in (Method.FIELLER, Method.DELTA):
        raise reject("method", "ci", "'fieller' or 'delta'", method)
    return Method(method)


def difference(
    means: GroupMeansEvidence, group: object, other: object, target: Target = Target.POPULATION
) -> Difference:
    """The mean of one group less that of another."""
    places = means.place(group), means.place(other)
    if places[0] == places[1]:
        raise ParameterError("A difference needs two different groups.")
    for place in places:
        if not means.estimable[place]:
            raise NoIntervalError(
                f"The mean of group {means.labels[place]!r} {NOT_ESTIMABLE}: its size is too uncertain."
            )
    pair = np.array(places[:1]), np.array(places[1:])
    error = float(_errors(means, target, *pair)[0])
    values = means.values()
    first, second = (float(values[place]) for place in places)
    tests = PairTests.of(means.ratios(target), means.blocks(target), *pair)
    named, against = (means.labels[place] for place in places)
    return Difference(named, against, first - second, error, target, (first, second), tests)


def _errors(means: GroupMeansEvidence, target: Target, rows: Ints, columns: Ints) -> Floats:
    """Standard errors of differences, by the delta method."""
    totals, blocks = means.totals, means.blocks(target)
    alone = mean_covariances(totals, blocks, rows, rows) + mean_covariances(totals, blocks, columns, columns)
    variance = alone - 2 * mean_covariances(totals, blocks, rows, columns)
    _check_known(bool((variance > ROUNDING * alone).all()))
    return np.sqrt(variance)


@dataclass(frozen=True, slots=True, eq=False)
class Pairs(GroupComparison):
    """All pairs of groups that are estimable. `adjusted` p-values and the intervals hold for all of them at once.

    Intervals are Bonferroni's with either correction, since Holm's method has no intervals.
    """

    groups: tuple[object, ...]
    others: tuple[object, ...]
    values: Floats
    std_errors: Floats
    p_values: Floats
    adjusted: Floats
    level: float
    correction: str
    not_estimable: tuple[object, ...]
    tests: PairTests
    target: Target = Target.POPULATION
    simulated: bool = field(default=False, kw_only=True)
    sources: tuple[EstimateSource, ...] = field(default=(), kw_only=True)

    def ci(self) -> Bounds:
        """The intervals of all differences."""
        return self.tests.intervals(self.values, 1 - (1 - self.level) / max(1, len(self.values)))

    def all_tests(self) -> tuple[Test, ...]:
        """Test each pair for a difference, with adjusted p-values and intervals that hold together."""
        adjusted = f" P-values are adjusted for {plural(len(self.values), 'pair', ',')} ({self.correction})."
        rows = zip(self.groups, self.others, self.values, *self.ci(), self.adjusted, strict=True)
        return tuple(
            self._test(
                group,
                other,
                Effect("difference", float(value), float(low), float(high), self.level),
                float(p_value),
                adjusted,
            )
            for group, other, value, low, high, p_value in rows
        )

    def to_frame(self) -> pd.DataFrame:
        """A table of pairs; those with a group that is not estimable are left out, see `not_estimable`."""
        import pandas as pd

        low, high = self.ci()
        return pd.DataFrame(
            {
                "group": list(self.groups),
                "other": list(self.others),
                "difference": self.values,
                "std_error": self.std_errors,
                "p_value": self.p_values,
                "adjusted": self.adjusted,
                "low": low,
                "high": high,
                **({COLUMN: True} if self.simulated else {}),
            }
        )

    def plot(self, *, axes: Any = None) -> Any:
        """All differences with their intervals on Matplotlib axes, beside the line of no difference."""
        about = f"{100 * self.level:g} % intervals that hold all at once, p-values adjusted by {self.correction}"
        return self._picture(self.to_frame(), about, axes)

    def methods_sentence(self) -> str:
        """How these numbers were made, for a paper."""
        return self._sentence("difference between every two group means", self._about())

    def _about(self) -> list[str]:
        about = [intervals_sentence(IntervalRequest(self.level, Method.FIELLER, self.target, simultaneous=True))]
        about.append(f"Adjusted p-values hold all at once ({self.correction.capitalize()}).")
        if self.not_estimable:
            count = plural(len(self.not_estimable), "group", ",")
            about.append(f"Left out for being of too uncertain a size: {count}.")
        return about

    def to_markdown(self) -> str:
        """The table in Markdown, with `methods_sentence` below it."""
        return markdown(printed(self.to_frame()), self.methods_sentence())

    def to_latex(self) -> str:
        """The table in LaTeX, with `methods_sentence` as its caption."""
        return latex(printed(self.to_frame()), self.methods_sentence())

    def __repr__(self) -> str:
        kind = ", simulation" * self.simulated
        count = plural(len(self.values), "difference", ",")
        return f"Pairs({count}, level={self.level}, correction={self.correction!r}{kind})"

    def _repr_html_(self) -> str:
        table = printed(self.to_frame())
        shown = (table.header, table.rows)
        return card("Differences between groups", table=shown, notes=self._about(), simulated=self.simulated)


def all_pairs(means: GroupMeansEvidence, level: float, correction: str, target: Target) -> Pairs:
    """All differences of groups that are estimable."""
    check_level(level)
    check_correction(correction, "all_pairs")
    shown = np.flatnonzero(means.estimable)
    if len(shown) * (len(shown) - 1) // 2 > MAX_PAIRS:
        raise ParameterError(f"{len(shown)} groups have more than {MAX_PAIRS} pairs; compare fewer groups.")
    above, below = np.triu_indices(len(shown), 1)
    rows, columns = shown[above], shown[below]
    values = means.values()[rows] - means.values()[columns]
    tests = PairTests.of(means.ratios(target), means.blocks(target), rows, columns)
    errors = _errors(means, target, rows, columns)
    p_values = tests.p_values(values)
    labels = list(means.labels)
    return Pairs(
        tuple(labels[g] for g in rows),
        tuple(labels[h] for h in columns),
        values,
        errors,
        p_values,
        adjust(p_values, correction),
        level,
        correction,
        tuple(label for label, seen in zip(labels, means.estimable, strict=True) if not seen),
        tests,
        target,
    )


def equality(means: GroupMeansEvidence, target: Target = Target.POPULATION) -> Test:
    """Test that all groups have one mean.

    The statistic is the distance of all sums from a common mean times their sizes, in the measure of their joint
    covariance. It needs only one estimable group, so that groups are not selected by their noise before the test.
    """
    shown, tested = np.flatnonzero(means.estimable), means.seen
    if not len(shown) or len(tested) < 2:
        raise NoIntervalError("A test of equality needs two groups, and one whose mean is estimable.")
    if len(tested) > MAX_TESTED:
        raise ParameterError(f"A test of equality supports up to {MAX_TESTED} groups. Got {len(tested)}.")
    if len(shown) > 1:
        spread = mean_covariances(means.totals, means.blocks(target), shown[:, None], shown[None, :])
        contrast = np.hstack([np.eye(len(shown) - 1), -np.ones((len(shown) - 1, 1))])
        _check_known(float(np.linalg.eigvalsh(contrast @ spread @ contrast.T)[0]) > ROUNDING * float(np.trace(spread)))
    ratios = means.ratios(target)
    statistic = equality_statistic(ratios.part(tested), means.blocks(target).full(tested), ratios.rule.reach)
    degrees = len(tested) - 1
    hypothesis = f"The {len(tested)} groups have the same mean."
    spread_of_means = Effect("largest difference of two means", float(np.ptp(means.values()[shown])))
    p_value = float(chdtrc(degrees, statistic))
    return Test(hypothesis, statistic, p_value, "chi-square", degrees, spread_of_means, ENOUGH)


def _check_known(known: bool) -> None:
    """Refuse a variance that is the difference of nearly equal floats."""
    if not known:
        raise NoIntervalError(
            "The variance of these differences is not known: too few noisy reports were seen. More participants are"
            " needed, or a smaller epsilon."
        )


def power_at(score: float, level: float) -> float:
    """The probability that a normal score with this mean is significant, on either side."""
    z = deviate(level)
    return float(ndtr(score - z) + ndtr(-score - z))


def check_difference(difference: Any, owner: str) -> float:
    """The size of a difference to detect."""
    gap = float(check_decimal("difference", owner, difference))
    if gap <= 0:
        raise reject("difference", owner, "a positive number", difference)
    return gap
