"""A true value that moves over epochs: a grid of models, weighed by how well each predicts the unbiased series.

In every model the truth of an epoch is a level, an irregular part that lasts one epoch, and in some a slope and a
season. Variances of their moves are in units of the variance of an estimate. Gains depend on variances only, so they
are computed once for many series that share them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtr, ndtri

from sottovoce.estimate.evidence import Floats

MOVES = (0.0, *10.0 ** np.arange(-6, 4.5, 0.5))  # variances of the level's moves, up to 10,000
BENDS = tuple(10.0 ** np.arange(-12, 0.5, 1.0))  # of the slope's moves
IRREGULAR = (0.0, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0, 1e4)
SEASONS = (0.0, 1e-3)
COARSE = 2  # models with a season have large states, so their grid has every second variance only
WIDE = 1e3  # the standard deviation of what is not known at first, in units of the spread of the series
SURE = 1e-12


@dataclass(frozen=True)
class Models:
    """Models with states of one size.

    Attributes:
        moves: how the state moves from one epoch to the next.
        noise: the covariance matrices of the moves, one for each model.
        seen: which part of the state adds to the truth.
        irregular: the variance of the irregular part, one for each model.
    """

    moves: Floats
    noise: Floats
    seen: Floats
    irregular: Floats

    @classmethod
    def levels(cls, step: int = 1) -> Models:
        """A level that moves at random; every `step`-th variance of the grid."""
        moves, odd = _pairs(MOVES[::step], IRREGULAR[::step])
        return cls(np.eye(1), moves[:, None, None], np.ones(1), odd)

    @classmethod
    def slopes(cls, step: int = 1) -> Models:
        """A level that moves by a slope, which moves at random."""
        bends, odd = _pairs(BENDS[::step], IRREGULAR[::step])
        noise = bends[:, None, None] * np.array([[1 / 3, 1 / 2], [1 / 2, 1]])
        return cls(np.array([[1.0, 1], [0, 1]]), noise, np.array([1.0, 0]), odd)

    def seasonal(self, period: int) -> Models:
        """Add a season to these models, which sums to nearly zero over a period and may move."""
        size, more = len(self.seen), period - 1
        moves = np.zeros((size + more, size + more))
        moves[:size, :size] = self.moves
        moves[size, size:] = -1
        moves[np.arange(size + 1, size + more), np.arange(size, size + more - 1)] = 1
        noise = np.zeros((len(SEASONS) * len(self.noise), size + more, size + more))
        noise[:, :size, :size] = np.tile(self.noise, (len(SEASONS), 1, 1))
        noise[:, size, size] = np.repeat(SEASONS, len(self.noise))
        return Models(
            moves,
            noise,
            np.concatenate([self.seen, [1.0], np.zeros(more - 1)]),
            np.tile(self.irregular, len(SEASONS)),
        )


def _pairs(first: Sequence[float], second: Sequence[float]) -> tuple[Floats, Floats]:
    """All pairs of two lists, in two columns."""
    columns = np.meshgrid(first, second, indexing="ij")
    return columns[0].ravel(), columns[1].ravel()


@dataclass(frozen=True)
class ModelFit:
    """Means and variances of the truth under each model, and what the model says about the data.

    Attributes:
        filtered, smoothed: means of the truth from epochs so far and from all: epochs x series x models.
        filtered_variances, smoothed_variances: their variances: epochs x models.
        errors, spreads: one-step prediction errors (epochs x series x models) and their variances (epochs x models).
    """

    models: Models
    filtered: Floats
    filtered_variances: Floats
    smoothed: Floats
    smoothed_variances: Floats
    errors: Floats
    spreads: Floats

    @cached_property
    def likelihoods(self) -> Floats:
        """Logarithms of the likelihood of all data up to each epoch: epochs x series x models.

        As many epochs as the state has parts only locate it.
        """
        logs = -0.5 * (np.log(self.spreads)[:, None, :] + self.errors**2 / self.spreads[:, None, :])
        logs[: len(self.models.seen)] = 0
        return np.asarray(np.cumsum(logs, axis=0))


def fit(values: Floats, variances: Floats, models: Models) -> ModelFit:
    """Kalman filter and smoother of all models at once.

    Args:
        values: epochs x series, centred.
        variances: the variance of the estimate of each epoch, relative to the unit of the models.
    """
    epochs, series = values.shape
    size, count = len(models.seen), len(models.irregular)
    wide = (WIDE * max(1.0, float(np.abs(values).max()))) ** 2
    state = np.zeros((series, count, size))
    spread = np.tile(np.eye(size) * wide, (count, 1, 1))
    states, spreads = np.zeros((epochs, series, count, size)), np.zeros((epochs, count, size, size))
    errors, predicted = np.zeros((epochs, series, count)), np.zeros((epochs, count))
    before = np.zeros_like(spreads)
    for epoch in range(epochs):
        if epoch:
            state = state @ models.moves.T
            spread = models.moves @ spread @ models.moves.T + models.noise
        before[epoch] = spread
        column = spread @ models.seen
        predicted[epoch] = column @ models.seen + models.irregular + variances[epoch]
        errors[epoch] = values[epoch][:, None] - state @ models.seen
        gain = column / predicted[epoch][:, None]
        state = state + errors[epoch][:, :, None] * gain
        # Joseph's form keeps covariance matrices positive although they are wide at first.
        keep = np.eye(size) - gain[:, :, None] * models.seen
        rest = (models.irregular + variances[epoch])[:, None, None] * gain[:, :, None] * gain[:, None, :]
        spread = keep @ spread @ keep.transpose(0, 2, 1) + rest
        states[epoch], spreads[epoch] = state, spread
    later, later_spreads = _smoothed(states, spreads, before, models)
    filtered = _truth(states, spreads, values, variances, models)
    smooth = _truth(later, later_spreads, values, variances, models)
    return ModelFit(models, *filtered, *smooth, errors, predicted)


def _smoothed(states: Floats, spreads: Floats, before: Floats, models: Models) -> tuple[Floats, Floats]:
    """States given all epochs, backwards (Rauch, Tung and Striebel)."""
    later, later_spreads = states.copy(), spreads.copy()
    for epoch in range(len(states) - 2, -1, -1):
        jitter = SURE * np.eye(len(models.seen))
        gain = np.linalg.solve(before[epoch + 1] + jitter, models.moves @ spreads[epoch]).transpose(0, 2, 1)
        moved = later[epoch + 1] - states[epoch] @ models.moves.T
        later[epoch] = states[epoch] + np.einsum("gij,sgj->sgi", gain, moved)
        change = later_spreads[epoch + 1] - before[epoch + 1]
        later_spreads[epoch] = spreads[epoch] + gain @ change @ gain.transpose(0, 2, 1)
    return later, later_spreads


def _truth(states: Floats, spreads: Floats, values: Floats, variances: Floats, models: Models) -> tuple[Floats, Floats]:
    """Means and variances of the truth: the regular part, and the irregular part that the rest leaves."""
    regular = states @ models.seen
    spread = np.einsum("i,tgij,j->tg", models.seen, spreads, models.seen)
    total = models.irregular + variances[:, None]
    part = models.irregular / total
    mean = regular + part[:, None, :] * (values[:, :, None] - regular)
    return mean, (1 - part) ** 2 * spread + models.irregular * variances[:, None] / total


@dataclass(frozen=True)
class ModelAverage:
    """What all models say together, online and looking back; each array is epochs x series."""

    online: Floats
    online_variances: Floats
    smooth: Floats
    smooth_variances: Floats
    surprises: Floats  # standard normal while the models hold


def mix(values: Floats, variances: Floats, period: int | None = None) -> ModelAverage:
    """Weigh all models by their likelihood.

    Args:
        values: epochs x series.
        variances: the variance of each epoch's estimates, the same for all series.
        period: epochs of a season.
    """
    unit = float(np.mean(variances))
    centre = np.average(values, axis=0, weights=1 / variances)
    scaled, relative = (values - centre) / np.sqrt(unit), variances / unit
    kinds = [Models.levels(), Models.slopes()]
    if period is not None:
        kinds += [one.seasonal(period) for one in (Models.levels(COARSE), Models.slopes(COARSE))]
    fits = [fit(scaled, relative, models) for models in kinds]
    # Before any data all kinds weigh the same, and so do all models of a kind: flat over magnitudes of the variances.
    priors = np.concatenate([np.full(len(one.models.irregular), -np.log(len(one.models.irregular))) for one in fits])
    # Every kind of model is judged by the same epochs: those after the longest state is located.
    skip = max(len(one.models.seen) for one in fits)
    logs = np.concatenate([one.likelihoods - one.likelihoods[skip - 1] for one in fits], axis=2)
    logs[:skip] = 0
    weights = _shares(logs + priors)
    now, back = (np.concatenate([getattr(one, name) for one in fits], axis=-1) for name in ("filtered", "smoothed"))
    now_spread, back_spread = (
        np.concatenate([getattr(one, f"{name}_variances") for one in fits], axis=1) for name in ("filtered", "smoothed")
    )
    errors = np.concatenate([one.errors for one in fits], axis=2)
    spreads = np.concatenate([one.spreads for one in fits], axis=1)
    ahead = np.concatenate([weights[:1], weights[:-1]])
    below = np.sum(ahead * ndtr(errors / np.sqrt(spreads)[:, None, :]), axis=2)
    above = np.sum(ahead * ndtr(-errors / np.sqrt(spreads)[:, None, :]), axis=2)
    surprises = np.where(below < above, ndtri(np.clip(below, 1e-300, 1)), -ndtri(np.clip(above, 1e-300, 1)))
    surprises[:skip] = 0
    results: list[Floats] = []
    for means, spread, chance in ((now, now_spread, weights), (back, back_spread, weights[-1:])):
        mean = np.sum(chance * means, axis=2)
        variance = np.sum(chance * (spread[:, None, :] + (means - mean[:, :, None]) ** 2), axis=2)
        results += [mean * np.sqrt(unit) + centre, variance * unit]
    online, online_variances, smooth, smooth_variances = results
    return ModelAverage(online, online_variances, smooth, smooth_variances, surprises)


def _shares(logs: Floats) -> Floats:
    """Weights that sum to one over the last axis, from their logarithms."""
    top = logs - logs.max(axis=-1, keepdims=True)
    weights = np.exp(top)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))
