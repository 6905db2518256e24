"""Contingency tables in one round: every participant answers one view of a few attributes."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from sottovoce.core.domain import Integers, Record, Select
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Joint
from sottovoce.core.question.joint import MOST_NAMED
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.design.parities import ParityWorkload
from sottovoce.design.tables import WHOLE, TableWorkload, weights_of
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.frequency.supports import two_rates
from sottovoce.estimate.joint.evidence import from_tallies
from sottovoce.estimate.joint.residuals import ContrastVariance, Names
from sottovoce.estimate.joint.waves import WAVES, WaveReading, is_wave
from sottovoce.estimate.sources import sources_of

OWNER = "table views"
ALONE = 0.2  # of the participants answer one attribute only, where a fit is wanted
WIDEST = 64  # cells of a view that is larger than the wanted tables
MOST_VIEWS = 256
RARE = 1e-3  # share of the participants below which a view is left out
WAVE, MOST_BUCKETS = WAVES[0], 512
ORACLES = ("subset", "grr", "oue", "sue")  # the first has the least variance of all oracles with two rates


class TableDesign(Protocol):
    """A way to ask for tables in one round, which is judged by its total variance over the lower bound."""

    @property
    @abstractmethod
    def question(self) -> Joint:
        """The question, whose tables are wanted."""

    @property
    @abstractmethod
    def workload(self) -> TableWorkload | ParityWorkload:
        """The wanted tables and the sizes of their attributes."""

    @abstractmethod
    def variance(self) -> float:
        """The total variance of the noise of one report, over all cells of all tables, at equal shares."""

    @abstractmethod
    def information(self, names: Names) -> float:
        """The average information of one report about each contrast of the interaction of these attributes.

        At equal shares. One over it is the variance of the contrast from one report, times the cells of the table.
        """

    @abstractmethod
    def supports(self, names: Names) -> float:
        """The average number of reports of one participant that may mean a cell, at equal shares."""

    def lower_bound(self) -> float:
        """The least total variance that any one-round method can have with this budget; see `variance`."""
        return self.workload.lower_bound(float(self.epsilon))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        return {"tables": Estimate.of(self.question, from_tallies(self.question, tallies), sources_of(tallies))}


@dataclass(frozen=True, slots=True, init=False)
class TableViews(TableDesign):
    """Estimate the cells of all wanted cross tables, without bias, in one round.

    Coins give every participant one of the wanted tables, a view. The participant reports the cell in it by subset
    selection with the whole budget. Every residual is estimated from all views that hold its attributes.

    Args:
        record: The fields, as a `Record`.
        tables: The tables by the names of their fields.
        epsilon: The privacy budget of one participant.
        views: The tables that participants report, each by the names of its fields. Default: the wanted tables.
        weights: The relative number of participants of each view. Default: the weights that minimise the total variance
            of all cells, which depend on the numbers of answers and on epsilon alone.
        oracle: The mechanism for the cell of a view: "subset" (least variance), "grr", "oue" or "sue".
        waves: Pairs of a numeric field with bins and a number of buckets. Who answers this field alone reports about
            so many buckets, equally many in each bin, through a wave. The fit of `consistent()` reads them all.

    Examples:
        >>> person = sv.Record({"smokes": sv.Categories(["yes", "no"]), "drinks": sv.Categories(["yes", "no"])})
        >>> people = [{"smokes": "yes", "drinks": "no"}, {"smokes": "no", "drinks": "no"}] * 2000
        >>> protocol = sv.TableViews(person, [["smokes", "drinks"]], epsilon=2)
        >>> sv.simulate(protocol, people, seed=1)["tables"].values.round(1) + 0.0
        array([0. , 0.5, 0. , 0.5])

    See also:
        `Joint` is the question, `SampledAttributes` for each field by itself.
    """

    record: Record
    tables: tuple[Names, ...]
    epsilon: Any
    views: tuple[Names, ...]
    weights: tuple[int, ...]
    oracle: str
    waves: tuple[tuple[str, int], ...]

    def __init__(
        self,
        record: Record,
        tables: Iterable[Iterable[str]],
        epsilon: Any,
        views: Iterable[Iterable[str]] | None = None,
        weights: Iterable[int] | None = None,
        oracle: str = ORACLES[0],
        waves: Iterable[tuple[str, int]] = (),
    ) -> None:
        question = Joint(record, tables=tables)
        if oracle not in ORACLES:
            raise reject("oracle", OWNER, f"one of {', '.join(ORACLES)}", oracle)
        object.__setattr__(self, "oracle", oracle)
        # Each view by itself, in the order of the record: a question of its own checks names and size.
        seen = question.tables if views is None else tuple(Joint(record, tables=[one]).tables[0] for one in views)
        for name, value in (("record", record), ("tables", question.tables), ("views", seen)):
            object.__setattr__(self, name, value)
        if len(seen) > MOST_NAMED:
            raise reject("views", OWNER, f"at most {MOST_NAMED} lists of names", len(seen))
        if len({*seen}) < len(seen) or not all(any({*names} <= {*view} for view in seen) for names in self.tables):
            raise reject("views", OWNER, "different lists of names, one of which has all names of each table", seen)
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, epsilon))
        object.__setattr__(self, "waves", tuple((name, size) for name, size in waves))
        for name, size in self.waves:
            if (name,) not in seen or not hasattr(dict(record.fields)[name], "divided"):
                raise reject("waves", OWNER, "fields with bins of a number, for each of which there is a view", name)
            check_integer("waves", OWNER, size, 2, MOST_BUCKETS)
        chosen = self._designed() if weights is None else tuple(weights)
        if len(chosen) != len(seen):
            raise reject("weights", OWNER, f"{len(seen)} whole numbers, one for each view", chosen)
        for weight in chosen:
            check_integer("weights", OWNER, weight, 1, 1 << 20)
        object.__setattr__(self, "weights", chosen)

    @classmethod
    def for_fit(
        cls, record: Record, tables: Iterable[Iterable[str]], epsilon: Any, buckets: int | None = None
    ) -> TableViews:
        """The design for `consistent()`: equal shares of the tables, and a fifth of the people answer one attribute.

        A fit shrinks interactions, so that its error depends less on large tables and more on single attributes. With
        `buckets`, people who answer a number alone report about so many buckets through a wave.
        """
        question = Joint(record, tables=tables)
        alone = {(name,): math.sqrt(size) for name, size in question.sizes.items() if (name,) not in question.tables}
        unit = WHOLE * ALONE / max(sum(alone.values()), 1)
        even = max(1, round(WHOLE * (1 - ALONE) / len(question.tables)))
        weights = (*(even for _ in question.tables), *(max(1, round(part * unit)) for part in alone.values()))
        numbers = {name for name, domain in record.fields if hasattr(domain, "divided") and (name,) in alone}
        waves = [] if buckets is None else [(name, buckets) for name in question.sizes if name in numbers]
        return cls(record, question.tables, epsilon, (*question.tables, *alone), weights, waves=waves)

    @classmethod
    def wider(cls, record: Record, tables: Iterable[Iterable[str]], epsilon: Any) -> TableViews:
        """A design whose views may have one attribute more than a wanted table, for attributes with few answers.

        One report then tells about several wanted tables. Views that hardly anyone would answer are left out.
        """
        base = cls(record, tables, epsilon)
        sizes = base.question.sizes
        unions = (tuple(sorted({*names, extra}, key=list(sizes).index)) for names in base.tables for extra in sizes)
        larger = (names for names in dict.fromkeys(unions) if names not in base.tables)
        views = (*base.tables, *(names for names in larger if base.workload.cells(names) <= WIDEST))
        if len(views) == len(base.tables) or len(views) > MOST_VIEWS:
            return base
        every = cls(record, base.tables, epsilon, views)
        shares = dict(zip(views, every.weights, strict=True))
        kept = [names for names in views if shares[names] > RARE * sum(every.weights)]
        missing = [names for names in base.tables if not any({*names} <= {*view} for view in kept)]
        return cls(record, base.tables, epsilon, [*kept, *missing])

    @property
    def question(self) -> Joint:
        return Joint(self.record, tables=self.tables)

    @property
    def workload(self) -> TableWorkload:
        """The wanted tables and the sizes of their attributes."""
        return TableWorkload(self.question.sizes, self.tables)

    def view(self, names: Names) -> Mechanism:
        """The mechanism of those who answer one view."""
        fine = dict(self.waves).get(names[0]) if len(names) == 1 else None
        record: Record = self.record
        if fine is not None:
            fields = dict(record.fields)
            bins: Any = fields[names[0]]
            record = Record(fields | {names[0]: bins.divided(fine)})
        domain = Select(record, names)
        built = build(self.oracle if fine is None else WAVE, _codes(domain), epsilon=self.epsilon)
        return replace(built, question=Joint(record, tables=[names]), domain=domain)

    def spreads(self) -> dict[Names, float]:
        """The inverse of the information that one report about each view gives to each contrast."""
        return {names: self._spread(names) for names in self.views}

    def _spread(self, names: Names) -> float:
        view = self.view(names)
        if is_wave(view):
            return WaveReading.of(view, [0] * view.cells, dict(self.record.fields)).spread
        return ContrastVariance.of(view.channel).spread(view.channel.inputs)

    def _designed(self) -> tuple[int, ...]:
        return weights_of(self.workload.shares(self.spreads()))

    def variance(self) -> float:
        """The total variance of the noise of one report, over all cells of all tables, at equal shares."""
        return self.workload.variance(self.shares, self.spreads())

    def information(self, names: Names) -> float:
        return self.workload.information(self.shares, self.spreads())[names]

    def supports(self, names: Names) -> float:
        usual, cells = 0.0, self.workload.cells(names)
        for view, share in self.shares.items():
            if {*names} <= {*view}:
                own, other = map(float, two_rates(self.view(view).channel))
                usual += share * (other * self.workload.cells(view) + own - other) / cells
        return usual

    @property
    def shares(self) -> dict[Names, float]:
        """The part of the participants who answer each view."""
        total = sum(self.weights)
        return {names: weight / total for names, weight in zip(self.views, self.weights, strict=True)}

    def own_variance(self, names: Names) -> float:
        """The total variance of the cells of one table from one report about it alone, with the answers' spread."""
        cells = self.workload.cells(names)
        return (cells - 1) / cells * self.spreads()[names]

    def effort(self) -> int:
        return ARM_EFFORT * len(self.views)

    def start(self) -> Round:
        pairs = zip(self.views, self.weights, strict=True)
        return Round(tuple(Arm(" x ".join(names), self.view(names), weight) for names, weight in pairs))


def _codes(domain: Select) -> Integers:
    """The codes of a view, whatever their labels are: an oracle needs their number, and a wave their order."""
    return Integers(0, (domain.size or 0) - 1)
