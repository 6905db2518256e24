"""Noisy binary search by Bayes with screening (BayeSS), in batches; `QuantileRounds` is more precise in few rounds."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from sottovoce.core.params import check_integer, reject
from sottovoce.estimate.evidence import Floats
from sottovoce.protocols.quantile.answers import ThresholdAnswers, line_of
from sottovoce.protocols.quantile.one_threshold import OneThresholdSearch

SCREENED = 7  # thresholds that are left for the halving at the end
HALVINGS = 3  # rounds that halve them
LEARNING = 0.7  # share of the participants who are asked before
MOST_PARTS = 1 << 16


@dataclass(frozen=True)
class QuantileBayesSearch(OneThresholdSearch):
    """Search a quantile by Bayes: each round asks where the quantile is equally likely below and above.

    The range has `parts` parts, and each has a probability to hold the quantile. A threshold below the quantile is
    taken to have a share of `error` less below it, and one above it `error` more; every round updates by the likelihood
    of its answers. By default `error` is what all participants together tell apart among so many parts. Then
    thresholds at even steps through all that were asked are kept, and halved with the rest of the people. Published
    with one person in each round; a round of several people is one update.

    Reference: Gretta, Price, "Sharp noisy binary search with monotonic probabilities", ICALP 2024; Aamand, Boninsegna,
    Gentle, Imola, Pagh, "Lightweight protocols for distributed private quantile estimation", ICML 2025.
    """

    owner: ClassVar[str] = "a Bayesian search"
    most_rounds: ClassVar[int] = 1000
    note: ClassVar[str] = "Rounds asked where the quantile was likely; the last three halved what was left."
    rounds: int = 60
    parts: int = 1024
    error: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_integer("rounds", self.owner, self.rounds, HALVINGS + 1, self.most_rounds)
        check_integer("parts", self.owner, self.parts, 2, MOST_PARTS)
        if self.error is not None and not 0 < float(self.error) < 1:
            raise reject("error", self.owner, "a share in (0, 1)", self.error)

    @cached_property
    def _edges(self) -> Floats:
        """Ends of the parts; possible answers where answers have a spacing."""
        (low, high), spacing = line_of(self.domain)
        edges = np.linspace(low, high, self.parts + 1)
        return edges if spacing is None else np.unique(low + np.round((edges - low) / spacing) * spacing)

    @property
    def _learning(self) -> int:
        return self.rounds - HALVINGS

    def people(self, number: int) -> int:
        if number < self._learning:
            return max(1, int(LEARNING * self.participants) // self._learning)
        return max(1, int((1 - LEARNING) * self.participants) // HALVINGS)

    def next_threshold(self, rounds: tuple[ThresholdAnswers, ...]) -> Decimal | None:
        if len(self._edges) <= 2:
            return None
        if len(rounds) < self._learning:
            return self.near(float(self._edges[1:-1][self._likely(rounds)]))
        kept = self._kept(rounds)
        return self.near(float(kept[len(kept) // 2]) if len(kept) else self.place(rounds))

    def place(self, rounds: tuple[ThresholdAnswers, ...]) -> float:
        """The end of what is left whose estimated share is nearer; while learning, the likeliest threshold."""
        if len(rounds) <= self._learning:
            return float(self._edges[1:-1][self._likely(rounds)])
        together, ends = ThresholdAnswers.together(rounds), self._between(rounds)
        distances = np.abs(together.below - float(self.share))
        return min(ends, key=lambda end: float(distances[together.thresholds == end][0]))

    def _likely(self, rounds: tuple[ThresholdAnswers, ...]) -> int:
        """The inner edge at which the probabilities below and above are most equal."""
        logs, middles = np.zeros(len(self._edges) - 1), (self._edges[1:] + self._edges[:-1]) / 2
        for answers in rounds[: self._learning]:
            level, asked, yes = float(self.share), float(answers.asked[0]), float(answers.yes[0])
            if self.error is None:
                error = float(np.sqrt(4 * np.log2(self.parts) * answers.variance(level) / self.participants))
            else:
                error = float(self.error)
            above = middles > answers.thresholds[0]
            rates = answers.yes_rate(np.clip(np.where(above, level - error, level + error), 0, 1))
            logs += yes * np.log(rates) + (asked - yes) * np.log1p(-rates)
        chances = np.exp(logs - logs.max())
        below = np.cumsum(chances)[:-1] / chances.sum()
        return int(np.argmin(np.abs(below - 0.5)))

    def _screened(self, rounds: tuple[ThresholdAnswers, ...]) -> Floats:
        """Thresholds at even steps through all that were asked, in rising order."""
        visited = np.sort([float(answers.thresholds[0]) for answers in rounds[: self._learning]])
        places = np.quantile(visited, (np.arange(SCREENED) + 1) / (SCREENED + 1), method="nearest")
        return np.unique(places)

    def _between(self, rounds: tuple[ThresholdAnswers, ...]) -> tuple[float, float]:
        """The thresholds next to what the halvings kept; all of them were asked about."""
        visited = [float(answers.thresholds[0]) for answers in rounds[: self._learning]]
        low, high = min(visited), max(visited)
        for answers in rounds[self._learning :]:
            middle = float(answers.thresholds[0])
            low, high = (low, middle) if answers.below[0] >= float(self.share) else (middle, high)
        return low, high

    def _kept(self, rounds: tuple[ThresholdAnswers, ...]) -> Floats:
        low, high = self._between(rounds)
        screened = self._screened(rounds)
        return screened[(screened > low) & (screened < high)]
