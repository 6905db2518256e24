"""Means of several numbers, each reported by some of the participants."""

from __future__ import annotations

from dataclasses import replace

from sottovoce.estimate.attributes.evidence import AttributesEvidence
from sottovoce.estimate.evidence import Bounds, Floats
from sottovoce.estimate.request import IntervalRequest, Target


class SampledMeansEvidence(AttributesEvidence):
    """Means of fields that a random part of the participants reported.

    The mean over all participants also has the chance of who reported which field. The variance for the population is
    an upper bound for it: it includes the same chance, for a crowd without end.
    """

    __slots__ = ()

    def variances(self, target: Target) -> Floats:
        return AttributesEvidence.variances(self, Target.POPULATION)

    def interval(self, request: IntervalRequest) -> Bounds:
        return AttributesEvidence.interval(self, replace(request, target=Target.POPULATION))
