"""The picture of a distribution: the estimated shares, and below them the cumulative ones in their band."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from sottovoce.core.language.display import printable
from sottovoce.core.language.plural import plural
from sottovoce.estimate.evidence import Bounds
from sottovoce.estimate.request import IntervalRequest, Target
from sottovoce.estimate.show.plot import BAR, MARK, MOST_LABEL

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate


def plot(estimate: Estimate, bounds: Bounds, request: IntervalRequest, axes: Any) -> Any:
    """The cumulative distribution in a band that holds all of it; of a circle the density, bucket by bucket."""
    source, about, estimate = estimate._distribution, request.words(), estimate.curve()
    if axes is None:
        _, axes = plt.subplots(figsize=(7.5, 4.5), layout="constrained")
    through = printable(", ".join(dict.fromkeys(one.mechanism.name for one in estimate.sources)))
    kind = "simulation of " if estimate.simulated else ""
    title = f"{kind}{through}, {plural(estimate.n, 'report', ',')}, epsilon {estimate.epsilon:.4g}"
    title += f", curve by {estimate.decoder.name}"
    if source.circular:
        widths = source.buckets.widths
        axes.stairs(estimate.values / widths, source.edges, color=MARK)
        axes.vlines(source.buckets.centres, *(end / widths for end in bounds), color=BAR, linewidth=1)
        title += f"\n{about}"
        axes.set_ylabel("density")
    else:
        band = estimate.band(request.level, target=request.target)
        upper = band.high if source.buckets.step is None else np.append(band.high[1:], 1.0)
        axes.fill_between(band.points, band.low, upper, step="post", color=BAR, alpha=0.4, linewidth=0)
        axes.plot(band.points, np.clip(band.values, 0, 1), color=MARK)
        title += f"\n{100 * request.level:g} % band of the whole curve"
        title += ", for these participants" * (request.target is Target.SAMPLE)
        axes.set_ylabel("share up to a value")
    if source.buckets.domain.choices is not None:
        labels = [printable(label, MOST_LABEL) for label in source.buckets.domain.labels()]
        axes.set_xticks(source.buckets.centres, labels, rotation=45, ha="right", parse_math=False)
    axes.set_xlabel("value")
    axes.set_title(title, fontsize="medium", parse_math=False)
    return axes
