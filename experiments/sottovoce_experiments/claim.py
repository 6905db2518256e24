"""What papers say, in our words, as objects: a test on rows, a verdict, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from sottovoce_experiments.row import Row

Cases = Callable[[Sequence[Row]], Iterator[bool]]
MOST = 0.95  # share of the cases in which a sentence that holds is true


class PaperVerdict(StrEnum):
    """Whether a sentence of a paper is true here."""

    HOLDS = "holds"
    FAILS = "does not hold"
    DEPENDS = "depends"


@dataclass(frozen=True, slots=True)
class Judgement:
    """In how many cases a sentence is true."""

    held: int
    cases: int

    @property
    def verdict(self) -> PaperVerdict | None:
        """Holds in at least 95 % of the cases, fails in at least 95 %, or depends; None without a case."""
        if not self.cases:
            return None
        share = self.held / self.cases
        return (
            PaperVerdict.HOLDS if share >= MOST else PaperVerdict.FAILS if share <= 1 - MOST else PaperVerdict.DEPENDS
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of a paper.

    `verdict` is what the committed run found: a test finds it again on the thinned grid, where the thinned grid has a
    case. `why` says on what it depends, what is wrong, or what to use instead.
    """

    place: str  # the section or figure of the paper
    sentence: str
    verdict: PaperVerdict
    cases: Cases
    why: str = ""
    numbers: Callable[[Sequence[Row]], str] | None = None

    def judged(self, rows: Sequence[Row]) -> Judgement:
        """In how many cases the sentence is true."""
        found = list(self.cases(rows))
        return Judgement(sum(found), len(found))

    def line(self, rows: Sequence[Row]) -> tuple[str, ...]:
        """The sentence as a line of a table."""
        found = self.judged(rows)
        counted = f"{found.held} of {found.cases} cases" if found.cases != 1 else ""
        numbers = self.numbers(rows) if self.numbers is not None else ""
        said = "; ".join(part for part in (counted, numbers) if part)
        return self.place, self.sentence, f"**{found.verdict or 'no case'}**", said, self.why


HEAD = ("where", "the paper says", "verdict", "found", "why, and what to do")


def table(claims: Sequence[Claim], rows: Sequence[Row]) -> str:
    """The claims as a table."""
    lines = [HEAD, ("---",) * len(HEAD), *(claim.line(rows) for claim in claims)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
