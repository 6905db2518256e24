"""One question asked again and again: the unbiased estimate of each epoch, and what may be said about changes."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from sottovoce.core.errors import ParameterError
from sottovoce.core.language.display import printable
from sottovoce.core.language.plural import plural
from sottovoce.core.params import check_integer, reject
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.comparison.compare import Comparison, compare
from sottovoce.estimate.comparison.test import Effect, Test
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Flags, Floats, deviate
from sottovoce.estimate.request import PoorIntervalWarning, Target, check_level
from sottovoce.estimate.series import cusum
from sottovoce.estimate.series.covariance import contrast_variance, memo_variances, memos_alike, same_people
from sottovoce.estimate.series.smooth import Smoothed, smoothed

if TYPE_CHECKING:
    import pandas as pd

OWNER = "a series"
PEOPLE = ("different", "same")
GIVEN = {
    "different": "nobody answers in two epochs.",
    "same": "the answers of a person in different epochs may depend on each other in any way.",
}


@dataclass(frozen=True, eq=False)
class Series:
    """Estimates of one question, one for each epoch, in order.

    Values are the unbiased estimates themselves: nothing is smoothed, so an epoch is not changed by later ones.

    Attributes:
        epochs: The names of the epochs.
        estimates: One estimate for each.
        people: "different" if nobody answers in two epochs; "same" if people may answer in several.
        window: With the same people, a person answers only in epochs a multiple of so many apart.
        changed: With the same people, the share of them whose answers differ between two epochs, where it is known.
    """

    epochs: tuple[object, ...]
    estimates: tuple[Estimate, ...]
    people: str
    window: int = 1
    changed: Floats | None = None

    @classmethod
    def of(
        cls,
        estimates: Mapping[object, Estimate] | Sequence[Estimate],
        *,
        people: str,
        window: int = 1,
        changed: float | Floats | None = None,
    ) -> Series:
        """Check that the estimates belong together.

        Args:
            estimates: Estimates by epoch, in order; a list has the epochs 1, 2, 3 and so on.
            people: "different" if nobody answers in two epochs: new people, or each in one epoch chosen by chance.
                "same" if people may answer in several epochs. Then what is said about the population is cautious.
            window: Where the same people answer once in any so many epochs in a row. Epochs are then whole numbers.
            changed: Where the same people answer, the largest share of them whose answers differ between two epochs
                (people who leave or join count), or a square matrix of these shares. Intervals of changes are narrower
                with it, and wrong if it is too small.

        Returns:
            The series.

        Raises:
            ParameterError: The estimates answer different questions, or share the noise of a memo that is not known.

        Examples:
            >>> from sottovoce.estimate.series.series import Series
            >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
            >>> weeks = [m.estimate(sv.simulate_counts(m, [n, 10_000 - n], seed=n)) for n in (3_000, 3_400, 3_800)]
            >>> series = Series.of(weeks, people="different")
            >>> low, high = series.trend().ci()
            >>> print(f"{low[0]:.2f} to {high[0]:.2f} a week")
            0.02 to 0.06 a week
        """
        if people not in PEOPLE:
            raise reject("people", OWNER, "'different' or 'same'", people)
        named = dict(estimates) if isinstance(estimates, Mapping) else dict(enumerate(estimates, 1))
        share = None if changed is None else np.asarray(changed, np.float64)
        series = cls(tuple(named), tuple(named.values()), people, window, share)
        series._check()
        return series

    def _check(self) -> None:
        check_integer("window", OWNER, self.window, 1, 1 << 20)
        if self.window > 1 and not all(type(epoch) is int for epoch in self.epochs):
            raise ParameterError("A series with a window needs whole numbers as names of its epochs.")
        if self.changed is not None:
            count = len(self.epochs)
            fits = self.changed.shape in ((), (count, count)) and bool(
                np.all((self.changed >= 0) & (self.changed <= 1))
            )
            if not fits:
                wanted = "a share from 0 to 1, or a square matrix of shares with a row for each epoch"
                raise reject("changed", OWNER, wanted, self.changed)
        if self.people == "different" and (self.window > 1 or self.changed is not None):
            raise ParameterError("A window, or a share of changed answers, belongs to people='same'.")
        if len(self.estimates) < 2 or not all(isinstance(one, Estimate) for one in self.estimates):
            raise ParameterError("A series needs the estimates of two epochs or more: use m.estimate(tally) for each.")
        first = self.estimates[0]
        for one in self.estimates[1:]:
            if one.question.kind != first.question.kind or [*map(repr, one.labels)] != [*map(repr, first.labels)]:
                raise ParameterError(
                    f"A series needs estimates of the same question. The first is a {first.evidence.noun} with"
                    f" {len(first.labels)} values, another a {one.evidence.noun} with {len(one.labels)}."
                )
        if not first.question.has_differences:
            raise ParameterError("Directions on a circle have no difference with a sign, so they make no series.")
        if self.people == "same" and any(memo_variances(one) is None for one in self.estimates):
            raise ParameterError(
                "Reports from a memo share its noise between epochs. How much is known for basic-rappor, loloha and"
                " bernoulli-memo. Use people='different' if each person answers once."
            )

    # --- numbers -----------------------------------------------------------------------------------
    @property
    def labels(self) -> Sequence[object]:
        """The label of each value of an epoch."""
        return self.estimates[0].labels

    @property
    def simulated(self) -> bool:
        """True if the reports of an epoch are simulated."""
        return any(one.simulated for one in self.estimates)

    @cached_property
    def values(self) -> Floats:
        """The unbiased estimates: a row for each epoch."""
        return np.array([one.evidence.values() for one in self.estimates])

    def variances(self, target: str = "population") -> Floats:
        """The variances of the estimates: a row for each epoch."""
        return self._parts[0 if Target.of(target) == Target.POPULATION else 1]

    @cached_property
    def _parts(self) -> tuple[Floats, Floats, Floats]:
        """The variances of the population, of all noise, and of the memos."""
        targets = [np.array([one.evidence.variances(target) for one in self.estimates]) for target in Target]
        memos = [memo_variances(one) for one in self.estimates] if self.people == "same" else []
        return targets[0], targets[1], np.array(memos)

    def ci(self, level: float = 0.95, *, target: str = "population", simultaneous: bool = False) -> Bounds:
        """Intervals, a row for each epoch.

        Args:
            level: The level, such as 0.95.
            target: "population", or "sample" for the participants of each epoch.
            simultaneous: Make the intervals of a value hold in all epochs at once: a band. Epochs of different people
                are independent (Sidak); for the same people the level is divided (Bonferroni).

        Returns:
            Lower and upper ends.
        """
        check_level(level)
        count = len(self.estimates)
        if simultaneous:
            level = level ** (1 / count) if self.people == "different" else 1 - (1 - level) / count
        bounds = [one.quiet_ci(level, target=target) for one in self.estimates]
        return Bounds(np.array([one.low for one in bounds]), np.array([one.high for one in bounds]))

    def poor(self, epochs: Flags) -> Flags:
        """Values that a normal law describes poorly in one of some epochs: too few reports speak about them."""
        used = [one for one, counts in zip(self.estimates, epochs, strict=True) if counts]
        flags = [np.broadcast_to(one.evidence.normal_is_poor(), len(one.values)) for one in used]
        return np.asarray(np.logical_or.reduce(flags))

    # --- changes -----------------------------------------------------------------------------------
    def difference(self, later: object, earlier: object) -> Comparison | EpochContrast:
        """The values of one epoch less those of another; from different people with the intervals of `sv.compare`."""
        places = [self._place(epoch) for epoch in (later, earlier)]
        if self.people == "different":
            return compare(*(self.estimates[place] for place in places))
        weights = np.zeros(len(self.epochs))
        weights[places] = 1, -1
        return self.contrast(weights, f"change from {printable(earlier)} to {printable(later)}")

    def trend(self, times: Sequence[float] | None = None, *, target: str = "population") -> EpochContrast:
        """The slope of the least-squares line through the true values, per epoch or per unit of `times`."""
        at = np.arange(len(self.epochs), dtype=np.float64) if times is None else np.asarray(times, np.float64)
        if at.shape != (len(self.epochs),) or not np.isfinite(at).all() or np.ptp(at) == 0:
            raise reject("times", OWNER, "one number for each epoch, not all equal", times)
        centred = at - at.mean()
        return self.contrast(centred / np.sum(centred**2), "trend", target=target)

    def contrast(self, weights: Sequence[float] | Floats, name: str, *, target: str = "population") -> EpochContrast:
        """A weighted sum over epochs, for each value.

        Fresh noise is independent in each epoch, so its variances add up. From the same people, the noise of a memo is
        shared as far as answers stay. What sampling adds is bounded by full correlation between epochs, or by the share
        of answers that change, since nobody knows how the answers of a person depend on each other.
        """
        row = np.asarray(weights, np.float64)
        if row.shape != (len(self.epochs),) or not np.isfinite(row).all():
            raise reject("weights", OWNER, "one number for each epoch", weights)
        used = row != 0  # a value that is not known in another epoch does not matter
        some, poor = row[used], self.poor(used)
        if self.people == "different":
            variance = some**2 @ self.variances(target)[used]
        else:
            population, noise, memos = (part[used] for part in self._parts)
            numbers = np.array(self.epochs if self.window > 1 else range(len(self.epochs)), np.float64)[used]
            changed = self.changed
            variance = contrast_variance(
                some,
                (population, noise, memos),
                np.array([one.n for one in self.estimates], np.float64)[used],
                changed if changed is None or not changed.ndim else changed[np.ix_(used, used)],
                same_people(numbers, self.window),
                Target.of(target),
                share=self.estimates[0].question.is_share,
                alike=any(map(memos_alike, self.estimates)),
            )
        return EpochContrast(self, name, some @ self.values[used], np.sqrt(variance), poor)

    # --- smoothing ---------------------------------------------------------------------------------
    def smooth(self, *, period: int | None = None, online: bool = False) -> Smoothed:
        """Estimate each epoch with the help of the others: less noise, and a bias that the intervals cover on average.

        A level that moves, a slope that moves, an irregular part and, with `period`, a season are weighed by how well
        they predict the series. The unbiased values stay the result; these are a second opinion. Where the same people
        answer in every epoch, smoothed values are about these people, else about the population.

        Args:
            period: The number of epochs of a season, such as 7 for days of a week. Default: none.
            online: Use earlier epochs only, as on the day itself. Default: all epochs.

        Returns:
            Smoothed values, with intervals that cover on average over epochs, and the jumps that were found.
        """
        if self.people == "same" and self._parts[2].any():
            raise ParameterError("A series from memos is not smoothed: their noise stays from epoch to epoch.")
        if not np.isfinite(self.values).all():
            raise ParameterError("A value is not known in some epoch, so the series is not smoothed. Leave epochs out.")
        everyone = self.people == "same" and self.window == 1
        target = Target.SAMPLE if everyone else Target.POPULATION
        if period is not None:
            check_integer("period", "smooth", period, 2, max(2, len(self.epochs) // 2))
        return smoothed(self, self.values, self.variances(target), period=period, online=online)

    def alarms(self, rate: float = 0.05) -> Alarms:
        """Watch for a change: with this probability, at most, an alarm is raised in a series without one.

        The rate holds for all epochs and all values together, if nobody answers in two epochs.
        """
        if self.people != "different":
            raise ParameterError("Alarms need epochs of different people: the errors of one panel are correlated.")
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < 1:
            raise reject("rate", "alarms", "a number in (0, 1)", rate)
        # The shares of two categories sum to one: they move together, and one of them is watched.
        watched = 1 if len(self.labels) == 2 and np.allclose(self.values.sum(axis=1), 1) else len(self.labels)
        height = cusum.threshold(rate / watched, len(self.epochs) - 1)
        up, down = cusum.sums(cusum.surprises(self.values, self.variances()))
        return Alarms(self, height, up, down)

    def _place(self, epoch: object) -> int:
        if epoch not in self.epochs:
            raise ParameterError(f"There is no epoch of this name. Epochs: {', '.join(map(printable, self.epochs))}.")
        return self.epochs.index(epoch)

    # --- showing -----------------------------------------------------------------------------------
    def to_frame(self, level: float = 0.95, *, target: str = "population", simultaneous: bool = False) -> pd.DataFrame:
        """A table with a row for each epoch and value: reports, estimate, standard error, interval."""
        import pandas as pd

        low, high = self.ci(level, target=target, simultaneous=simultaneous)
        count, axes = len(self.labels), self.estimates[0].axes
        columns = dict(zip(axes.headings, (list(column) * len(self.epochs) for column in axes.columns()), strict=True))
        numbers = {
            "estimate": self.values,
            "std_error": np.sqrt(self.variances(target)),
            "low": low,
            "high": high,
        }
        return pd.DataFrame(
            {
                "epoch": [epoch for epoch in self.epochs for _ in range(count)],
                **columns,
                "reports": np.repeat([one.n for one in self.estimates], count),
                **{name: cells.ravel() for name, cells in numbers.items()},
                **({COLUMN: True} if self.simulated else {}),
            }
        )

    def __repr__(self) -> str:
        return f"Series({plural(len(self.epochs), 'epoch')} of a {self.estimates[0].evidence.noun})"


@dataclass(frozen=True, slots=True, eq=False)
class EpochContrast:
    """A weighted sum over the epochs of a series, such as its trend: one number for each value.

    Attributes:
        poor: values whose intervals may miss too often, since some epoch has few reports about them.
    """

    series: Series
    name: str
    values: Floats
    std_errors: Floats
    poor: Flags

    def ci(self, level: float = 0.95, *, simultaneous: bool = False) -> Bounds:
        """Normal intervals; `simultaneous` makes those of all values hold at once (Bonferroni).

        A warning (`PoorIntervalWarning`) says where few reports make them miss more often than their level promises.
        """
        if (doubt := self.doubt()) is not None:
            warnings.warn(doubt, PoorIntervalWarning, stacklevel=2)
        return self.quiet_ci(level, simultaneous=simultaneous)

    def doubt(self) -> str | None:
        """Say why the intervals may miss more often than they promise; None where they do not."""
        return doubt_about(self.name, self.poor)

    def quiet_ci(self, level: float = 0.95, *, simultaneous: bool = False) -> Bounds:
        """The intervals of `ci` without its warning, for callers who show `doubt` themselves."""
        check_level(level)
        reach = deviate(1 - (1 - level) / len(self.values) if simultaneous else level) * self.std_errors
        return Bounds(self.values - reach, self.values + reach)

    def tests(self, level: float = 0.95) -> tuple[Test, ...]:
        """A test of each value that it is zero."""
        low, high = self.quiet_ci(level)
        noun, several = self.series.estimates[0].evidence.noun, len(self.values) > 1
        rows = zip(self.series.labels, self.values, _scores(self.values, self.std_errors), low, high, strict=True)
        given = " ".join(filter(None, (GIVEN[self.series.people], self.doubt())))
        return tuple(
            Test(
                f"The {self.name} of the {noun}{f' of {printable(label)}' if several else ''} is zero.",
                float(score),
                float(2 * ndtr(-abs(score))),
                effect=Effect(self.name, float(value), float(start), float(end), level),
                valid_given=given,
                sources=tuple(source for one in self.series.estimates for source in one.sources),
                simulated=self.series.simulated,
            )
            for label, value, score, start, end in rows
        )

    def __repr__(self) -> str:
        return f"EpochContrast({self.name} of a {self.series.estimates[0].evidence.noun})"


@dataclass(frozen=True, slots=True, eq=False)
class Alarms:
    """Cumulative sums of surprises, up and down, a row for each epoch. Above `threshold` they raise an alarm."""

    series: Series
    threshold: float
    up: Floats
    down: Floats

    @property
    def first(self) -> dict[object, object]:
        """The epoch of the first alarm, by label; labels without an alarm are left out."""
        raised = np.maximum(self.up, self.down) > self.threshold
        places = [np.flatnonzero(column) for column in raised.T]
        pairs = zip(self.series.labels, places, strict=True)
        return {label: self.series.epochs[place[0]] for label, place in pairs if len(place)}

    def explain(self) -> str:
        """The alarms in words."""
        if not self.first:
            text = "No alarm: the series is compatible with no change."
        else:
            named = [f"{printable(label)} at {printable(epoch)}" for label, epoch in self.first.items()]
            text = f"Alarm: {', '.join(named)}. The change may have begun earlier."
        doubt = doubt_about("false-alarm rate", self.series.poor(np.ones(len(self.series.epochs), bool)))
        return in_words(" ".join(filter(None, (text, doubt))), self.series.simulated)


def doubt_about(name: str, poor: Flags) -> str | None:
    """A sentence about values that a normal law describes poorly, or None."""
    if not poor.any():
        return None
    which = "this value" if len(poor) == 1 else f"{int(poor.sum())} of {len(poor)} values"
    return f"The normal law behind the {name} is poor for {which}: some epoch has too few reports about it."


def _scores(values: Floats, errors: Floats) -> Floats:
    """Values over their standard errors. Without an error zero is no evidence, and any other value is certain."""
    certain = np.where(values == 0, 0.0, np.copysign(np.inf, values))
    return np.asarray(np.divide(values, errors, out=certain, where=errors > 0))
