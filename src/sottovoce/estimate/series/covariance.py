"""Variances of sums over epochs in which the same people answer: what sampling shares, and what memos share.

Noise that is drawn afresh in each epoch is independent. Two things are shared between the epochs of one person: the
answers, as far as they stay, and the noise of a memo, as far as the answer stays.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sottovoce.core.channel.facets import Memoised, facet, need, outputs_of, scales_of, stages_of
from sottovoce.core.channel.shapes import shared_rates
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.asked import AskedEvidence
from sottovoce.estimate.request import Target

if TYPE_CHECKING:
    from sottovoce.estimate.estimate import Estimate

ALIKE = 0.01  # numbers of reports that differ by no more belong to one panel


def memo_variances(estimate: Estimate) -> Floats | None:
    """The part of the variances that comes from memos; zeros where nothing is kept, None where it is not known.

    The mean of the reports of a memo says whether the memo supports a code. So the part of a memo is the variance of
    the estimate that its first stage alone would give.
    """
    if all(one.mechanism.claimed_forever is None for one in estimate.sources):
        return np.zeros(len(estimate.labels))
    if len(estimate.sources) != 1:
        return None
    channel = estimate.sources[0].mechanism.channel
    if not estimate.question.is_share:
        return _memo_variances_of_mean(estimate)
    first, both = shared_rates(need(channel, Memoised).kept), shared_rates(channel)
    if first is None or both is None or isinstance(estimate.evidence, AskedEvidence):
        return None
    own, other = float(first.own), float(first.other)
    shares = np.clip(estimate.evidence.values(), 0, 1)
    return np.asarray((shares * own * (1 - own) + (1 - shares) * other * (1 - other)) / (own - other) ** 2 / estimate.n)


def _memo_variances_of_mean(estimate: Estimate) -> Floats | None:
    """Shared noise of the mean of a number that is rounded to two ends: all noise but that of the fresh flips."""
    channel = estimate.sources[0].mechanism.channel
    stages, scales = stages_of(channel), scales_of(channel)
    if stages is None or scales is None or len(scales) != 1 or outputs_of(channel) != 2:
        return None
    kept = float(stages[1].likelihood(0, 0))
    fresh = kept * (1 - kept) / float(scales[0].slope) ** 2 / estimate.n
    return np.maximum(estimate.evidence.variances(Target.SAMPLE) - fresh, 0.0)


def memos_alike(estimate: Estimate) -> bool:
    """Whether different answers of a device may have one memo: below a cohort or a rounding."""
    found = (facet(one.mechanism.channel, Memoised) for one in estimate.sources)
    return any(memoised is not None and memoised.holds_chain for memoised in found)


def same_people(classes: Floats, window: int) -> np.ndarray:
    """Which pairs of epochs have people in common, by their numbers: those a multiple of the window apart."""
    apart = classes[:, None] - classes[None, :]
    return np.asarray(np.isclose(np.round(apart / window) * window, apart))


def memo_part(row: Floats, memos: Floats, changed: Floats | None, shared: np.ndarray, *, alike: bool = False) -> Floats:
    """What memos add to the variance of a weighted sum over epochs; exact if `changed` is, else an upper bound.

    With c the share of people whose answers differ between two epochs, their noise has the correlation 1 - c. Where c
    is not known, pairs of weights of one sign count with 1 and pairs of different signs with 0. Memos may be `alike`
    though answers differ, where a hash or a rounding takes them to one value: then 1 - c is the least correlation, and
    pairs of weights of one sign count with 1.
    """
    products = np.outer(row, row)
    if alike and changed is not None:
        correlation = np.where(products > 0, 1.0, 1 - changed)
    elif changed is None:
        correlation = (products > 0).astype(float)
    elif changed.ndim:
        correlation = 1 - changed
    else:
        correlation = np.where(products > 0, 1.0, 1 - float(changed))
    correlation = np.where(shared, correlation, 0.0)
    np.fill_diagonal(correlation, 1.0)
    roots = np.sqrt(memos)
    return np.asarray(np.einsum("sv,st,tv->v", roots, products * correlation, roots))


def sampling_part(
    row: Floats, sampling: Floats, reports: Floats, changed: Floats | None, shared: np.ndarray, *, share: bool
) -> Floats:
    """An upper bound of what the sampling of people adds to the variance of a weighted sum over epochs.

    Epochs with people in common may be correlated in any way, so their standard errors add up. Where it is known how
    many answers change, the weights of these epochs sum to zero, and values are shares, there is a second bound: the
    variance of a sum with weights a is -1/2 sum of a_s a_t Var(x_s - x_t), and Var(x_s - x_t) is at most the share of
    people whose answers differ.
    """
    left, total = np.ones(len(row), bool), np.zeros(sampling.shape[1])
    while left.any():
        group = shared[int(np.flatnonzero(left)[0])] & left
        left &= ~group
        weights = row[group]
        bound = (np.abs(weights) @ np.sqrt(sampling[group])) ** 2
        people = reports[group]
        if (
            changed is not None
            and share
            and abs(weights.sum()) <= 1e-9 * np.abs(weights).sum()
            and np.ptp(people) <= ALIKE * people.max()
        ):
            products = np.outer(weights, weights)
            moved = changed[np.ix_(group, group)] if changed.ndim else np.full(products.shape, float(changed))
            bound = np.minimum(bound, -0.5 * np.sum(np.where(products < 0, products * moved, 0)) / people.min())
        total += bound
    return total


def contrast_variance(
    row: Floats,
    variances: tuple[Floats, Floats, Floats],
    reports: Floats,
    changed: Floats | None,
    shared: np.ndarray,
    target: str,
    *,
    share: bool,
    alike: bool = False,
) -> Floats:
    """The variance of a weighted sum over epochs in which the same people answer.

    `variances` are those of the population, of all noise, and of the memos: a row for each epoch.
    """
    population, noise, memos = variances
    fresh = row**2 @ np.maximum(noise - memos, 0) + memo_part(row, memos, changed, shared, alike=alike)
    if target != Target.POPULATION:
        return np.asarray(fresh)
    sampling = np.maximum(population - noise, 0)
    return np.asarray(fresh + sampling_part(row, sampling, reports, changed, shared, share=share))
