"""How coordinates of a vector go together, from reports that contain several of them.

A tally counts each coordinate by itself, so these numbers need the reports themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import SampledCoordinates
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.mean.readings import numbers_at
from sottovoce.estimate.vector_mean.coordinates import coordinates_apart, ranges_of
from sottovoce.fast.batch import Reports


@dataclass(frozen=True, slots=True, eq=False)
class CoordinatePairs:
    """The covariance of each two coordinates; NaN on the diagonal, and where no report contains both.

    Attributes:
        answers: Unbiased covariances of the answers: noise is independent from coordinate to coordinate.
        std_errors: Their standard errors.
        means: The covariances of the estimated means.
        counts: How many reports contain both coordinates.
    """

    answers: Floats
    std_errors: Floats
    means: Floats
    counts: NDArray[np.int64]


def coordinate_pairs(reports: Reports) -> CoordinatePairs:
    """The covariances of the coordinates of vectors, from reports of `sampled` (2 or more at a time) or
    `split-epsilon`."""
    readings = _readings(reports)
    present = ~np.isnan(readings)
    size = readings.shape[1]
    answers, errors, means = (np.full((size, size), np.nan) for _ in range(3))
    counts = present.T.astype(np.int64) @ present.astype(np.int64)
    for i in range(size):
        for j in range(i):
            n = int(counts[i, j])
            if n < 3:
                continue
            both = readings[present[:, i] & present[:, j]][:, [i, j]]
            products = np.prod(both - both.mean(axis=0), axis=1) * n / (n - 1)
            answers[i, j] = answers[j, i] = products.mean()
            errors[i, j] = errors[j, i] = products.std(ddof=1) / np.sqrt(n)
            means[i, j] = means[j, i] = products.mean() * n / (counts[i, i] * counts[j, j])
    return CoordinatePairs(answers, errors, means, counts)


def _readings(reports: Reports) -> Floats:
    """The reading of each coordinate in each report; NaN where a report does not contain it."""
    mechanism, channel = reports.mechanism, _sampled(reports.mechanism)
    width, count, n = channel.inner.payload_bits, channel.count, len(reports)
    payload = np.ascontiguousarray(reports.payload.reshape(n, -1))
    bits = np.unpackbits(payload.astype(payload.dtype.newbyteorder("<")).view(np.uint8), axis=1, bitorder="little")
    parts = bits[:, : width * count].reshape(n, count, width) @ (1 << np.arange(width))
    scales, outputs = channel.part_scales() or (), outputs_of(channel.inner) or 0
    numbers = numbers_at(list(scales), [*(scale.first for scale in scales[1:]), outputs], np.arange(outputs))
    first = np.zeros(n, np.int64) if reports.public is None else _first(channel, reports.public)
    lows, steps = ranges_of(channel.roundings, mechanism.domain.coordinates or ())
    places = (first[:, None] + np.arange(count)) % channel.dimensions
    readings = np.full((n, channel.dimensions), np.nan)
    np.put_along_axis(readings, places, lows[places] + steps[places] * numbers[parts], axis=1)
    return readings


def _first(channel: SampledCoordinates, public: NDArray[np.uint64]) -> NDArray[np.int64]:
    """The first coordinate of each report, which its public words choose."""
    return np.array([channel.first((int(words[0]), int(words[1]))) for words in public], np.int64)


def _sampled(mechanism: Mechanism) -> SampledCoordinates:
    """The channel of a mechanism whose reports contain several coordinates."""
    channel = coordinates_apart(mechanism.channel)
    if channel is None or channel.count < 2:
        raise ParameterError(
            f"The reports of this {mechanism.name} do not contain two coordinates each. Use split-epsilon, or sampled"
            " with count=2 or more."
        )
    return channel
