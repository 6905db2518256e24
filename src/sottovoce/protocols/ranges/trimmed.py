"""Trimmed and winsorised means in rounds: search two quantiles, then ask for numbers between them."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, cast

import numpy as np

from sottovoce.core.channel.facets import rates_of
from sottovoce.core.domain import Above, Clamp, Domain, Integers, Interval
from sottovoce.core.params import check_decimal, check_epsilon, check_people, decimal_text, reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Evidence
from sottovoce.estimate.mean.evidence import MeanEvidence
from sottovoce.estimate.mean.trimmed import EndAnswers, TrimmedMeanEvidence, WinsorisedMeanEvidence
from sottovoce.estimate.sources import sources_of
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.nested.sequential import Sequential
from sottovoce.protocols.nested.walk import Rounds
from sottovoce.protocols.quantile.rounds import QuantileRounds
from sottovoce.protocols.ranges.bits import short

OWNER = "a trimmed mean"
WEIGHTS, AT_END = 20, 2  # of all arms of the last round, and of each question about an end
FINE = 1000  # steps of few digits between both ends
FIRST = Decimal("0.3")  # of all participants are asked about thresholds


@dataclass(frozen=True, slots=True)
class ClampedBetween(Protocol):
    """One round: numbers clamped to the range from `low` to `high`, and for each end whether numbers lie above it."""

    domain: Integers | Interval
    epsilon: Any
    low: Decimal
    high: Decimal
    method: str

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return effort_of(self.method, self.epsilon)

    def start(self) -> Round:
        number = build(self.method, Clamp(self.domain, self.low, self.high), epsilon=self.epsilon)
        arms = [Arm("number", number, WEIGHTS - 2 * AT_END)]
        for end in (self.low, self.high):
            bit = build("rr", Above(self.domain, end), epsilon=self.epsilon)
            arms.append(Arm(f"from {decimal_text(end)}", bit, AT_END))
        return Round(tuple(arms))

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (tallies,) = history
        number, *bits = tallies
        rates: Any = rates_of(bits[0].mechanism.channel)
        asked, yes = (np.array(part, float) for part in zip(*((bit.n, bit.cells[1]) for bit in bits), strict=True))
        places = float(self.low), float(self.high)
        answers = EndAnswers(places, asked, yes, float(rates.own), float(rates.other))
        return {"clamped": number.mechanism.estimate(number), "ends": answers}


@dataclass(frozen=True, slots=True)
class TrimmedMeanRounds(Sequential):
    """Estimate the trimmed and the winsorised mean of a number: targets that few far answers do not move.

    A part `first` of all participants finds the quantiles of `share` and 1 - `share`, as in `QuantileRounds`. The rest
    answers with their number, clamped to the range between both; a fifth of them is asked about its ends instead. The
    range of the answers matters little, so it may be far too wide.

    The results are "trimmed" (the mean of the numbers between the quantiles), "winsorised" (the mean with the others
    moved to the quantiles), "clamped" (with the others moved to the ends that were found) and "quantile". Their
    intervals hold for any distribution. If the protocol is closed in the search there is "quantile" only.
    """

    unbegun: ClassVar[str] = "Closed early: some arms of the last round have no reports, so no numbers are counted."
    needs_all_arms: ClassVar[bool] = True
    domain: Integers | Interval
    share: Any
    epsilon: Any
    participants: int
    method: str = "designed"
    first: Any = FIRST
    rounds: int = 4

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.line is None:
            raise reject("domain", OWNER, "an Interval or Integers of any width", self.domain)
        share, first = check_decimal("share", OWNER, self.share), check_decimal("first", OWNER, self.first)
        if not 0 < share < Decimal("0.5"):
            raise reject("share", OWNER, "a share of the answers to leave out at each end, in (0, 0.5)", self.share)
        if not 0 < first <= Decimal("0.9"):
            raise reject("first", OWNER, "a share of the participants in (0, 0.9]", self.first)
        if self.method not in names(Mean):
            raise reject("method", OWNER, f"one of {', '.join(names(Mean))}", self.method)
        people = check_people("participants", OWNER, self.participants)
        numbers = {"share": share, "first": first, "participants": people}
        for name, value in (numbers | {"epsilon": check_epsilon(OWNER, self.epsilon)}).items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "rounds", self.opening.rounds)  # checks the number of rounds and of participants

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return self.opening.effort() + effort_of(self.method, self.epsilon)

    @property
    def opening(self) -> QuantileRounds:
        people, shares = int(self.participants * self.first), (self.share, 1 - self.share)
        return QuantileRounds(self.domain, shares, self.epsilon, people, self.rounds, takes_rest=False)

    def following(self, estimates: Estimates, rounds: Rounds) -> ClampedBetween:
        low, high = self._ends(*estimates["quantile"].values.tolist())
        return ClampedBetween(self.domain, self.epsilon, low, high, self.method)

    def _ends(self, first: float, last: float) -> tuple[Decimal, Decimal]:
        """The two quantiles in few digits, and apart where they are the same number."""
        least, most = Decimal(self.domain.low), Decimal(self.domain.high)
        step = max(last - first, float(most - least) / FINE**2) / FINE
        whole, apart = self.domain.spacing, Decimal(repr(step))
        low, high = short(first, step), short(last, step)
        if whole is not None:
            low, high = (Decimal(repr(end)).quantize(Decimal(whole)) for end in (first, last))
            apart = Decimal(whole)
        low, high = min(max(low, least), most), min(max(high, least), most)
        if low < high:
            return low, high
        return (low, low + apart) if low + apart <= most else (high - apart, high)

    def together(self, estimates: Estimates, then: Estimates) -> Estimates:
        clamped, quantile = then["clamped"], estimates["quantile"]
        known = (
            cast(MeanEvidence, clamped.evidence),
            cast(Evidence, quantile.evidence),
            then["ends"],
            float(self.share),
            (float(self.domain.low), float(self.domain.high)),
        )
        sources = sources_of([*clamped.sources, *quantile.sources])
        means = {"trimmed": TrimmedMeanEvidence(*known), "winsorised": WinsorisedMeanEvidence(*known)}
        results = {name: Estimate.of(self.question, evidence, sources) for name, evidence in means.items()}
        return {**results, "clamped": clamped, "quantile": quantile}
