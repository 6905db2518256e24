"""Sentences of papers whose figures are curves without numbers, and in how many cases they hold here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from sottovoce_experiments.experiment import Row

Cases = Callable[[Sequence[Row]], Iterator[bool]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of the paper, in our words, and whether it holds in each case."""

    sentence: str
    cases: Cases

    def said(self, rows: Sequence[Row]) -> str:
        """The sentence, and how often it holds."""
        found = list(self.cases(rows))
        return f"The paper: {self.sentence}. Here: in {sum(found)} of {len(found)} cases."
