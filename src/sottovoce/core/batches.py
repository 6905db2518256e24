"""The verbs of a mechanism for many reports at once: bound late, they need the extra `analysis`.

The types of these methods are in `batches.pyi`: only type checkers read it, so it may name what the device side never
imports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sottovoce.core.late import load


class Batches:
    """The part of `Mechanism` that privatizes, counts and estimates batches of reports."""

    def privatize(self, values: Any, *, seed: int | None = None, threads: int | None = None) -> Any:
        """Randomize the answers of many participants at once.

        Each answer is that of a device that answers for the first time: cohort and memo are drawn and forgotten.

        Args:
            values: The answers: a list, an array or a column of a table.
            seed: Makes a simulation that can be repeated. Reports, tallies and estimates are marked as a simulation.
                Default: secure randomness.
            threads: How many threads to use. Default: all cores. The reports do not depend on it.

        Returns:
            `Reports`, in the order of the answers.

        Raises:
            DomainError: An answer is outside the domain; nothing is randomized then.
        """
        return load("fast.batch:privatize")(self, values, seed=seed, threads=threads)

    def tally(self, reports: Any, *, threads: int | None = None) -> Any:
        """Count reports: a batch from `privatize`, or messages as devices send them.

        Args:
            reports: The reports. They must come from this mechanism.
            threads: How many threads to use. Default: all cores.

        Returns:
            A `Tally` of integers. Tallies of several collectors add up with `Tally.merge`.

        Raises:
            ReportError: A report is malformed.
        """
        return load("tally.count:tally")(self, reports, threads=threads)

    def tally_batches(self, batches: Iterable[Any], *, threads: int | None = None) -> Any:
        """Count a stream of Arrow batches in bounded memory.

        Args:
            batches: Batches of reports, such as those of `read_reports`.
            threads: How many threads to use. Default: all cores.

        Returns:
            A `Tally`.
        """
        return load("files.arrow:tally_batches")(self, batches, threads=threads)

    def estimate(self, tally: Any, question: Any = None, decoder: Any = None, candidates: Any = None) -> Any:
        """Estimate the answer to the question, with intervals; unbiased, unless a decoder is named.

        Args:
            tally: A tally of this mechanism. A decoder whose likelihood needs more than counts takes the reports.
            question: Another question that the same reports answer.
            decoder: A name such as "simplex" or "em", or an object with parameters. Default: unbiased.
            candidates: The answers of interest, where not all shares are wanted.

        Returns:
            An `Estimate`.

        Raises:
            MismatchError: The tally belongs to another mechanism.
        """
        return load("estimate.from_tally:estimate")(self, tally, question, decoder, candidates)

    def variance(self, truth: Any, n: int = 1, *, target: str = "population") -> Any:
        """Compute the exact variance of an estimate from n reports, for a given truth.

        Args:
            truth: For frequencies, the shares of all codes. For a mean, the number that all participants hold, or an
                array of such numbers.
            n: The number of reports.
            target: "population" includes the sampling of participants; "sample" is the privacy noise alone.

        Returns:
            One variance for each share, or for each number of the array.
        """
        room: str = self.question.room  # type: ignore[attr-defined]  # of the mechanism
        whose = load("estimate.request:Target").of(target)
        return load(f"estimate.{room}.evidence:predicted_variance")(self, truth, n, target=whose)

    def worst_case_variance(self) -> Any:
        """Compute the largest variance of one report read as a number, over every answer of the domain.

        Returns:
            The variance of the privacy noise of one report.
        """
        return load("estimate.mean.moments:worst_case_variance")(self)

    def average_variance(self, prior: Any) -> Any:
        """Compute the variance of one report read as a number, averaged over a prior of the answers.

        Args:
            prior: The expected answers: a `Prior`, or a list of earlier answers.

        Returns:
            The average variance of the privacy noise of one report.
        """
        return load("estimate.mean.moments:average_variance")(self, prior)
