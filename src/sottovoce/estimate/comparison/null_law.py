"""The exact covariance of estimated shares at shares that a hypothesis states."""

from __future__ import annotations

import numpy as np

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.errors import NoCovarianceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.estimate.frequency.evidence import from_cells
from sottovoce.estimate.frequency.laws import output_law
from sottovoce.estimate.frequency.supports import two_rates
from sottovoce.estimate.request import Target

NOT_KNOWN = (
    "The covariance of these shares under a hypothesis is not known, so there is no chi-square test. Hashed reports"
    " (olh, rappor, sketches) are tested one value at a time: use sv.compare and its adjusted p-values, or collect with"
    " grr, subset, oue or hadamard."
)
MANY = 1 << 44  # reports of an expected tally; rounding its cells to whole reports costs nothing


def covariance_at(mechanism: Mechanism, shares: Floats) -> Floats:
    """The covariance of the estimated shares from one report, if the true shares are these."""
    cells = _expected_cells(mechanism, shares)
    return np.asarray(from_cells(mechanism, MANY, cells).covariance(Target.POPULATION) * MANY)


def _expected_cells(mechanism: Mechanism, shares: Floats) -> Ints:
    """The expected tally of many reports."""
    channel, statistic = mechanism.channel, mechanism.statistic
    if channel.publics:
        raise NoCovarianceError(NOT_KNOWN)
    if isinstance(statistic, CountOutputs):
        rates = shares @ output_law(channel)
    elif isinstance(statistic, CountSupports) and rates_of(channel) is not None:
        own, other = two_rates(channel)
        rates = other + (own - other) * shares
    else:
        raise NoCovarianceError(NOT_KNOWN)
    return np.rint(rates * MANY).astype(np.int64)
