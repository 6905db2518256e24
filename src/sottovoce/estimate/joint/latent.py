"""Latent classes: a joint distribution of all attributes as a mixture of independent ones, with a Gaussian prior.

Each class has a weight and, for each attribute, shares of its answers. The parameters maximise the normal likelihood
of the reported residuals of all blocks of attributes times a Gaussian prior, which pulls the logarithms of the shares
of all classes together. Models of several strengths of the prior, and independence, are mixed with the weights that
predict best. Adding known noise divides the reported residuals into two independent parts, one to fit and one to
compare with. A mixture of such models is such a model, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import block_diag
from scipy.optimize import minimize

from sottovoce.estimate.decoders.simplex import simplex
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.joint import stacking
from sottovoce.estimate.joint.likelihood import ResidualLikelihood, Slopes
from sottovoce.estimate.joint.residuals import Names, Reported, TableSource, centred
from sottovoce.estimate.joint.waves import WaveReading

STRENGTHS = (0.5, 1.0, 2.0, 4.0)  # standard deviations of logarithms between classes
FEW, MANY, LARGE = 12, 24, 200_000  # classes, for fewer and for more participants than this
ADDED = 0.5  # variance of the added noise over that of the reports: a third of the information is left to compare
SPLITS, STEPS, QUICK_STEPS = 8, 200, 100
STARTS = 2  # fits of each strength from different starting points, of which the mixture is taken
RARE = 0.02  # weight below which a model is left out
LEAST = 2e-4  # share of an answer in a starting point
WALK = 4.0  # standard deviation of the logarithm of a density between both ends of a number asked through a wave
_PULL, _LEAST_PULL, _MOST_PULL = 10.0, 0.1, 0.5  # precision of the prior of mean logarithms, over a standard error
_WEIGHT_PULL = 0.25  # precision of the prior of the logarithms of class weights


@dataclass(frozen=True, slots=True, eq=False)
class LatentClasses:
    """A mixture of independent distributions; one class is independence."""

    names: Names
    weights: Floats
    shares: tuple[Floats, ...]  # of the answers of each attribute in each class

    def table(self, names: Sequence[str]) -> Floats:
        """The share of each cell of a table, in the order of the names."""
        product = self.weights[:, None]
        for name in names:
            own = self.shares[self.names.index(name)]
            product = (product[:, :, None] * own[:, None, :]).reshape(len(own), -1)
        return np.asarray(product.sum(axis=0).reshape([self.shares[self.names.index(name)].shape[1] for name in names]))

    def values(self, tables: Sequence[Names]) -> Floats:
        """The shares of all cells of several tables, one after another."""
        return np.concatenate([self.table(names).ravel() for names in tables])

    def draw(self, count: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """The codes of so many records, by attribute."""
        classes = generator.choice(len(self.weights), count, p=self.weights)
        bounds = {name: np.cumsum(own, axis=1) for name, own in zip(self.names, self.shares, strict=True)}
        drawn = {}
        for name, ends in bounds.items():
            codes = (generator.random(count)[:, None] > ends[classes]).sum(axis=1)
            drawn[name] = np.minimum(codes, ends.shape[1] - 1)
        return drawn


@dataclass(frozen=True, slots=True, eq=False)
class BucketClasses:
    """Latent classes with a share for each fine bucket of the numbers that were asked through waves."""

    buckets: LatentClasses
    waves: tuple[WaveReading, ...]

    @property
    def bins(self) -> LatentClasses:
        """The classes with the shares of the bins of the tables."""
        own = dict(zip(self.buckets.names, self.buckets.shares, strict=True))
        own |= {wave.name: own[wave.name] @ wave.bins.T for wave in self.waves}
        return LatentClasses(self.buckets.names, self.buckets.weights, tuple(own.values()))

    @property
    def weights(self) -> Floats:
        """The weights of the classes."""
        return self.buckets.weights

    def table(self, names: Sequence[str]) -> Floats:
        """The share of each cell of a table, in the order of the names."""
        return self.bins.table(names)

    def values(self, tables: Sequence[Names]) -> Floats:
        """The shares of all cells of several tables, one after another."""
        return self.bins.values(tables)

    def draw(self, count: int, generator: np.random.Generator) -> dict[str, np.ndarray]:
        """The codes of so many records, by attribute: of numbers the bins."""
        drawn = self.buckets.draw(count, generator)
        return drawn | {wave.name: wave.bin_of[drawn[wave.name]] for wave in self.waves}

    def synthesize(self, count: int, generator: np.random.Generator) -> tuple[dict[str, np.ndarray], dict[str, Floats]]:
        """The codes of so many records, and numbers inside their buckets for those that were asked through waves."""
        drawn = self.buckets.draw(count, generator)
        numbers = {wave.name: wave.inside(drawn[wave.name], generator) for wave in self.waves}
        return drawn | {wave.name: wave.bin_of[drawn[wave.name]] for wave in self.waves}, numbers


class LatentFit(NamedTuple):
    """The chosen model, its mean strength (0 for independence), and the independent model beside it."""

    model: LatentClasses | BucketClasses
    strength: float
    independent: LatentClasses
    steps: int


def independence(sizes: dict[str, int], blocks: Sequence[Reported]) -> LatentClasses:
    """One class: the product of the shares of each attribute, moved to the nearest possible shares."""
    effects = {block.names[0]: block.residual for block in blocks if len(block.names) == 1}
    shares = tuple(simplex(1 / size + effects.get(name, np.zeros(size)))[None, :] for name, size in sizes.items())
    return LatentClasses(tuple(sizes), np.ones(1), shares)


def fit(tables: TableSource, classes: int | None, seed: int) -> LatentFit:
    """The mixture of models of several strengths and of independence that predicts best, fitted to all reports."""
    generator = np.random.default_rng(seed)
    reports, count = FitReports(tables.sizes, tables.blocks_of_views(), tables.waves), classes or _classes(tables.n)
    shares = _shares_of_models(reports, count, generator)
    baseline = independence(tables.sizes, tables.blocks())
    models, steps = [(shares[0], reports.spread(baseline))], 0
    for share, strength in zip(shares[1:], STRENGTHS, strict=True):
        for _ in range(STARTS if share > RARE else 0):
            start = _start(reports.spread(baseline), count, generator)
            vector, taken = _fitted(reports, start, count, strength, STEPS)
            models.append((share / STARTS, _model(vector, reports.buckets, count)))
            steps += taken
    used = [(share, model) for share, model in models if share > 0]
    if len(used) == 1 and shares[0] > 0:
        return LatentFit(baseline, 0.0, baseline, steps)
    mixed = _mixture(used)
    model = BucketClasses(mixed, tables.waves) if tables.waves else mixed
    return LatentFit(model, float(shares[1:] @ STRENGTHS), baseline, steps)


def _classes(n: int) -> int:
    return FEW if n < LARGE else MANY


def _shares_of_models(reports: FitReports, count: int, generator: np.random.Generator) -> Floats:
    """The weights of independence and of each strength, from how well parts of the reports predict the others."""
    products, agreement = np.zeros((1 + len(STRENGTHS),) * 2), np.zeros(1 + len(STRENGTHS))
    for _ in range(SPLITS):
        blocks, left = divided(reports.blocks, generator)
        kept = FitReports(
            reports.sizes, blocks, tuple(wave.divided(1 / (1 + ADDED), generator) for wave in reports.waves)
        )
        alone = independence(kept.sizes, blocks)
        start, models = _start(kept.spread(alone), count, generator), [alone]
        for strength in reversed(STRENGTHS):  # each from the one before, which is close
            start, _ = _fitted(kept, start, count, strength, QUICK_STEPS)
            models.insert(1, kept.binned(_model(start, kept.buckets, count)))
        predicted = np.array([_scaled(model, left) for model in models])
        products += predicted @ predicted.T
        agreement += predicted @ np.concatenate([block.precision**0.5 * block.residual.ravel() for block in left])
    shares = stacking.weights(products, agreement)
    shares[shares < RARE] = 0
    return np.asarray(shares / shares.sum())


class FitReports:
    """What a fit reads: residuals of blocks of bins, and the reports of waves about finer buckets."""

    def __init__(self, sizes: dict[str, int], blocks: Sequence[Reported], waves: Sequence[WaveReading] = ()) -> None:
        self.sizes, self.blocks, self.waves = sizes, blocks, tuple(waves)
        self._bins = {wave.name: wave.bins for wave in self.waves}
        self.buckets = {name: self._bins[name].shape[1] if name in self._bins else size for name, size in sizes.items()}
        self.layout, self._likelihood = AnswerRows(self.buckets.values()), ResidualLikelihood(blocks, sizes)
        ends = dict(zip(sizes, self.layout.starts, strict=True))
        self.spans = [slice(ends[wave.name], ends[wave.name] + self.buckets[wave.name]) for wave in self.waves]
        self._joined = block_diag(*(self._bins.get(name, np.eye(size)) for name, size in sizes.items())).T

    def likelihood(self, weights: Floats, rows: Floats) -> Slopes:
        """Minus the logarithm of the likelihood, with its slopes by weights and by the shares of all buckets."""
        if not self.waves:
            return self._likelihood(weights, rows)
        value, of_weights, of_bins = self._likelihood(weights, rows @ self._joined)
        of_rows = of_bins @ self._joined.T
        for wave, span in zip(self.waves, self.spans, strict=True):
            gain, slope = wave.log_likelihood(weights @ rows[:, span])
            value -= gain
            of_weights = of_weights - rows[:, span] @ slope
            of_rows[:, span] -= weights[:, None] * slope
        return value, of_weights, of_rows

    def roughness(self, mean: Floats) -> tuple[float, Floats]:
        """The prior of mean logarithms of neighbouring buckets, with its slope: a random walk."""
        value, slope = 0.0, np.zeros(len(mean))
        for span in self.spans:
            precision = (span.stop - span.start) / WALK**2
            steps = np.diff(mean[span])
            value += float(steps @ steps) * precision / 2
            slope[span] += precision * (np.append(0.0, steps) - np.append(steps, 0.0))
        return value, slope

    def spread(self, model: LatentClasses) -> LatentClasses:
        """A model of bins as one of buckets, which are equally common within a bin."""
        even = {name: bins / bins.sum(axis=1, keepdims=True) for name, bins in self._bins.items()}
        shares = zip(model.names, model.shares, strict=True)
        return replace(model, shares=tuple(own @ even[name] if name in even else own for name, own in shares))

    def binned(self, model: LatentClasses) -> LatentClasses:
        """A model of buckets as one of bins."""
        return BucketClasses(model, self.waves).bins if self.waves else model


def _scaled(model: LatentClasses, reported: Sequence[Reported]) -> Floats:
    """The residuals of a model for all blocks, in standard errors of the reports."""
    return np.concatenate([precision**0.5 * centred(model.table(names)).ravel() for names, _, precision in reported])


def _mixture(models: Sequence[tuple[float, LatentClasses]]) -> LatentClasses:
    """The weighted mean of several models, which is a model with all their classes."""
    total = sum(share for share, _ in models)
    weights = np.concatenate([share / total * model.weights for share, model in models])
    shares = zip(*(model.shares for _, model in models), strict=True)
    return LatentClasses(models[0][1].names, weights, tuple(np.concatenate(own) for own in shares))


def divided(reported: Sequence[Reported], generator: np.random.Generator) -> tuple[list[Reported], list[Reported]]:
    """Two independent parts: residuals plus noise, and residuals less another multiple of the same noise.

    With noise z of the variance of the reports, x + sqrt(a) z and x - z / sqrt(a) are uncorrelated, hence independent
    where both are normal. They are like reports of n / (1 + a) and n / (1 + 1 / a) participants.
    """
    kept, left = [], []
    for names, residual, precision in reported:
        noise = centred(generator.normal(0, precision**-0.5, residual.shape))
        kept.append(Reported(names, residual + ADDED**0.5 * noise, precision / (1 + ADDED)))
        left.append(Reported(names, residual - noise / ADDED**0.5, precision / (1 + 1 / ADDED)))
    return kept, left


def _start(baseline: LatentClasses, count: int, generator: np.random.Generator) -> Floats:
    """Logarithms of weights, then of the shares of each class side by side, near those of independence."""
    logs = [np.log(np.maximum(own[0], LEAST)) for own in baseline.shares]
    parts = [one - one.mean() + generator.normal(0, 0.5, (count, len(one))) for one in logs]
    return np.concatenate([generator.normal(0, 0.1, count), np.concatenate(parts, axis=1).ravel()])


class AnswerRows:
    """Where the answers of each attribute lie in a row of all answers."""

    def __init__(self, sizes: Iterable[int]) -> None:
        lengths = list(sizes)
        self.starts = np.cumsum([0, *lengths[:-1]])
        self.place = np.repeat(np.arange(len(lengths)), lengths)

    def softmax(self, logs: Floats) -> Floats:
        """Shares from their logarithms, for each attribute by itself."""
        grown = np.exp(logs - np.maximum.reduceat(logs, self.starts, axis=1)[:, self.place])
        return np.asarray(grown / self.sums(grown))

    def sums(self, rows: Floats) -> Floats:
        """The sum over all answers of the same attribute, at each answer."""
        return np.asarray(np.add.reduceat(rows, self.starts, axis=1)[:, self.place])


def _softmax(logs: Floats) -> Floats:
    grown = np.exp(logs - logs.max())
    return np.asarray(grown / grown.sum())


def _model(vector: Floats, sizes: dict[str, int], count: int) -> LatentClasses:
    layout = AnswerRows(sizes.values())
    rows = layout.softmax(vector[count:].reshape(count, -1))
    return LatentClasses(tuple(sizes), _softmax(vector[:count]), tuple(np.split(rows, layout.starts[1:], axis=1)))


def _pull(reported: Sequence[Reported]) -> float:
    """The precision of the prior of mean logarithms: the noisier the shares of single answers, the stronger."""
    variances = [1 / block.precision for block in reported if len(block.names) == 1]
    return float(np.clip(_PULL * np.sqrt(np.mean(variances or [0.0])), _LEAST_PULL, _MOST_PULL))


def _fitted(reports: FitReports, start: Floats, count: int, strength: float, steps: int) -> tuple[Floats, int]:
    """The posterior mode by L-BFGS, and its number of steps."""
    layout, pull = reports.layout, _pull(reports.blocks)

    def objective(vector: Floats) -> tuple[float, Floats]:
        raw, logs = vector[:count], vector[count:].reshape(count, -1)
        weights, rows = _softmax(raw), layout.softmax(logs)
        value, of_weights, of_rows = reports.likelihood(weights, rows)
        mean = logs.mean(axis=0)
        away = logs - mean
        rough, of_mean = reports.roughness(mean)
        value += float(raw @ raw) * _WEIGHT_PULL / 2 + rough
        value += float((away**2).sum()) / (2 * strength**2) + float(mean @ mean) * pull / 2
        of_raw = weights * (of_weights - weights @ of_weights) + raw * _WEIGHT_PULL
        inner = rows * (of_rows - layout.sums(rows * of_rows))
        of_mean += mean * pull
        return value, np.concatenate([of_raw, (inner + away / strength**2 + of_mean / count).ravel()])

    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": steps, "maxcor": 15})
    return np.asarray(found.x), int(found.nit)
