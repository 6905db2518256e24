"""Shares under priors of random walks: smooth where the reports allow it, and sharp where they ask for it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.params import reject
from sottovoce.estimate.decoder import Decoded, Decoder, Fit
from sottovoce.estimate.decoders.em import EmDecoder
from sottovoce.estimate.distribution.bayes.condense import condensed
from sottovoce.estimate.distribution.bayes.heaps import heaps
from sottovoce.estimate.distribution.bayes.modes import smooth
from sottovoce.estimate.distribution.bayes.walks import FEW_WALKS, WALKS
from sottovoce.estimate.evidence import Evidence, Offer
from sottovoce.estimate.frequency.maximise import NotConvergedWarning, certificate, outside
from sottovoce.fast.threads import small_matrices


@dataclass(frozen=True, slots=True)
class BayesDecoder(Decoder):
    """The modes of posteriors, averaged by the evidence for each prior (`estimate.distribution.bayes.modes`).

    `fast` tries half of the walks. More than 256 buckets are estimated as 256 parts, each spread evenly, which are
    small where many answers are. Numbers on a line may also be heaped: rounded, or at an end of the range
    (`estimate.distribution.bayes.heaps`).
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
            modes = smooth(coarse, source.circular, walks, heaps(coarse, mixture, source.buckets))
        if modes.shares is None:
            return _fallback(evidence, "no mode was found")
        values = coarse.spread(modes.shares, widths) + modes.points
        return Decoded(values, Fit(modes.steps, certificate(mixture.slope(values))))


def _fallback(evidence: Evidence, why: str) -> Decoded:
    """EM instead, said aloud."""
    warnings.warn(
        f"The decoder bayes could not be used for these reports: {why}. These are the shares of the decoder em.",
        NotConvergedWarning,
        stacklevel=outside(),
    )
    return EmDecoder().decode(evidence)
