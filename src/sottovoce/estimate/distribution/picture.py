"""The picture of a distribution: the estimated shares, and below them the cumulative ones in their band."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from sottovoce.core.display import printable
from sottovoce.core.plural import plural
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds
from sottovoce.estimate.plot import BAR, MARK


def plot(estimate: Estimate, bounds: Bounds, about: str, target: str, axes: Any) -> Any:
    """The cumulative distribution in a band that holds all of it; of a circle the density, bucket by bucket."""
    source = estimate._distribution
    if axes is None:
        _, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    through = printable(", ".join(dict.fromkeys(one.mechanism.name for one in estimate.sources)))
    kind = "simulation of " if estimate.simulated else ""
    title = f"{kind}{through}, {plural(estimate.n, 'report', ',')}, epsilon {estimate.epsilon:.4g}"
    if source.circular:
        widths = source.buckets.widths
        axes.stairs(estimate.values / widths, source.edges, color=MARK)
        axes.vlines(source.buckets.centres, *(end / widths for end in bounds), color=BAR, linewidth=1)
        axes.set_ylabel("density")
    else:
        level = float(about.split()[0]) / 100
        found = estimate.band(level, target=target)
        axes.fill_between(found.points, found.low, found.high, color=BAR, alpha=0.4, linewidth=0)
        axes.plot(found.points, np.clip(found.values, 0, 1), color=MARK)
        title += f"\n{100 * level:g} % band of the whole curve" + ", for these participants" * (target == "sample")
        axes.set_ylabel("share up to a value")
    axes.set_xlabel("value")
    axes.set_title(title, fontsize="medium", parse_math=False)
    return axes
