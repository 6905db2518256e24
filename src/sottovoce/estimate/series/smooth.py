"""Smoothed series: a second opinion on each epoch that borrows from the others, with what speaks against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from scipy.stats import chi2, norm

from sottovoce.core.errors import ParameterError
from sottovoce.core.language.display import printable
from sottovoce.core.language.plural import plural
from sottovoce.core.simulation import in_words
from sottovoce.estimate.evidence import Bounds, Floats, deviate
from sottovoce.estimate.request import check_level
from sottovoce.estimate.series.state_space import mix

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.series.series import Series

RARE = 0.01  # how often a series that the models describe has a jump, or a doubt
LAGS = 5
LABEL = "average coverage"


@dataclass(frozen=True, slots=True, eq=False)
class Smoothed:
    """Values of a series that borrow from other epochs.

    Intervals have *average coverage*: over all epochs 95 of 100 hold, while at jumps and peaks they hold less often. So
    there is no band. Where `doubt` is not None, the models do not describe the series.

    Attributes:
        series: the unbiased series.
        values: the smoothed values, a row for each epoch.
        std_errors: their standard errors.
        surprises: how far each epoch is from what earlier ones predict, in standard errors.
        online: True if an epoch uses earlier ones only.
    """

    series: Series
    values: Floats
    std_errors: Floats
    surprises: Floats
    online: bool

    def ci(self, level: float = 0.95) -> Bounds:
        """Intervals that cover on average over the epochs, not in each of them."""
        check_level(level)
        reach = deviate(level) * self.std_errors
        return Bounds(self.values - reach, self.values + reach)

    def band(self, level: float = 0.95) -> NoReturn:
        """Refuse: a smoothed band would hold least where the series jumps."""
        raise ParameterError(
            "Smoothed values have no band: it would fail where the series jumps. Use series.ci(simultaneous=True)."
        )

    @property
    def jumps(self) -> dict[object, tuple[object, ...]]:
        """The epochs that earlier ones predict badly, by label: at most one in 100 series without a jump has one."""
        height = norm.isf(RARE / self.surprises.size / 2)
        found = {
            label: tuple(self.series.epochs[place] for place in np.flatnonzero(np.abs(column) > height))
            for label, column in zip(self.series.labels, self.surprises.T, strict=True)
        }
        return {label: epochs for label, epochs in found.items() if epochs}

    @property
    def doubt(self) -> str | None:
        """Why the models may not describe the series: jumps, or surprises that depend on each other."""
        if self.jumps:
            named = ", ".join(
                f"{printable(label)} at {' and '.join(printable(epoch) for epoch in epochs)}"
                for label, epochs in self.jumps.items()
            )
            return f"Jumps ({named}): smoothed values are wrong near them. Use the unbiased values there."
        if min(map(_independence, self.surprises.T)) < RARE / self.surprises.shape[1]:
            return "Surprises of neighbouring epochs depend on each other, so the models miss a pattern."
        return None

    def to_frame(self, level: float = 0.95) -> pd.DataFrame:
        """The table of the series with smoothed values, standard errors and intervals in columns of their own."""
        frame = self.series.to_frame(level)
        low, high = self.ci(level)
        for name, cells in (("value", self.values), ("std_error", self.std_errors), ("low", low), ("high", high)):
            frame[f"smoothed_{name}"] = cells.ravel()
        frame["smoothed_intervals"] = LABEL
        return frame

    def explain(self) -> str:
        """Method, meaning of the intervals, and what speaks against them."""
        kind = "those before it" if self.online else "all others"
        factor = float(np.mean(self.std_errors**2) / np.mean(self.series.variances()))
        text = (
            f"Each of {plural(len(self.series.epochs), 'epoch')} borrows from {kind}; the mean variance is"
            f" {factor:.2f} of that of the unbiased values. Intervals have {LABEL}: they hold for 95 of 100"
            " epochs, and less often at jumps and peaks."
        )
        return in_words(f"{text} {self.doubt or 'Nothing speaks against the models.'}", self.series.simulated)

    def __repr__(self) -> str:
        kind = "online" if self.online else "retrospective"
        return f"Smoothed({kind}, {plural(len(self.series.epochs), 'epoch')}, {LABEL})"


def smoothed(series: Series, values: Floats, variances: Floats, *, period: int | None, online: bool) -> Smoothed:
    """Smooth every value of a series by itself."""
    fits = [
        mix(values[:, [place]], np.maximum(variances[:, place], 1e-300), period) for place in range(values.shape[1])
    ]
    names = ("online", "online_variances") if online else ("smooth", "smooth_variances")
    means, spreads = (np.hstack([getattr(one, name) for one in fits]) for name in names)
    return Smoothed(series, means, np.sqrt(spreads), np.hstack([one.surprises for one in fits]), online)


def _independence(surprises: Floats) -> float:
    """The p-value of independent surprises (Ljung and Box)."""
    some = surprises[np.flatnonzero(surprises)]
    count = len(some)
    lags = min(LAGS, count // 4)
    if lags < 1:
        return 1.0
    some = some - some.mean()
    total = float(np.sum(some**2))
    statistic = sum(
        (float(np.sum(some[lag:] * some[:-lag])) / total) ** 2 / (count - lag) for lag in range(1, lags + 1)
    )
    return float(chi2.sf(count * (count + 2) * statistic, lags))
