"""Contingency tables of yes/no attributes in one round: every participant reports a public block of attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb
from typing import Any

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import ParityMap, Public, Subset
from sottovoce.core.domain import Record, Select
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Joint
from sottovoce.core.round import Arm, Round
from sottovoce.core.spec_cost import ARM_EFFORT
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.design.parities import BlockKind, ParityWorkload
from sottovoce.design.tables import WHOLE
from sottovoce.estimate.frequency.supports import two_rates
from sottovoce.estimate.joint.residuals import Names
from sottovoce.protocols.shares.tables import TableDesign

OWNER = "parity blocks"


@dataclass(frozen=True, slots=True, init=False)
class ParityBlocks(TableDesign):
    """Estimate all tables of some yes/no attributes, without bias, in one round.

    The id of a report chooses a block of attributes. The participant reports its cell, or which of its attributes have
    the same answer as the first, or one parity, by randomized response with the whole budget. One report tells about
    many tables at once. Every parity is estimated from all reports that tell it.

    Args:
        record: The fields, each with two answers.
        ways: How many fields each table crosses.
        epsilon: The privacy budget of one participant.
        kinds: The kinds of blocks, such as "cells 2", "even 3" or "parity 1". Default: those with the least total
            variance of all cells.
        weights: The relative number of participants of each kind. Default: the weights with the least total variance.

    Examples:
        >>> from sottovoce.protocols.shares.parities import ParityBlocks
        >>> person = sv.Record({name: sv.Categories(["no", "yes"]) for name in ("smokes", "drinks", "runs")})
        >>> people = [{"smokes": "yes", "drinks": "no", "runs": "no"}] * 2000
        >>> estimate = sv.simulate(ParityBlocks(person, 2, epsilon=2), people, seed=1)["tables"]
        >>> estimate.table("smokes", "drinks").values.round(1) + 0.0
        array([0., 0., 1., 0.])

    See also:
        `TableViews` for fields with more answers, `Joint` is the question.
    """

    record: Record
    ways: int
    epsilon: Any
    kinds: tuple[str, ...]
    weights: tuple[int, ...]

    def __init__(
        self,
        record: Record,
        ways: int,
        epsilon: Any,
        kinds: Iterable[str] | None = None,
        weights: Iterable[int] | None = None,
    ) -> None:
        question = Joint(record, ways)
        if {*question.sizes.values()} != {2}:
            raise reject("record", OWNER, "a Record whose fields have two answers each", record)
        object.__setattr__(self, "record", record)
        object.__setattr__(self, "ways", ways)
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, epsilon))
        chosen = None if kinds is None else [_kind(text) for text in kinds]
        if chosen is None:
            best = self.workload.best(float(self.epsilon))
            chosen, shares = list(best), list(best.values())
        elif weights is None:
            raise reject("weights", OWNER, "one whole number for each of `kinds`", weights)
        own = [max(1, round(share * WHOLE)) for share in shares] if weights is None else list(weights)
        if len(own) != len(chosen) or len({*chosen}) < len(chosen):
            raise reject("weights", OWNER, "one whole number for each of `kinds`, which must differ", own)
        for weight in own:
            check_integer("weights", OWNER, weight, 1, 1 << 20)
        object.__setattr__(self, "kinds", tuple(f"{kind.form} {kind.size}" for kind in chosen))
        object.__setattr__(self, "weights", tuple(own))
        if any(all(kind.told(size) == 0 for kind in chosen) for size in range(1, ways + 1)):
            raise reject("kinds", OWNER, "blocks that tell the parities of all sets of at most `ways` fields", kinds)

    @classmethod
    def inp_ht(cls, record: Record, ways: int, epsilon: Any) -> ParityBlocks:
        """InpHT: one Hadamard coefficient, uniform among those of at most `ways` attributes, by randomized response.

        Reference: Cormode, Kulkarni, Srivastava, "Marginal release under local differential privacy", SIGMOD 2018.
        """
        sizes = range(1, ways + 1)
        numbers = [comb(len(record.fields), size) for size in sizes]
        return cls(record, ways, epsilon, [f"parity {size}" for size in sizes], numbers)

    @classmethod
    def marg_ht(cls, record: Record, ways: int, epsilon: Any) -> ParityBlocks:
        """MargHT: a table drawn uniformly, then one of its Hadamard coefficients drawn uniformly.

        The constant coefficient, which tells nothing, is never drawn. Reports about one coefficient of several tables
        are averaged. Reference: as for `inp_ht`.
        """
        sizes = range(1, ways + 1)
        return cls(record, ways, epsilon, [f"parity {size}" for size in sizes], [comb(ways, size) for size in sizes])

    @classmethod
    def marg_ps(cls, record: Record, ways: int, epsilon: Any) -> ParityBlocks:
        """MargPS: a table drawn uniformly, whose cell goes through randomized response. Reference: as for `inp_ht`."""
        return cls(record, ways, epsilon, [f"cells {ways}"], [1])

    @property
    def question(self) -> Joint:
        return Joint(self.record, self.ways)

    @property
    def workload(self) -> ParityWorkload:
        """The wanted tables."""
        return ParityWorkload(len(self.record.fields), self.ways)

    def block(self, kind: str) -> Mechanism:
        """The mechanism of those who report a block of one kind."""
        form, size = _kind(kind)
        domain = Select(self.record, [name for name, _ in self.record.fields])
        chosen = ParityMap(len(self.record.fields), size, form)
        ratio = odds(self.epsilon)
        inner = Subset(chosen.outputs, 1, floor_unit(ratio / (ratio + chosen.outputs - 1)))
        return Mechanism(OWNER, self.question, Public(chosen, inner), self.epsilon, CountSeeds(), domain)

    def variance(self) -> float:
        """The total variance of the noise of one report, over all cells of all tables, at equal shares."""
        return self.workload.variance([_kind(kind) for kind in self.kinds], self._shares, float(self.epsilon))

    def information(self, names: Names) -> float:
        kinds = ((_kind(kind), share) for kind, share in zip(self.kinds, self._shares, strict=True))
        told = (share * self.workload.information(kind, float(self.epsilon))[len(names) - 1] for kind, share in kinds)
        return float(sum(told))

    def supports(self, names: Names) -> float:
        size, usual = len(names), 0.0
        for text, share in zip(self.kinds, self._shares, strict=True):
            channel: Any = self.block(text).channel  # `Public` over randomized response
            own, other = two_rates(channel.inner)
            usual += share * _kind(text).told(size) / comb(len(self.record.fields), size) * float(min(other, 1 - own))
        return usual

    @property
    def _shares(self) -> list[float]:
        return [weight / sum(self.weights) for weight in self.weights]

    def effort(self) -> int:
        return ARM_EFFORT * len(self.kinds) + self.workload.tables

    def start(self) -> Round:
        pairs = zip(self.kinds, self.weights, strict=True)
        return Round(tuple(Arm(kind, self.block(kind), weight) for kind, weight in pairs))


def _kind(text: object) -> BlockKind:
    """A kind of blocks from a text such as "even 3"."""
    form, _, size = text.partition(" ") if isinstance(text, str) else ("", "", "")
    if form not in ("cells", "even", "parity") or not size.isdecimal() or not 1 <= int(size) <= 16:
        raise reject("kinds", OWNER, 'texts such as "cells 2", "even 3" or "parity 1"', text)
    return BlockKind(form, int(size))
