"""How values are spread within groups: their variance, and, for categories, the shares of each within a group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.facets import Rounded, need
from sottovoce.core.domain import Select
from sottovoce.core.errors import NoIntervalError, ParameterError
from sottovoce.core.params import reject
from sottovoce.core.simulation import COLUMN
from sottovoce.estimate.estimate import Estimate, check_level, check_target
from sottovoce.estimate.evidence import Bounds, deviate
from sottovoce.estimate.group.contrasts import Compared
from sottovoce.estimate.group.law import GroupLaw, Sheet, Totals, group_powers, power_sums
from sottovoce.estimate.group.truth import keyed_channel, square_line, tells_squares
from sottovoce.estimate.group.views import View
from sottovoce.estimate.ratio import NOT_ESTIMABLE, Ratios

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Spreads(View):
    """The variance of the values within each group, for the population.

    It may be negative by chance. Rounding to a grid makes it uncertain by up to `bias`, whatever the number of reports.
    """

    methods: ClassVar[tuple[str, ...]] = ("delta",)
    what: ClassVar[str] = "variance within"
    each: Floats
    bias: float

    def variances(self, target: str) -> Floats:
        if target != "population":
            raise NoIntervalError("The variance within a group has an interval for the population only.")
        return self.each

    def _interval(self, level: float, method: str, target: str) -> Bounds:
        half = deviate(level) * np.sqrt(self.variances(target)) + self.bias
        low, high = self.values - half, self.values + half
        return Bounds(np.where(self.estimable, low, -np.inf), np.where(self.estimable, high, np.inf))

    def project(self, name: str) -> Spreads:
        raise ParameterError("A variance within a group has no projection.")


def group_spreads(estimate: Compared, cells: Ints) -> Spreads:
    """E[x**2] - (E x)**2 of each group, from the mean squares of what is read.

    The square of an estimated mean is too large by the variance of that mean, so this is added (METHODS, erratum 13).
    """
    mechanism, totals = estimate.mechanism, estimate.totals
    channel = keyed_channel(mechanism)
    if not tells_squares(channel):
        raise NoIntervalError(
            f"The reports of {mechanism.name} do not tell the spread within a group: the square of what is read hardly"
            " depends on the value. Ask with group-piecewise or group-laplace."
        )
    line = square_line(channel)
    n_g, t_g, m_g = totals.sizes, totals.sums, totals.read_squares
    ratios = estimate.ratios("population")
    shown = ratios.estimable
    safe = np.where(shown, n_g, 1.0)
    mean = t_g / safe
    square = line.slope * m_g / safe + line.tilt * mean + line.least + line.width / 2
    variance = square - mean**2 + ratios.residual(mean) / safe**2
    slopes = (  # of the variance by size, sum and mean square
        (-line.slope * m_g / safe - line.tilt * mean + 2 * mean**2) / safe,
        (line.tilt - 2 * mean) / safe,
        line.slope / safe,
    )
    spread = _third_block(totals.law, int(totals.n), cells, totals)
    each = sum(slopes[i] * slopes[j] * spread[min(i, j), max(i, j)] for i in range(3) for j in range(3))
    grid = need(channel.inner, Rounded).rounding
    low, high = float(grid.low), float(grid.high)
    return Spreads(
        estimate.groups,
        np.where(shown, variance, np.nan),
        (0.0, (high - low) ** 2 / 4),
        None,
        np.where(shown, np.maximum(np.asarray(each), 0.0), np.nan),
        line.width / 2,
    )


def _third_block(law: GroupLaw, n: int, cells: Ints, totals: Totals) -> dict[tuple[int, int], Floats]:
    """Variances and covariances, group by group, of size, sum and mean square read."""
    key, sizes = law.key, totals.sizes
    single = [power_sums(law, cells, power) for power in range(5)]
    sheets = []
    for power, sums in enumerate(single):
        values = sizes if power == 0 else group_powers(law, sums, sizes, n, power)
        total = float(values.sum()) if power else float(n)
        sheets.append(key.pairs(sums, values, total, sizes, n, law.neutral[power]))
    # What a report adds to sizes, sums and mean squares is s - q, s z and s z**2 - r + lift (s - q), to be solved.
    rest = (key.other - key.both) * law.neutral[2]
    lift, shift = rest / key.gap, (key.other, 0.0, rest)

    def moved(i: int, j: int) -> Sheet:
        return sheets[i + j].shifted(single[i], single[j], shift[i], shift[j], n)

    found = {
        (0, 0): moved(0, 0) * (1 / key.gap**2),
        (0, 1): key.right(moved(0, 1)) * (1 / key.gap),
        (1, 1): key.both_sides(moved(1, 1)),
        (0, 2): key.right(moved(0, 2) + moved(0, 0) * lift) * (1 / key.gap),
        (1, 2): key.both_sides(moved(1, 2) + moved(1, 0) * lift),
        (2, 2): key.both_sides(moved(2, 2) + (moved(0, 2) + moved(2, 0)) * lift + moved(0, 0) * lift**2),
    }
    means, every = (sizes, totals.sums, totals.read_squares), np.arange(key.groups)
    return {(i, j): sheet.at(every, every) - means[i] * means[j] / n for (i, j), sheet in found.items()}


@dataclass(frozen=True, slots=True, eq=False)
class Conditional:
    """The shares of the categories within each group; rows are groups, NaN where a group is not estimable."""

    groups: Sequence[object]
    categories: Sequence[object]
    values: Floats
    ratios: dict[str, Ratios]
    simulated: bool = field(default=False, kw_only=True)

    def ci(self, level: float = 0.95, *, method: str = "delta", target: str = "population") -> Bounds:
        """Intervals by "delta" or "fieller", rows as in `values`; from 0 to 1 where a group is not estimable."""
        check_level(level)
        check_target(target)
        if method not in ("delta", "fieller"):
            raise reject("method", "ci", "'delta' or 'fieller'", method)
        ratios = self.ratios[target]
        low, high = ratios.delta(level) if method == "delta" else ratios.fieller(level)
        anywhere = ~np.isfinite(low) | np.isnan(self.values.ravel())
        ends = np.where(anywhere, 0.0, low), np.where(anywhere, 1.0, high)
        return Bounds(*(end.reshape(self.values.shape) for end in ends))

    @property
    def std_errors(self) -> Floats:
        """Standard errors for the population."""
        return np.sqrt(self.ratios["population"].variances()).reshape(self.values.shape)

    def to_frame(self, level: float = 0.95, *, method: str = "delta", target: str = "population") -> pd.DataFrame:
        """A table with one row for each group and category."""
        import pandas as pd

        low, high = self.ci(level, method=method, target=target)
        rows = [(group, category) for group in self.groups for category in self.categories]
        return pd.DataFrame(
            {
                "group": [group for group, _ in rows],
                "value": [category for _, category in rows],
                "estimate": self.values.ravel(),
                "std_error": np.sqrt(self.ratios[target].variances()),
                "low": low.ravel(),
                "high": high.ravel(),
                "note": np.where(np.isnan(self.values.ravel()), NOT_ESTIMABLE, ""),
                **({COLUMN: True} if self.simulated else {}),
            }
        )


def group_frequencies(estimate: Any) -> Conditional:
    """Shares of the categories of the second field within each group, the first, from their estimated joint shares.

    Ask for both at once: a frequency oracle on `Select(Record({"group": ..., "value": ...}), ["group", "value"])`.
    """
    domain = estimate.mechanism.domain if isinstance(estimate, Estimate) else None
    if not isinstance(domain, Select) or len(domain.names) != 2:
        raise ParameterError("Shares within groups come from an estimate of the joint shares of two selected fields.")
    fields = dict(domain.of.fields)
    groups, categories = (fields[name].labels() for name in domain.names)
    d, k = len(groups), len(categories)
    joint = estimate.evidence.values()
    ratios = {}
    for target in ("population", "sample"):
        spread = estimate.covariance(target=target).reshape(d, k, d, k)
        own = np.array([spread[g, :, g, :] for g in range(d)])
        top = np.array([np.diag(block) for block in own]).ravel()
        bottom = np.repeat(own.sum(axis=(1, 2)), k)
        sizes = np.repeat(joint.reshape(d, k).sum(axis=1), k)
        ratios[target] = Ratios(joint, sizes, top, own.sum(axis=2).ravel(), np.maximum(bottom, 0.0))
    shares = ratios["population"].values().reshape(d, k)
    return Conditional(groups, categories, shares, ratios, simulated=estimate.simulated)
