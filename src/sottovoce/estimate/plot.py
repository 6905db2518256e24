"""Pictures of estimates."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from sottovoce.estimate.estimate import Estimate


def plot(estimate: Estimate, level: float, axes: Any) -> Any:
    """Points with error bars, in the order of the domain."""
    if axes is None:
        _, axes = plt.subplots()
    low, high = bounds = estimate.ci(level)
    labels = [str(label) for label in estimate.labels]
    places = np.arange(len(labels))
    middle, half = (low + high) / 2, (high - low) / 2
    axes.errorbar(places, middle, yerr=half, fmt="none", ecolor="0.6", capsize=2)
    axes.plot(places, estimate.values, "o", color="C0", markersize=4)
    if len(labels) == 1:
        for end in estimate.evidence.limits:  # the truth lies between the ends of the range
            axes.axhline(end, color="0.85", linewidth=1)
        axes.set_xlim(-1, 1)
    else:
        axes.axhline(0, color="0.85", linewidth=1)
    if len(labels) <= 40:
        axes.set_xticks(places, labels, rotation=45 if max(map(len, labels)) > 4 else 0)
    axes.set_ylabel(estimate.evidence.noun)
    note = estimate.remark(bounds)
    if note is not None:
        axes.set_xlabel(fill(note, 90), fontsize="small", loc="left")
    through = ", ".join(dict.fromkeys(source.mechanism.name for source in estimate.sources))
    kind = "simulation of " if estimate.simulated else ""
    axes.set_title(f"{kind}{through}, n = {estimate.n:,}, {level:.0%} intervals")
    return axes
