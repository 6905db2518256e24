"""The true numbers behind the lines of a study's results, where all answers are known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import singledispatch
from typing import Any

import numpy as np

from sottovoce.core.asked import ANSWERED, Asked
from sottovoce.core.domain.base import Domain
from sottovoce.core.question import (
    Cdf,
    CircularMean,
    Distribution,
    Frequency,
    GroupMean,
    Mean,
    Quantile,
    Question,
    Range,
    Variance,
)
from sottovoce.core.round import Estimates
from sottovoce.estimate.distribution.base import DistributionEvidence
from sottovoce.estimate.distribution.expected import cumulative
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.metrics import histogram

Truth = dict[tuple[str, str], float]


def truth_of(asked: Asked, column: Sequence[Any], estimates: Estimates) -> Truth:
    """By measure and label, as the results have them."""
    if isinstance(asked.question, Frequency):
        labels = [str(label) for label in asked.whole.domain.labels()]
        told = [str(value) for value in column]
        return {("share", label): told.count(label) / len(told) for label in labels}
    found = next((one for one in estimates.values() if isinstance(one, Estimate)), None)
    if not asked.missing:
        known = _truth(asked.question, column, found)
        if known is not None:
            return known
    whole = asked.whole
    return _by_group(whole.by, column) if isinstance(whole, GroupMean) else {}


def _by_group(by: Domain, column: Sequence[Any]) -> Truth:
    """A group that nobody is in has a share, and no mean."""
    groups: dict[str, list[float]] = {str(label): [] for label in by.labels()}
    for group, value in column:
        groups.setdefault(str(group), []).append(float(value))
    shares = {("share", group): len(values) / len(column) for group, values in groups.items()}
    means = {("mean", group): float(np.mean(values)) for group, values in groups.items() if values}
    answered = {("mean", ""): means[("mean", ANSWERED)]} if ("mean", ANSWERED) in means else {}
    return {**shares, **means, **answered}


@singledispatch
def _truth(question: Question, column: Sequence[Any], found: Estimate | None) -> Truth | None:
    return None


@_truth.register(Mean)
@_truth.register(Variance)
def _(question: Mean | Variance, column: Sequence[Any], found: Estimate | None) -> Truth | None:
    numbers = np.array([float(value) for value in column])
    return {(Mean.noun, ""): float(numbers.mean()), (Variance.noun, ""): float(numbers.var())}


@_truth.register
def _(question: Distribution, column: Sequence[Any], found: Estimate | None) -> Truth | None:
    if found is None or not isinstance(found.evidence, DistributionEvidence):
        return {}
    shares = histogram(found, column)
    known = {(question.noun, str(label)): float(share) for label, share in zip(found.labels, shares, strict=True)}
    if found.evidence.circular:
        return known
    at = np.array([found.evidence.buckets.place(value) for value in column])
    heights = [(at <= edge).mean() for edge in found.evidence.edges[1:-1]]
    labels = cumulative(found.evidence).labels
    return known | {(Cdf.noun, str(label)): float(one) for label, one in zip(labels, heights, strict=True)}


@_truth.register
def _(question: Quantile, column: Sequence[Any], found: Estimate | None) -> Truth | None:
    ranked = np.sort([float(value) for value in column])
    places = [max(0, math.ceil(float(share) * len(ranked)) - 1) for share in question.shares]
    return {
        (question.noun, f"{float(share):g}"): float(ranked[place])
        for share, place in zip(question.shares, places, strict=True)
    }


@_truth.register
def _(question: Range, column: Sequence[Any], found: Estimate | None) -> Truth | None:
    at = _places(question.domain, column)
    low, high = _places(question.domain, (question.low, question.high))
    inside = (low <= at) & (at <= high) if low <= high else (at >= low) | (at <= high)
    return {} if found is None else {(question.noun, str(found.labels[0])): float(inside.mean())}


@_truth.register
def _(question: Cdf, column: Sequence[Any], found: Estimate | None) -> Truth | None:
    at, points = _places(question.domain, column), _places(question.domain, question.points)
    labels = [] if found is None else [str(label) for label in found.labels]
    return {(question.noun, label): float((at <= point).mean()) for label, point in zip(labels, points, strict=False)}


@_truth.register
def _(question: CircularMean, column: Sequence[Any], found: Estimate | None) -> Truth | None:
    period = float(question.domain.high)  # type: ignore[attr-defined]
    turns = 2 * np.pi * np.array([float(value) for value in column]) / period
    direction = math.atan2(float(np.sin(turns).mean()), float(np.cos(turns).mean()))
    return {(question.noun, "circular mean"): direction % (2 * math.pi) / (2 * math.pi) * period}


def _places(domain: Domain, values: Sequence[Any]) -> np.ndarray:
    """Values as numbers that compare as they do: categories by their place in the list."""
    listed = domain.numbers is None and domain.size is not None
    return np.array([float(domain.encode(value) if listed else value) for value in values])
