"""Lists of answers of interest: what was asked for, or what reports selected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.estimate.evidence import Evidence, Ints
from sottovoce.tally.tally import Tally

E = TypeVar("E", bound=Evidence)
SENTENCE = "Candidates must be a list of at least one answer, all different"


@dataclass(frozen=True, slots=True)
class Selection:
    """How reports selected a list of answers: from how many candidates, and with which false discovery rate, if one is
    stated."""

    method: str
    tried: int
    false_discovery: float | None = None

    def sentence(self) -> str:
        """The selection in words."""
        rate = self.false_discovery
        stated = "" if rate is None else f", with a stated false discovery rate of at most {rate:g}"
        return f"The list was selected by {self.method} from {self.tried:,} candidates{stated}."

    def to_dict(self) -> dict[str, Any]:
        """The selection in plain data."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class SelectedList:
    """Answers that reports selected, such as those of an earlier round: `candidates` of an estimate that says so."""

    answers: tuple[object, ...]
    selection: Selection

    def __iter__(self) -> Any:
        return iter(self.answers)


class CandidateCodes(NamedTuple):
    """The codes of candidates, and their names."""

    codes: Ints
    names: tuple[object, ...]


def selection_of(candidates: Iterable[object] | None) -> Selection | None:
    """How a list of candidates was selected; None for one that somebody wrote down."""
    return candidates.selection if isinstance(candidates, SelectedList) else None


def refuse(mechanism: Mechanism, candidates: Iterable[object] | None) -> None:
    """Refuse candidates for questions that are not about shares."""
    if candidates is not None:
        raise ParameterError(f"Candidates are supported for shares only, not for a {mechanism.question.noun}.")


def of_all_cells(from_cells: Callable[[Mechanism, int, Ints], E]) -> Callable[..., E]:
    """The evidence of a tally in a room that reads its cells as a whole, without candidates."""

    def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> E:
        refuse(mechanism, candidates)
        return from_cells(mechanism, tally.n, tally.cells)

    return evidence


def candidate_codes(domain: Domain, candidates: Iterable[object]) -> CandidateCodes:
    """The codes of different answers."""
    if isinstance(candidates, (str, bytes, Mapping)) or not isinstance(candidates, Iterable):
        raise ParameterError(f"{SENTENCE}. Got one value of type {type(candidates).__name__}.")
    listed = tuple(candidates)
    codes = [domain.encode(candidate) for candidate in listed]
    if not codes:
        raise ParameterError(f"{SENTENCE}. Got none.")
    first: dict[int, int] = {}
    for place, code in enumerate(codes):
        if first.setdefault(code, place) != place:  # of 100,000 texts, two with one code are likely
            raise ParameterError(
                f"{SENTENCE}. Those at positions {first[code]} and {place} have the same code: list one of them."
            )
    return CandidateCodes(np.array(codes, np.int64), listed)
