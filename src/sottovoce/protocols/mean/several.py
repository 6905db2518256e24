"""The adaptive mean of several numbers: the adaptive mean of each, where everyone reports some of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from math import ceil, sqrt
from typing import Any

from sottovoce.core.channel import Each
from sottovoce.core.domain import Box, Domain, Fields, Record, VectorPart
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, check_people, reject
from sottovoce.core.question import Attributes, Question, VectorMean
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, Tallies, partial
from sottovoce.core.statistic.each import CountEach
from sottovoce.estimate.attributes.evidence import part_cells
from sottovoce.estimate.attributes.sampled import SampledMeansEvidence
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.mean.adaptive import AdaptiveMeanRounds
from sottovoce.protocols.nested.walk import Rounds, stage_after
from sottovoce.tally.tally import Tally

OWNER = "adaptive means"
SPENT = Decimal(4)  # of the budget, for one number more: with less for each, fewer numbers have less error
SURE = 3.0  # standard deviations by which round one is longer than expected, so that each number has its quota


@dataclass(frozen=True, slots=True)
class AdaptiveMeansRounds(Protocol):
    """Estimate the means of several numbers in two rounds, with a channel designed for each number.

    Chance gives every participant `count` neighbouring numbers, cyclically, each with an equal share of the budget: two
    answers may differ in all of them. Each number has an `AdaptiveMeanRounds` of its own, which counts the reports
    about it. Round one gives a belief about each number, round two has a channel for each, and means use both rounds.

    Args:
        domain: The numbers: a `Record` of numbers, or a `Box`, whose numbers are named by their places, 0, 1, ...
        epsilon: The privacy budget of one participant, for all numbers of a report together.
        participants: How many people are expected.
        count: How many fields each participant reports. Default: epsilon / 4, at least one.
        split: The share of participants who are asked first. Default: chosen from the other arguments.
        first: The channel of round one, as in `AdaptiveMeanRounds`.
        inputs: The number of points of each grid.
        decoding: How round one describes the answers, as in `AdaptiveMeanRounds`.

    Returns:
        A protocol for `simulate`, with the mean of each number by its name, and "means": all of them, for intervals
        that hold at once (`ci(simultaneous=True)`).

    Reference: Wei et al., "AAA: an adaptive mechanism for locally differentially private mean estimation", VLDB 2024,
    algorithm 6. As published it spends `count` times epsilon; here each number gets epsilon / count.
    """

    domain: Record | Box
    epsilon: Any
    participants: int
    count: int | None = None
    split: Any = None
    first: str = "designed"
    inputs: int | None = None
    decoding: str = "likelihood"

    def __post_init__(self) -> None:
        fields = self._fields() if isinstance(self.domain, Domain) and self.domain.root is self.domain else {}
        if not fields or any(part.numbers is None for part in fields.values()):
            raise reject("domain", OWNER, "a record of numbers, or a Box", self.domain)
        object.__setattr__(self, "epsilon", check_epsilon(OWNER, self.epsilon))
        object.__setattr__(self, "participants", check_people("participants", OWNER, self.participants))
        count = max(1, min(len(fields), int(self.epsilon / SPENT))) if self.count is None else self.count
        object.__setattr__(self, "count", check_integer("count", OWNER, count, 1, len(fields)))
        object.__setattr__(self, "split", next(iter(self.parts.values())).split)  # checks the other parameters

    def _fields(self) -> dict[str, Domain]:
        """The domain of each number by its name, as its own protocol asks for it."""
        return dict(self.domain.fields) or {str(place): one for place, one in enumerate(self.domain.coordinates or ())}

    @property
    def question(self) -> Question:
        return self._asked(tuple(self._fields()))

    def _asked(self, names: tuple[str, ...]) -> Question:
        """The question about some of the numbers."""
        record: Any = self.domain
        if not record.fields:
            return VectorMean(VectorPart(record, map(int, names)))
        return Attributes(record if len(names) == len(record.fields) else Fields(record, names))

    @property
    def parts(self) -> dict[str, AdaptiveMeanRounds]:
        """The adaptive mean of each number, with its budget and the expected reports about it."""
        fields = self._fields()
        budget = Context(prec=20, rounding=ROUND_FLOOR).divide(self.epsilon, Decimal(self._count))
        people = max(2, self.participants * self._count // len(fields))
        rest = budget, people, self.split, self.first, self.inputs, self.decoding
        return {name: AdaptiveMeanRounds(domain, *rest) for name, domain in fields.items()}

    @property
    def _count(self) -> int:
        assert self.count is not None  # chosen when the protocol was built
        return self.count

    def effort(self) -> int:
        return sum(part.effort() for part in self.parts.values())

    def _windows(self) -> list[tuple[str, ...]]:
        names = list(self._fields())
        if self._count == len(names):
            return [tuple(names)]
        return [tuple((names + names)[start : start + self._count]) for start in range(len(names))]

    # --- rounds ------------------------------------------------------------------------------------
    def start(self) -> Round:
        return self._round({name: part.start() for name, part in self.parts.items()})

    def _round(self, stages: dict[str, Round]) -> Round:
        """The current rounds of all fields: an arm for each set of fields that is reported together."""
        arms = []
        for names in self._windows():
            channel = Each(tuple(stages[name].arms[0].mechanism.channel for name in names))
            mechanism = Mechanism("adaptive-means", self._asked(names), channel, self.epsilon, CountEach())
            arms.append(Arm(", ".join(names), mechanism))
        quotas = [stage.quota for stage in stages.values() if stage.quota is not None]
        if not quotas:
            return Round(tuple(arms))
        chance = 0.0 if self._count == len(stages) else SURE  # coins decide how many report each field
        wanted = max(quotas) + chance * sqrt(max(quotas))
        return Round(tuple(arms), quota=ceil(wanted * len(stages) / self._count))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        parts, rounds = self.parts, tuple(history)
        reported = self._by_field(rounds)
        stages = {name: stage_after(part, reported[name]) for name, part in parts.items()}
        waiting = {name: stage for name, stage in stages.items() if isinstance(stage, Round)}
        if len(waiting) == len(parts) and not closing:
            return self._round(waiting)
        # Where some fields are done, everyone was asked: others, which began late, end as they are.
        means: dict[str, Estimate] = {}
        laws: dict[str, Estimate] = {}  # of round one, where its reports are no part of a mean
        for name, part in parts.items():
            if reported[name]:
                ended: Any = part.advance(reported[name], closing=True) if name in waiting else stages[name]
                read, kept = ("mean", means) if "mean" in ended else ("first", laws)
                kept[name] = ended[read]
        if not means:
            return partial(laws, "Closed early: means need reports of round two.")
        silent = [name for name in parts if name not in means]
        result = self._together(means, rounds)
        return partial(result, f"Closed early: no estimates for {', '.join(silent)}.") if silent else result

    def _by_field(self, rounds: Rounds) -> dict[str, Rounds]:
        """The tallies of each field, as its own protocol would have them: only rounds with reports about it."""
        history: dict[str, Rounds] = dict.fromkeys(self.parts, ())
        for tallies in rounds:
            stages = {name: stage_after(part, history[name]) for name, part in self.parts.items()}
            for name, tally in self._split(tallies, stages).items():
                history[name] = (*history[name], (tally,)) if tally.n else history[name]
        return history

    def _split(self, tallies: Tallies, stages: dict[str, Any]) -> dict[str, Tally]:
        counted: dict[str, Tally] = {}
        for names, tally in zip(self._windows(), tallies, strict=True):
            for name, cells in zip(names, part_cells(tally.mechanism, tally.cells), strict=True):
                own = Tally(stages[name].arms[0].mechanism, tally.n, cells)
                counted[name] = counted[name] + own if name in counted else own
        return counted

    def _together(self, estimates: dict[str, Estimate], rounds: Rounds) -> Estimates:
        """The mean of each field, and all of them in one estimate; sources are the mechanisms of whole reports."""
        sources = sources_of(tally for tallies in rounds for tally in tallies if tally.n)
        people = sum(tally.n for tallies in rounds for tally in tallies)
        evidence = SampledMeansEvidence(tuple(estimates), tuple(one.evidence for one in estimates.values()), people)
        joint = Estimate.of(self.question, evidence, sources)
        return {"means": joint, **{name: replace(one, sources=sources) for name, one in estimates.items()}}
