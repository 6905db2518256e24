"""The law of numbered reports as a matrix, its left inverse, and which cells of a tally support a code."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.channel.compose.public import numbered_functions
from sottovoce.core.channel.facets import Supporting, need, outputs_of, rounding_of
from sottovoce.core.errors import NoCovarianceError, ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.estimate.evidence import Floats, Ints
from sottovoce.fast.kernels.compose.public import valuer
from sottovoce.tally.laws import law_at

MAX_SCORES = 1 << 25
PAIRWISE = (
    "Hashed reports are only pairwise independent, which fixes the variance of each share but not the covariance of"
    " two."
)


def output_law(channel: Channel) -> Floats:
    """The law of a channel with numbered outputs, one row per code."""
    outputs = outputs_of(channel)
    if outputs is None or channel.publics:
        raise TypeError(f"The reports of a {channel.kind} channel are not numbered.")
    if channel.codes_are_indices or rounding_of(channel) is not None:
        return np.array([law_at(channel, code) for code in channel.codes()])
    return np.array([[float(channel.likelihood(y, code)) for y in range(outputs)] for code in channel.codes()])


@lru_cache(maxsize=8)
def left_inverse(channel: Channel) -> Floats:
    """The unbiased linear estimator of least variance when all codes are equally common."""
    law = output_law(channel)
    weight = law.mean(axis=0)
    used = weight > 0
    scaled = law[:, used] / weight[used]
    gram = scaled @ law[:, used].T
    if np.linalg.cond(gram) > 1e12:
        raise ParameterError("The rows of this table are linearly dependent, so there is no unbiased estimate.")
    inverse = np.zeros_like(law)
    inverse[:, used] = np.linalg.solve(gram, scaled)
    inverse.setflags(write=False)  # shared by all callers
    return inverse


def cell_supports(mechanism: Mechanism, codes: Ints) -> Floats:
    """Which cells count reports that support each of some codes; for tallies that say how often each was sent."""
    channel = mechanism.channel
    if isinstance(mechanism.statistic, CountOutputs) and not channel.publics:
        return _output_supports(channel, codes.tolist())
    if not isinstance(mechanism.statistic, CountSeeds):
        raise NoCovarianceError(PAIRWISE)
    if len(codes) * mechanism.cells > MAX_SCORES:
        raise TooLargeError(f"The covariance of {len(codes)} shares from {mechanism.cells} cells is too large.")
    chosen, inner = numbered_functions(channel)
    seeds, wanted = np.arange(chosen.seeds), codes.astype(np.uint32)
    values = valuer(chosen)(np.tile(seeds, len(codes)), np.repeat(wanted, len(seeds)))
    return _output_supports(inner, range(chosen.outputs))[values].reshape(len(codes), -1)


def _output_supports(channel: Channel, codes: Iterable[int]) -> Floats:
    """Whether each output supports each code."""
    outputs, supports = range(outputs_of(channel) or 0), need(channel, Supporting).supports
    return np.array([[supports(output, code) for output in outputs] for code in codes], float)
