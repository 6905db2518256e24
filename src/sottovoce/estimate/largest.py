"""The largest values, and values above a threshold, with control of how often any of them is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.evidence import Bounds, Flags, Floats, Ints
from sottovoce.estimate.request import check_level

if TYPE_CHECKING:
    import pandas as pd

FAMILY, DISCOVERIES = "family", "discoveries"


@dataclass(frozen=True, slots=True, eq=False)
class Top:
    """The largest values of an estimate, with the ranks that each value can have; 1 is the largest.

    All ranks hold at once at the level: the true rank of each value lies between `first` and `last`.

    Attributes:
        count: how many of the largest were asked for.
        labels: the name of each value.
        values: the estimates.
        first: the best rank that each value can have.
        last: the worst rank.
    """

    count: int
    level: float
    labels: tuple[object, ...]
    values: Floats
    first: Ints
    last: Ints

    @property
    def items(self) -> list[object]:
        """Return the labels of the largest estimates, the largest one first."""
        order = np.argsort(-np.nan_to_num(self.values, nan=-np.inf), kind="stable")
        return [self.labels[place] for place in order[: self.count]]

    @property
    def certain(self) -> list[object]:
        """Return the labels that are among the largest by all of their ranks."""
        return self._chosen(self.last <= self.count)

    @property
    def possible(self) -> list[object]:
        """Return the labels that may be among the largest."""
        return self._chosen(self.first <= self.count)

    def _chosen(self, flags: Flags) -> list[object]:
        order = np.argsort(-np.nan_to_num(self.values, nan=-np.inf), kind="stable")
        return [self.labels[place] for place in order if flags[place]]

    def to_frame(self) -> pd.DataFrame:
        """Return a table of all values that may be among the largest, with their ranks."""
        import pandas as pd

        order = [place for place in np.argsort(-self.values, kind="stable") if self.first[place] <= self.count]
        return pd.DataFrame(
            {
                "value": [self.labels[place] for place in order],
                "estimate": self.values[order],
                "first": self.first[order],
                "last": self.last[order],
                "certain": self.last[order] <= self.count,
            }
        )


class Largest:
    """What estimates of several values tell about the largest of them."""

    __slots__: tuple[str, ...] = ()

    if TYPE_CHECKING:

        @property
        def labels(self) -> Sequence[object]: ...
        @property
        def values(self) -> Floats: ...
        def quiet_ci(self, level: float = 0.95) -> Bounds: ...

    def top(self, count: int, level: float = 0.95, *, among: int | None = None) -> Top:
        """Find the largest values, and which of them are certain.

        A value is certain to be among the `count` largest if fewer than `count` others can reach it, by intervals that
        hold at once.

        Args:
            count: How many values.
            level: The probability that all ranks are right.
            among: How many candidates these values were chosen from by means of the same reports. Default: no choice
                was made.

        Returns:
            A `Top` with `items`, `certain`, `possible`, and the ranks that each value can have.

        Examples:
            >>> m = sv.mechanism("grr", sv.Categories(["a", "b", "c", "d"]), epsilon=3)
            >>> answers = ["a"] * 500 + ["b"] * 300 + ["c"] * 110 + ["d"] * 90
            >>> shares = m.estimate(m.tally(m.privatize(answers, seed=1)))
            >>> shares.top(2).certain, shares.top(3).certain
            (['a', 'b'], ['a', 'b'])
        """
        size = len(self.values)
        check_integer("count", "top", count, 1, size)
        check_level(level)
        tried = size if among is None else check_integer("among", "top", among, size, 1 << 62)
        low, high = (
            np.nan_to_num(end, nan=fill)
            for end, fill in zip(self.quiet_ci(1 - (1 - level) / tried), (-np.inf, np.inf), strict=True)
        )
        lows, highs = np.sort(low), np.sort(high)
        first = 1 + size - np.searchsorted(lows, high, side="right")
        # All that reach the lower end, without the value itself, may come before it.
        last = size - np.searchsorted(highs, low, side="left")
        return Top(count, level, tuple(self.labels), self.values, first, last)

    def above(
        self, threshold: float, level: float = 0.95, *, control: str = FAMILY, among: int | None = None
    ) -> list[object]:
        """Find the values above a threshold, with control of errors.

        Args:
            threshold: The number to exceed, such as a share of 0.01.
            level: With "family", the probability that none of the values returned lies at or below the threshold. With
                "discoveries", one minus the expected part of the values returned that does.
            control: "family" (Holm's method) or "discoveries" (Benjamini and Hochberg's, for values whose errors are
                independent or positively correlated).
            among: How many candidates these values were chosen from by means of the same reports. Default: no choice
                was made.

        Returns:
            The labels, the largest estimate first.

        Examples:
            >>> m = sv.mechanism("grr", sv.Categories(["a", "b", "c", "d"]), epsilon=3)
            >>> answers = ["a"] * 500 + ["b"] * 300 + ["c"] * 110 + ["d"] * 90
            >>> m.estimate(m.tally(m.privatize(answers, seed=1))).above(0.2)
            ['a', 'b']
        """
        size = len(self.values)
        check_level(level)
        if control not in (FAMILY, DISCOVERIES):
            raise reject("control", "above", f"{FAMILY!r} or {DISCOVERIES!r}", control)
        tried = size if among is None else check_integer("among", "above", among, size, 1 << 62)

        def exceed(alpha: float) -> Flags:
            """Values whose one-sided lower bound at this probability of error exceeds the threshold."""
            low, _ = self.quiet_ci(1 - 2 * min(alpha, 0.49))
            return np.asarray((low > threshold) & ~np.isnan(self.values))

        found = (_step_down if control == FAMILY else _step_up)(exceed, 1 - level, tried)
        order = np.argsort(-np.nan_to_num(self.values, nan=-np.inf), kind="stable")
        return [self.labels[place] for place in order if found[place]]


def _step_down(exceed: Callable[[float], Flags], alpha: float, tried: int) -> Flags:
    """Holm: each rejected hypothesis leaves one fewer to share the error among."""
    found = exceed(alpha / tried)
    while 0 < (rejected := int(found.sum())) < tried:
        more = exceed(alpha / (tried - rejected))
        if int(more.sum()) == rejected:
            break
        found = more
    return found


def _step_up(exceed: Callable[[float], Flags], alpha: float, tried: int) -> Flags:
    """Benjamini and Hochberg: the largest number r of values of which r are significant at alpha r / tried."""
    number = tried
    while number > 0:
        found = exceed(alpha * number / tried)
        if int(found.sum()) >= number:
            return found
        number = int(found.sum())
    return exceed(alpha / tried)
