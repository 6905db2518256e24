"""The shares of largest likelihood, with a bound on the remaining gap.

EM, also called iterative Bayesian update, multiplies each share by its gradient. It never lowers the likelihood, but it
is slow if a report has little information: a share f then moves at a rate of about f times that information. In that
case, however, the likelihood is nearly a round bowl, and projected gradient steps with the length of Barzilai and
Borwein reach its maximum in tens of steps; if a report has much information, EM is fast. So each iteration takes one
step of either kind. A gradient step that would lower the likelihood is shortened, and finally left out.

Reference: Agrawal, Aggarwal, "On the design and quantification of privacy preserving data mining algorithms",
PODS 2001 (EM); Birgin, Martinez, Raydan, "Nonmonotone spectral projected gradient methods on convex sets", SIAM
Journal on Optimization 2000.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.decoder import Fit
from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.mixture import Mixture, Slope

TOLERANCE = 1e-9
MAX_ITERATIONS = 20_000
_LENGTHS = (1e-8, 1e8)  # of a gradient step
_SHORTER = 4.0
_SHORTENINGS = 8


class NotConvergedWarning(UserWarning):
    """A decoder ended before its bound reached the requested tolerance."""


def certificate(slope: Slope) -> float:
    """How far the log-likelihood per report can be below its largest.

    The log-likelihood is concave, so at any shares h it is at most value + gradient . (h - f). As gradient . f = 1, and
    gradient . h is at most the largest entry, no h gains more than max(gradient) - 1 (the Frank-Wolfe gap).
    """
    return max(0.0, float(slope.gradient.max()) - 1.0)


def em_step(shares: Floats, slope: Slope) -> Floats:
    """The posterior mean number of holders of each code, as shares."""
    moved = shares * slope.gradient
    return np.asarray(moved / moved.sum())


def equal_shares(mixture: Mixture) -> tuple[Floats, Slope]:
    """Where all decoders start, if the reports are possible."""
    shares = np.full(mixture.codes, 1 / mixture.codes)
    slope = mixture.slope(shares)
    if not np.isfinite(slope.value):
        raise ParameterError("Some of these reports are impossible under this mechanism, so they have no likelihood.")
    return shares, slope


def maximise(
    mixture: Mixture, *, tolerance: float = TOLERANCE, max_iterations: int = MAX_ITERATIONS
) -> tuple[Floats, Fit]:
    """Shares whose certificate is below the tolerance."""
    shares, slope = equal_shares(mixture)
    iterations, length = 0, 1.0
    while certificate(slope) >= tolerance and iterations < max_iterations:
        moved, further = _gradient_step(mixture, shares, slope, length)
        change = moved - shares
        bend = float(change @ (slope.gradient - further.gradient))
        if bend > 0:  # by concavity, up to rounding
            length = float(np.clip(change @ change / bend, *_LENGTHS))
        shares = em_step(moved, further)
        slope = mixture.slope(shares)
        iterations += 1
    return shares, ended(Fit(iterations, certificate(slope)), tolerance)


def ended(fit: Fit, tolerance: float) -> Fit:
    """How a decoder ended, with a warning if its certificate is not below the tolerance."""
    if fit.gap >= tolerance:
        warnings.warn(
            f"The likelihood decoder ended after {fit.iterations} iterations; its log-likelihood per report may be"
            f" {fit.gap:.2g} below the largest. Allow more iterations, or a larger tolerance.",
            NotConvergedWarning,
            stacklevel=outside(),
        )
    return fit


def outside() -> int:
    """The stack level of the caller of this package: a decoder may be called from several places in it."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(f"{__name__.partition('.')[0]}."):
        frame, level = frame.f_back, level + 1
    return level


def _gradient_step(mixture: Mixture, shares: Floats, slope: Slope, length: float) -> tuple[Floats, Slope]:
    """The next shares, of larger likelihood, or the same shares if the gain is lost in rounding."""
    for _ in range(_SHORTENINGS):
        moved = simplex(shares + length * slope.gradient)
        further = mixture.slope(moved)
        # If the gain is lost in rounding, the gradient decides: a slope that rises at the end of a step has, by
        # concavity, risen all the way.
        rises = further.value > -np.inf and further.gradient @ (moved - shares) > 0
        if further.value > slope.value or rises:
            return moved, further
        length /= _SHORTER
    return shares, slope
