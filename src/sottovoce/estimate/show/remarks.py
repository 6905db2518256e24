"""One sentence about estimates and intervals outside the possible range."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sottovoce.core.language.plural import plural
from sottovoce.estimate.request import Method

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.evidence import Bounds
    from sottovoce.estimate.request import Target


def outside(estimate: Estimate) -> int:
    """How many estimates lie outside the possible range."""
    low, high = estimate.evidence.limits
    return int(np.sum((estimate.values < low) | (estimate.values > high)))


def reach(estimate: Estimate) -> str:
    """The possible range, in words."""
    low, high = (np.unique(end) for end in estimate.evidence.limits)
    return f"[{low[0]:g}, {high[0]:g}]" if len(low) == len(high) == 1 else "their ranges"


def remark(estimate: Estimate, bounds: Bounds, target: Target) -> str | None:
    """Why estimates or intervals lie outside the possible range, and which method stays inside; None if none do."""
    low, high = estimate.evidence.limits
    beyond = (estimate.values < low) | (estimate.values > high)
    empty = (bounds.high < low) | (bounds.low > high)
    if not (beyond | empty).any():
        return None
    apart = beyond & ~empty & ((estimate.values < bounds.low) | (estimate.values > bounds.high))
    error = float(np.sqrt(np.max(estimate.evidence.variances(target)[beyond | empty])))
    parts = [_counted(int(beyond.sum()), len(beyond), "estimate"), _counted(int(empty.sum()), len(empty), "interval")]
    single = int(beyond.sum() + empty.sum()) == 1
    text = (
        f"{' and '.join(filter(None, parts))} {'lies' if single else 'lie'} outside {reach(estimate)}, where no"
        f" {estimate.evidence.noun} can be: that is noise, the standard error with"
        f" {plural(estimate.n, 'report')} at epsilon"
        f" {estimate.epsilon:.6g} is {error:.2g}"
    )
    if apart.any():
        text += "; an interval that keeps to the range does not contain such an estimate"
    if empty.any() and Method.BOUNDED in estimate.evidence.methods:
        text += f"; method 'bounded' gives valid intervals inside {reach(estimate)}"
    return text + "."


def _counted(count: int, of: int, what: str) -> str:
    return f"{count} of {of} {what}{'' if of == 1 else 's'}" if count else ""
