"""Shares under priors of random walks: smooth where the reports allow it, and sharp where they ask for it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.params import reject
from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.decoders.em import EmDecoder
from sottovoce.estimate.distribution.bayes.condense import MOST_PARTS, Condensed, condensed, evenly
from sottovoce.estimate.distribution.bayes.heaps import heaps
from sottovoce.estimate.distribution.bayes.modes import Smooth, smooth
from sottovoce.estimate.distribution.bayes.walks import FEW_WALKS, WALKS
from sottovoce.estimate.evidence import Evidence, Floats, Offer
from sottovoce.estimate.frequency.maximise import NotConvergedWarning, certificate, outside
from sottovoce.fast.threads import small_matrices


@dataclass(frozen=True, slots=True)
class BayesDecoder(Decoder):
    """The modes of posteriors, averaged by the evidence for each prior (`estimate.distribution.bayes.modes`).

    `fast` tries half of the walks. More than 256 buckets are estimated as 256 parts, each spread evenly: as equal ones,
    and as parts that are small where many answers are, averaged by the evidence too. Numbers on a line may also be
    heaped: rounded, or at an end of the range (`estimate.distribution.bayes.heaps`).
    """

    name: ClassVar[str] = "bayes"
    needs: ClassVar[frozenset[Offer]] = frozenset({Offer.LIKELIHOOD, Offer.ORDER})
    projects: ClassVar[bool] = False
    kind: ClassVar[str] = "those of a likelihood with smooth priors"
    fast: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.fast, bool):
            raise reject("fast", "bayes", "true or false", self.fast)

    def solve(self, evidence: Evidence) -> Decoded:
        source = evidence.distribution
        if source is None:
            raise ParameterError("The decoder bayes is for distributions.")
        mixture, widths = evidence.likelihood(), source.buckets.widths
        try:
            coarse = condensed(mixture, widths)
        except TooLargeError:
            return _fallback(evidence, "their likelihood is too large")
        with small_matrices():
            walks = FEW_WALKS if self.fast else WALKS
            found = [(coarse, smooth(coarse, source.circular, walks, heaps(coarse, mixture, source.buckets)))]
            if len(widths) > MOST_PARTS:
                even = evenly(mixture, widths, coarse)
                found.append((even, smooth(even, source.circular, walks)))
        values = _together(found, widths)
        if values is None:
            return _fallback(evidence, "no mode was found")
        return Decoded(values, Fit(sum(modes.steps for _, modes in found), certificate(mixture.slope(values))))


def _together(found: Sequence[tuple[Condensed, Smooth]], widths: Floats) -> Floats | None:
    """The shares of all buckets: the mean over all ways to put them into parts, weighted by the evidence."""
    total = np.logaddexp.reduce([modes.evidence for _, modes in found])
    if not np.isfinite(total):
        return None
    values = np.zeros(len(widths))
    for parts, modes in found:
        if modes.shares is not None:
            values += np.exp(modes.evidence - total) * (parts.spread(modes.shares, widths) + modes.points)
    return values


def _fallback(evidence: Evidence, why: str) -> Decoded:
    """EM instead, said aloud."""
    warnings.warn(
        f"The decoder bayes could not be used for these reports: {why}. These are the shares of the decoder em.",
        NotConvergedWarning,
        stacklevel=outside(),
    )
    return EmDecoder().decode(evidence)
