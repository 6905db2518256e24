"""The methods of Table 2 of the square-wave paper, each as one call: answers in [0, 1] to estimated shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.domain import Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import mechanism
from sottovoce.estimate import metrics
from sottovoce.estimate.decoder import decoder
from sottovoce_experiments.distribution.table_2 import ERRORS
from sottovoce_experiments.distribution.wave import BUCKETS, PARTICIPANTS
from sottovoce_experiments.experiment import Row

Floats = NDArray[np.float64]
NUMBERS = Interval(0, 1)


class MeanAndVariance(NamedTuple):
    """What a method for means estimates."""

    mean: float
    variance: float


@dataclass(frozen=True, slots=True)
class DecodedMechanism:
    """A mechanism and what decodes its tally.

    `buckets` is left out where the estimate has as many as the truth, and 0 where the mechanism chooses them.
    """

    mechanism: str
    decoder: str
    buckets: int | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def build(self, epsilon: float, buckets: int) -> Mechanism:
        """The mechanism."""
        asked = self.buckets if self.buckets is not None else buckets
        options = {"buckets": asked} if asked else {}  # 0: as many as the mechanism chooses
        return mechanism(self.mechanism, NUMBERS, epsilon=epsilon, **options)

    def shares(self, answers: Floats, epsilon: float, buckets: int, seed: int) -> Floats:
        """Estimated shares of equal buckets; answers are taken to be spread evenly inside the method's own ones."""
        method = self.build(epsilon, buckets)
        tally = method.tally(method.privatize(answers, seed=seed, threads=1))
        found = method.estimate(tally, decoder=decoder(self.decoder, **dict(self.options)))
        evidence: Any = found.evidence
        heights = np.concatenate([[0.0], np.cumsum(found.values)])
        return np.diff(np.interp(np.linspace(0, 1, buckets + 1), evidence.edges, heights))


METHODS = {
    "SW with EMS": DecodedMechanism("square-wave", "ems"),
    "SW with EM": DecodedMechanism("square-wave", "em"),
    "HH-ADMM": DecodedMechanism("hierarchy", "admm", options=(("weighted", False),)),
    "HH-ADMM, weighted": DecodedMechanism("hierarchy", "admm"),
    "CFO binning, 16": DecodedMechanism("binned", "norm-sub", 16),
    "CFO binning, 32": DecodedMechanism("binned", "norm-sub", 32),
    "CFO binning, 64": DecodedMechanism("binned", "norm-sub", 64),
    "CFO binning, chosen": DecodedMechanism("binned", "norm-sub", 0),
    "HH": DecodedMechanism("hierarchy", "linear"),
    "HaarHRR": DecodedMechanism("haar", "linear"),
}
MEANS = {"PM": "piecewise", "SR": "bernoulli"}


def moments(name: str, answers: Floats, epsilon: float, seed: int) -> MeanAndVariance:
    """The mean from everybody; and, in another survey, from one half a mean and from the other the variance about it.

    The mean of squares about an estimated mean is too high by the variance of that mean, which is taken off.
    """
    everybody = mechanism(name, NUMBERS, epsilon=epsilon)
    mean = everybody.estimate(everybody.tally(everybody.privatize(answers, seed=seed, threads=1))).value
    half = len(answers) // 2
    first = everybody.estimate(everybody.tally(everybody.privatize(answers[:half], seed=seed + 1, threads=1)))
    centre = round(float(np.clip(first.value, 0, 1)), 6)
    square = mechanism(name, Interval(0, round(max(centre, 1 - centre) ** 2, 12)), epsilon=epsilon)
    squares = np.minimum((answers[half:] - centre) ** 2, float(square.domain.high))  # type: ignore[attr-defined]
    second = square.estimate(square.tally(square.privatize(squares, seed=seed + 2, threads=1)))
    return MeanAndVariance(mean, second.value - float(first.std_errors[0]) ** 2)


def errors(shares: Floats, truth: Floats) -> dict[str, float | None]:
    """All errors of the paper."""
    return {
        "wasserstein": metrics.wasserstein(shares, truth),
        "ks": metrics.kolmogorov_smirnov(shares, truth),
        "range_0.1": metrics.range_error(shares, truth, 0.1),
        "range_0.4": metrics.range_error(shares, truth, 0.4),
        "quantile": metrics.quantile_error(shares, truth),
        "mean": metrics.mean_error(shares, truth),
        "variance": metrics.variance_error(shares, truth),
    }


def errors_of_moments(found: MeanAndVariance, answers: Floats) -> dict[str, float | None]:
    """The two errors of a method for means."""
    return {
        **dict.fromkeys(("wasserstein", "ks", "range_0.1", "range_0.4", "quantile")),
        "mean": abs(found.mean - float(answers.mean())),
        "variance": abs(found.variance - float(answers.var())),
    }


def built(label: str, epsilon: float, buckets: int) -> Mechanism:
    """The mechanism of a method."""
    return (
        mechanism(MEANS[label], NUMBERS, epsilon=epsilon) if label in MEANS else METHODS[label].build(epsilon, buckets)
    )


def run(label: str, answers: Floats, epsilon: float, buckets: int, seed: int) -> dict[str, float | None]:
    """The errors of one run of a method."""
    if label in MEANS:
        return errors_of_moments(moments(MEANS[label], answers, epsilon, seed), answers)
    truth = np.histogram(answers, buckets, (0, 1))[0] / len(answers)
    return errors(METHODS[label].shares(answers, epsilon, buckets, seed), truth)


def cell(point: Mapping[str, Any], runs: int, seed: int) -> list[Row]:
    """New answers in each run; the truth is their own histogram."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        answers = rng.beta(5, 2, PARTICIPANTS)
        found.append(run(point["method"], answers, point["epsilon"], BUCKETS, int(rng.integers(1 << 62))))
    means = {name: None if found[0][name] is None else _mean(found, name) for name in ERRORS}
    spread = "wasserstein" if point["method"] in METHODS else "mean"
    deviation = float(np.std([one[spread] for one in found]) / np.sqrt(runs))  # type: ignore[arg-type]
    used = built(point["method"], point["epsilon"], BUCKETS)
    return [{**means, "error": deviation, "runs": runs, "fingerprint": used.fingerprint}]


def _mean(found: Sequence[Mapping[str, float | None]], name: str) -> float:
    return float(np.mean([one[name] for one in found if one[name] is not None]))
