"""The projection of a descent, compiled."""

from __future__ import annotations

from sottovoce.fast.compiled import compiled

STEPS = 80  # of Newton's method, which takes about ten
TOLERANCE = 1e-10


@compiled
def project_columns(t, total):
    """The nearest matrix in [0, 1] whose columns sum to `total`, in place: each column less some number, clipped.

    The sum falls with that number and is piecewise linear, so Newton's method, kept inside a shrinking interval,
    ends after a few steps.
    """
    outputs, codes = t.shape
    for c in range(codes):
        low, high, shift = t[:, c].min() - 1.0, t[:, c].max(), 0.0
        for _ in range(STEPS):
            column_sum, free = 0.0, 0
            for y in range(outputs):
                value = t[y, c] - shift
                if value >= 1.0:
                    column_sum += 1.0
                elif value > 0.0:
                    column_sum += value
                    free += 1
            gap = column_sum - total
            if abs(gap) <= TOLERANCE * total:
                break
            if gap > 0:
                low = shift
            else:
                high = shift
            following = shift + gap / free if free > 0 else low
            shift = following if low < following < high else 0.5 * (low + high)
        for y in range(outputs):
            t[y, c] = min(1.0, max(0.0, t[y, c] - shift))
