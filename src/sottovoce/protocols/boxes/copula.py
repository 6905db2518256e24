"""Boxes over many fields: each field by itself through a wave, then pairs of fields on a coarse grid of ranks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from sottovoce.core.domain import Domain, Merged, Record, Select
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, check_people, reject
from sottovoce.core.question import Boxes
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.boxes.copula import CopulaBoxes, FieldLine
from sottovoce.estimate.boxes.pairs import pair_tables
from sottovoce.estimate.decoder import decoder
from sottovoce.estimate.distribution.evidence import from_cells
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.sources import sources_of
from sottovoce.mechanisms.distribution.grid_common import grid_of
from sottovoce.protocols.boxes.arms import part_mechanism, part_view

OWNER = "a copula"
MOST_FIELDS = 20
WEIGHTS = 1000  # of the arms of one round together


@dataclass(frozen=True, slots=True)
class CopulaRounds(Protocol):
    """Estimate the shares of boxes over many fields: each field finely, and pairs of fields on a grid of their ranks.

    In the first round participants report one field through a wave. In the second one others report a pair of fields in
    `ranks` parts each, which hold nearly equal shares according to the first round. `decoded("fitted")` joins the
    margins by a normal copula and moves it toward the coarse tables as far as these are no noise. With `rounds=1` both
    groups answer at once, and the parts of pairs have equal width. The interval of a box is that of the coarse tables.

    Args:
        record: Two to 20 fields, as a `Record` of `Integers`, `Interval` or `Categories` in their order.
        epsilon: The privacy budget of one participant, who answers once.
        participants: How many participants are expected.
        buckets: Into how many parts the range of each field is divided, where it has more values.
        ranks: The number of parts of a field in a pair.
        first: The share of the participants who report one field.
        rounds: 2, or 1 where nobody can be asked later.

    Examples:
        >>> from sottovoce.protocols.boxes.copula import CopulaRounds
        >>> person = sv.Record({"age": sv.Integers(0, 31), "income": sv.Integers(0, 31)})
        >>> protocol = CopulaRounds(person, epsilon=2, participants=20000)
        >>> people = [{"age": i % 32, "income": i % 32} for i in range(20000)]
        >>> estimate = sv.simulate(protocol, people, seed=1)["boxes"].decoded("fitted")
        >>> estimate.range(age=(0, 15), income=(0, 15)).values.round(1)
        array([0.5])

    See also:
        `HDG` asks the same in one round, as published.
    """

    record: Record
    epsilon: Any
    participants: int
    buckets: int = 256
    ranks: int = 5
    first: Any = "0.5"
    rounds: int = 2

    def __post_init__(self) -> None:
        values: dict[str, Any] = {
            "epsilon": check_epsilon(OWNER, self.epsilon),
            "participants": check_people("participants", OWNER, self.participants),
            "buckets": check_integer("buckets", OWNER, self.buckets, 2, 1 << 10),
            "ranks": check_integer("ranks", OWNER, self.ranks, 2, 16),
            "first": check_decimal("first", OWNER, self.first),
            "rounds": check_integer("rounds", OWNER, self.rounds, 1, 2),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        if not 0 < self.first < 1:
            raise reject("first", OWNER, "a share in (0, 1)", self.first)
        fields = Boxes(self.record).domain.fields
        if not 2 <= len(fields) <= MOST_FIELDS:
            raise ParameterError(f"A copula needs a record of 2 to {MOST_FIELDS} fields. Got {len(fields)}.")
        self.base  # noqa: B018 - refuses other domains

    @property
    def question(self) -> Boxes:
        return Boxes(self.record, self.buckets)

    @property
    def base(self) -> Select:
        """The fine buckets of each field, as a view of all of them."""
        grids = {
            name: grid_of(OWNER, Record({name: field}), self.buckets, self.buckets)[1]
            for name, field in self.record.fields
        }
        record = Record({name: grid.parts[0][1] for name, grid in grids.items()})
        return Select(record, record.labels())

    def effort(self) -> int:
        return ARM_EFFORT * comb(len(self.record.fields) + 1, 2)

    # --- rounds -----------------------------------------------------------------------------------------
    def _wave(self, name: str) -> Mechanism:
        """The wave over the buckets of one field by itself."""
        field = dict(self.record.fields)[name]
        size = dict(self.base.parts)[name].size
        return build("coded-wave", field, epsilon=self.epsilon, buckets=size, workload="ranges")

    def _lines(self) -> list[Arm]:
        base = self.base
        fields = {name: self._wave(name) for name, _ in base.parts}
        views = {name: part_view(base, {name: wave.domain}) for name, wave in fields.items()}
        return [Arm(name, replace(wave, question=self.question, domain=views[name])) for name, wave in fields.items()]

    def _pairs(self, parts: dict[str, Domain]) -> list[Arm]:
        base = self.base
        return [
            Arm(
                f"{one} x {two}",
                part_mechanism(
                    self.question, part_view(base, {one: parts[one], two: parts[two]}), self.epsilon, "subset"
                ),
            )
            for one, two in combinations(parts, 2)
        ]

    def _even(self) -> dict[str, Floats]:
        """Equal shares of all buckets, for parts of equal width."""
        return {name: np.full(field.size or 1, 1 / (field.size or 1)) for name, field in self.base.parts}

    def _ranked(self, margins: dict[str, Floats]) -> dict[str, Domain]:
        """Each field in parts with nearly equal shares."""
        return {name: _merged(field, margins[name], self.ranks) for name, field in self.base.parts}

    def start(self) -> Round:
        lines = self._lines()
        if self.rounds == 2:
            return Round(tuple(lines), quota=max(1, int(self.participants * self.first)))
        pairs = self._pairs(self._ranked(self._even()))
        weights = _weights(len(lines), self.first), _weights(len(pairs), 1 - self.first)
        return Round(
            tuple(
                replace(arm, weight=weight)
                for arms, weight in zip((lines, pairs), weights, strict=True)
                for arm in arms
            )
        )

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        count = len(self.record.fields)
        lines = history[0][:count]
        if self.rounds == 2 and len(history) == 1 and not closing:
            margins = {name: one.shares for name, one in self._fields(lines).items()}
            return Round(tuple(self._pairs(self._ranked(margins))))
        pairs = history[0][count:] if self.rounds == 1 else history[1] if len(history) > 1 else ()
        if not any(tally.n for tally in pairs):
            known = zip(self.base.names, lines, strict=True)
            fields = {name: _alone(self._wave(name), tally) for name, tally in known if tally.n}
            if not fields:
                raise ParameterError("Nothing can be estimated yet: nobody was asked about pairs of fields.")
            return partial(fields, "Closed early: nobody was asked about pairs of fields.")
        tables, readings = pair_tables(self.question, self.base, pairs)
        evidence = CopulaBoxes(self.question, tables, readings, self._fields(lines))
        estimates = {"boxes": Estimate.of(self.question, evidence, sources_of((*lines, *pairs)))}
        silent = [name for name, tally in zip(self.base.names, lines, strict=True) if not tally.n]
        return (
            partial(estimates, f"Closed early: nobody was asked about {', '.join(silent)} alone.")
            if silent
            else estimates
        )

    def _fields(self, lines: Any) -> dict[str, FieldLine]:
        """The shares of the buckets of each field, by the decoder "bayes"; equal shares where nobody was asked."""
        found = {name: FieldLine(shares, None) for name, shares in self._even().items()}
        for name, tally in zip(self.base.names, lines, strict=True):
            if tally.n:
                wave = self._wave(name)
                shares = _smoothed(wave, tally.n, tally.cells.tobytes())
                found[name] = FieldLine(shares, from_cells(wave, tally.n, tally.cells))
        return found


def _alone(wave: Mechanism, tally: Any) -> Estimate:
    """The distribution of one field, from the reports about it."""
    return Estimate.of(wave.question, from_cells(wave, tally.n, tally.cells), sources_of([tally]))


@lru_cache(maxsize=64)
def _smoothed(wave: Mechanism, n: int, cells: bytes) -> Floats:
    """The shares of one field; both rounds need them, and they take seconds."""
    evidence = from_cells(wave, n, np.frombuffer(cells, np.int64))
    return np.asarray(decoder("bayes").decode(evidence).values, np.float64)


def _merged(field: Domain, shares: Floats, ranks: int) -> Domain:
    """The codes of a field in parts with nearly equal shares, of which none is empty."""
    size = field.size or 1
    if size <= ranks:
        return field
    heights = np.cumsum(shares) - shares / 2
    places = np.minimum((heights / shares.sum() * ranks).astype(np.int64), ranks - 1)
    _, places = np.unique(np.maximum.accumulate(places), return_inverse=True)
    if places[-1] == 0:  # all answers in one bucket
        places[size // 2 :] = 1
    return Merged(field, tuple(places.tolist()))


def _weights(arms: int, share: Any) -> int:
    """The weight of each of so many arms that get a share of all participants together."""
    return max(1, round(WEIGHTS * float(share) / arms))
