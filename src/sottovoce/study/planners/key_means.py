"""Plans for shares of keys and means of their numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import KeyValue
from sottovoce.core.errors import ParameterError
from sottovoce.core.question import KeyMeans
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.key_means.evidence import check_truth, predicted_shares
from sottovoce.estimate.request import Target
from sottovoce.study.planners.base import (
    FOUND,
    OWNER,
    Option,
    Planner,
    Request,
    RootWays,
    TriedMechanism,
    found_sentence,
    no_method,
    shortest_first,
)

# More reports about ends tell means more exactly, and shares of keys less.
_VARIANTS: tuple[dict[str, Any], ...] = ({}, {"about_ends": Decimal("0.9")})
VARIANTS = {"key-mask": _VARIANTS, "key-cells": _VARIANTS}


@dataclass(frozen=True, slots=True)
class KeyMeansPlanner(Planner):
    """Without a prior people are assumed to hold half of the keys that they may, all equally common, with numbers in
    the middle of the range."""

    measure: ClassVar[str] = "the mean of a key, root mean square over all keys"

    domain: KeyValue
    truth: tuple[NDArray[np.float64], NDArray[np.float64]]
    methods: tuple[str, ...]
    target: Target

    @property
    def subject(self) -> str:
        return f"Means of {len(self.domain.keys)} keys, of which a person holds at most {self.domain.most}"

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates: list[TriedMechanism] = []
        tried = [(name, options) for name in self.methods for options in VARIANTS.get(name, ({},))]
        for name, options in tried:
            try:
                mechanism = build(name, self.domain, epsilon=epsilon, **options)
            except ParameterError:
                continue
            variances = mechanism.variance(self.truth, 1, target=self.target)
            shown = f"{name} ({options['about_ends']} about ends)" if options else name
            candidates.append(TriedMechanism(math.sqrt(float(np.mean(variances))), mechanism, shown))
        if not candidates:
            raise no_method(epsilon, self.methods)
        return shortest_first(candidates)

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterable[str]:
        """The error of the share of a key, from the same reports."""
        variances = predicted_shares(best.mechanism, self.truth, participants, target=self.target)
        error = math.sqrt(float(np.mean(variances)))
        keys = len(self.domain.keys)
        rare = np.full(keys, 1e-12), np.full(keys, self.domain.middle)
        noise = math.sqrt(float(predicted_shares(best.mechanism, rare, participants)[0]))
        found = noise * (NormalDist().inv_cdf(1 - 0.025 / keys) + NormalDist().inv_cdf(FOUND))
        if found < 1:
            yield found_sentence("A key", found, f"{keys:,} keys")
        yield f"The share of a key has a standard error of {100 * error:.2g} percentage points, from the same reports."


def planner(request: Request) -> KeyMeansPlanner:
    """Checks the request; the prior is a pair: the expected share of each key, and the expected means."""
    request.refuse_mechanism()
    domain: Any = request.question.domain
    shares, means = check_truth(domain, request.prior, OWNER)
    truth = shares, domain.middle + domain.half * means
    return KeyMeansPlanner(domain, truth, tuple(request.registered(KeyMeans)), request.target)
