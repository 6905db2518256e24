"""EM and EMS: shares of buckets from the likelihood of reports, by repeated updates.

EM multiplies each share by the mean of what the reports say of it. Run to the end it fits the noise of the reports, so
its authors end it early. EMS smooths the shares after each update, with the weights 1/4, 1/2, 1/4 of a bucket and its
neighbours; at a border the weights 2/3 and 1/3 are left, and shares are scaled to sum to one again.

Reference: Li et al., "Estimating numerical distributions under local differential privacy", SIGMOD 2020, section 5.5;
Nychka, "Some properties of adding a smoothing step to the EM algorithm", Statistics and Probability Letters 1990.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.errors import ParameterError
from sottovoce.estimate.decoder import Fit
from sottovoce.estimate.shares.mixture import Mixture

Floats = NDArray[np.float64]


def smoothed(shares: Floats, circular: bool) -> Floats:
    """Each share averaged with its neighbours."""
    if circular:
        return np.asarray(shares / 2 + (np.roll(shares, 1) + np.roll(shares, -1)) / 4)
    found = shares / 2
    found[1:-1] += (shares[:-2] + shares[2:]) / 4
    found[0] = (2 * shares[0] + shares[1]) / 3
    found[-1] = (2 * shares[-1] + shares[-2]) / 3
    return np.asarray(found / found.sum())


def iterate(
    mixture: Mixture, *, stop: float, smooth: bool, circular: bool = False, max_iterations: int
) -> tuple[Floats, Fit]:
    """Updates until the total log-likelihood changes by less than `stop`."""
    shares = np.full(mixture.codes, 1 / mixture.codes)
    slope = mixture.slope(shares)
    if not np.isfinite(slope.value):
        raise ParameterError("Some of these reports are impossible under this mechanism, so they have no likelihood.")
    iterations = 0
    while iterations < max_iterations:
        shares = shares * slope.gradient
        shares = smoothed(shares, circular) if smooth else shares / shares.sum()
        before, slope = slope.value, mixture.slope(shares)
        iterations += 1
        if abs(slope.value - before) * mixture.n < stop:
            break
    return shares, Fit(iterations, max(0.0, float(slope.gradient.max()) - 1))
