"""Several attributes of a record: every participant reports some of them, in one report."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sottovoce.core.domain import Fields, Record
from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Attributes
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.estimate.attributes.evidence import part_cells, part_mechanisms
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.sources import sources_of


@dataclass(frozen=True, slots=True)
class SampledAttributes(Protocol):
    """Estimate each field of a record (shares or a mean) by asking each person about some fields only.

    Chance gives every participant `count` neighbouring fields, cyclically, each with an equal share of the budget.

    Args:
        record: The fields, as a `Record`.
        epsilon: The privacy budget of one participant.
        count: How many fields each participant reports. With 1, the whole budget is spent on one field; with all fields
            the budget is split instead.

    Examples:
        >>> person = sv.Record({"smokes": sv.Categories(["yes", "no"]), "drinks": sv.Categories(["yes", "no"])})
        >>> people = [{"smokes": "yes", "drinks": "no"}, {"smokes": "no", "drinks": "no"}] * 2000
        >>> estimates = sv.simulate(sv.SampledAttributes(person, epsilon=1), people, seed=1)
        >>> estimates["smokes"].values.round(1)
        array([0.5, 0.5])

    See also:
        `Attributes` is the same question with other mechanisms.
    """

    record: Record
    epsilon: Any
    count: int = 1

    def __init__(self, record: Record, epsilon: Any, count: int = 1) -> None:
        if not isinstance(record, Record):
            raise reject("record", "sampled attributes", "a record", record)
        object.__setattr__(self, "record", record)
        object.__setattr__(self, "epsilon", check_epsilon("sampled attributes", epsilon))
        size = len(record.fields)
        object.__setattr__(self, "count", check_integer("count", "sampled attributes", count, 1, size))
        Attributes(record)  # refuses fields that have neither categories nor numbers

    @property
    def question(self) -> Attributes:
        return Attributes(self.record)

    def effort(self) -> int:
        return ARM_EFFORT * self.count * len(self.record.fields)

    def _windows(self) -> list[tuple[str, ...]]:
        names = [name for name, _ in self.record.fields]
        if self.count == len(names):
            return [tuple(names)]
        return [tuple((names + names)[start : start + self.count]) for start in range(len(names))]

    def start(self) -> Round:
        budget: Decimal = self.epsilon
        arms = []
        for names in self._windows():
            complete = len(names) == len(self.record.fields)
            domain = self.record if complete else Fields(self.record, names)
            arms.append(Arm(", ".join(names), build("split-attributes", domain, epsilon=budget)))
        return Round(tuple(arms))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        by_attribute: dict[str, tuple[Any, int, Any, list[Any]]] = {}
        for names, tally in zip(self._windows(), tallies, strict=True):
            if not tally.n:
                continue
            parts = zip(names, part_mechanisms(tally.mechanism), part_cells(tally.mechanism, tally.cells), strict=True)
            for name, part, cells in parts:
                _, n, before, sources = by_attribute.get(name, (part, 0, 0, []))
                by_attribute[name] = (part, n + tally.n, before + cells, [*sources, tally])
        if not by_attribute:
            raise ParameterError("An estimate needs at least one report; these tallies have none.")
        return {name: _estimate(*by_attribute[name]) for name, _ in self.record.fields if name in by_attribute}


def _estimate(part: Any, n: int, cells: Any, tallies: list[Any]) -> Estimate:
    """One attribute; its sources are the mechanisms of the whole reports, with their budget."""
    evidence = load(f"estimate.{part.question.room}.evidence:from_cells")(part, n, cells)
    return Estimate.of(part.question, evidence, sources_of(tallies))
