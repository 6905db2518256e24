"""The verbs of a mechanism for many reports at once: bound late, they need the extra `analysis`.

Their types are in `batches.pyi`: only type checkers read it, so it may name what the device side never imports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sottovoce.core.late import load


class Batches:
    """The part of `Mechanism` that privatizes, counts and estimates batches of reports."""

    def privatize(self, values: Any, *, seed: int | None = None, threads: int | None = None) -> Any:
        """Reports of many participants; secure randomness unless a seed is given for a simulation.

        Each row is a device that answers for the first time: it draws its own cohort and memo, and keeps neither.
        """
        return load("fast.batch:privatize")(self, values, seed=seed, threads=threads)

    def tally(self, reports: Any, *, threads: int | None = None) -> Any:
        """Count reports: a batch from `privatize`, or messages as devices send them."""
        return load("tally.count:tally")(self, reports, threads=threads)

    def tally_batches(self, batches: Iterable[Any], *, threads: int | None = None) -> Any:
        """Count a stream of Arrow batches in bounded memory."""
        return load("files.arrow:tally_batches")(self, batches, threads=threads)

    def estimate(self, tally: Any, question: Any = None, decoder: Any = None, candidates: Any = None) -> Any:
        """The estimate of the question, with intervals: unbiased, unless a decoder is named.

        Args:
            tally: of this mechanism. A decoder whose likelihood needs more than counts takes the reports.
            question: another question that the same reports answer.
            decoder: a name such as "simplex" or "em", or an object with parameters.
            candidates: the answers of interest, if not all shares are wanted.
        """
        return load("estimate.from_tally:estimate")(self, tally, question, decoder, candidates)

    def variance(self, truth: Any, n: int = 1, *, target: str = "population") -> Any:
        """The exact variance of an estimate from n reports, for a given truth.

        For frequencies the truth is the shares of all codes, and each share has a variance. For a mean it is a number
        that all participants hold, or an array of such numbers.
        """
        room: str = self.question.room  # type: ignore[attr-defined]  # of the mechanism
        whose = load("estimate.request:Target").of(target)
        return load(f"estimate.{room}.evidence:predicted_variance")(self, truth, n, target=whose)

    def worst_case_variance(self) -> Any:
        """The largest variance of one report read as a number, over every answer of the domain."""
        return load("estimate.mean.moments:worst_case_variance")(self)

    def average_variance(self, prior: Any) -> Any:
        """The variance of one report read as a number, averaged over a prior of the answers."""
        return load("estimate.mean.moments:average_variance")(self, prior)
