"""The adaptive mean: a few answer first, and the channel of all others is designed for their answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_integer, check_people, reject
from sottovoce.core.question import Mean
from sottovoce.core.registry import mechanism as build
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round, partial
from sottovoce.design.designed import MAX_INPUTS, check_budget, count_inputs
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.mean.sequential import two_rounds
from sottovoce.protocols.effort import effort_of
from sottovoce.protocols.mean.belief import Decision, believed, decide, published_belief
from sottovoce.tally.tally import Tally

OWNER = "an adaptive mean"
FIRST = ("designed", "grr", "laplace", "square-wave")
DECODINGS = ("likelihood", "published")
PUBLISHED = ("grr", "laplace")  # first rounds with a published decoding
# Below these budgets and crowds one round is as good: knowledge of the answers saves at most 3.2 % of the variance,
# or a small first round has too little information.
LEAST_EPSILON = Decimal("0.6")
LEAST_PARTICIPANTS = 1000
# Round one has this many times the square root of all participants, more for epsilon below 1. What it costs grows
# with its size, what a wrong belief costs falls with it; the sum is flat about its least.
FIRST_ROUND = 6
MOST_FIRST = 4  # at most one in this number is asked first
MOST_NOISY = 25  # where the reports of round one are noisier, or no part of the mean
COARSE, FINE_FROM, FINE = 8, Decimal(3), 16  # its levels


@dataclass(frozen=True, slots=True)
class AdaptiveMeanRounds(Protocol):
    """Estimate a mean in two rounds; the second round uses a channel designed for the answers of the first.

    Round one asks a few participants. Their tally, by likelihood and with a cautious share of evenly spread answers,
    describes the expected answers. If the channel designed for them promises less noise, round two uses it; else the
    one-round channel, and the estimate says so. If adapting cannot pay from the start, there is one round.

    Args:
        domain: The range of the answers.
        epsilon: The privacy budget of one participant; each answers once.
        participants: How many people are expected.
        split: The share of participants who are asked first. Default: chosen from the other arguments.
        first: The channel of round one: "designed" is the one-round channel; "grr" is randomized response on a grid, as
            published; "laplace" is additive noise; "square-wave" shows the law best, but its reports are no part of the
            mean.
        inputs: The number of points of the grid.
        decoding: How round one describes the answers: "likelihood", or "published" for "grr" (inversion, negative
            shares to 0, scaling) and "laplace" (shares of the noisy numbers).

    Returns:
        A protocol for `simulate`, with the estimates "mean" (both rounds, weighted by inverse variance), "first" and
        "second".

    Examples:
        >>> protocol = sv.AdaptiveMeanRounds(sv.Interval(0, 100), epsilon=1, participants=4000)
        >>> estimates = sv.simulate(protocol, [20, 21, 22, 23] * 1000, seed=1)
        >>> round(estimates["mean"].value)
        23

    See also:
        `RangeSearchMean` for a very wide range, `Mean` for one round.

    Reference: Wei et al., "AAA: an adaptive mechanism for locally differentially private mean estimation", VLDB 2024;
    the program is the corrected one of `designed`.
    """

    domain: Domain
    epsilon: Any
    participants: int
    split: Any = None
    first: str = "designed"
    inputs: int | None = None
    decoding: str = "likelihood"

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Domain) or self.domain.numbers is None:
            raise reject("domain", OWNER, "a domain of numbers, such as Interval(0, 10)", self.domain)
        object.__setattr__(self, "epsilon", check_budget(OWNER, self.epsilon))
        object.__setattr__(self, "participants", check_people("participants", OWNER, self.participants))
        if self.split is not None:
            split = check_decimal("split", OWNER, self.split)
            if not 0 < split < 1 or not 1 <= round(split * self.participants) < self.participants:
                raise reject("split", OWNER, "a share in (0, 1) that leaves someone for each round", self.split)
            object.__setattr__(self, "split", split)
        if self.first not in FIRST:
            raise reject("first", OWNER, f"one of {', '.join(FIRST)}", self.first)
        if self.decoding not in DECODINGS or (self.decoding == "published" and self.first not in PUBLISHED):
            raise reject("decoding", OWNER, "likelihood, or published with first='grr' or 'laplace'", self.decoding)
        if self.inputs is not None:
            object.__setattr__(self, "inputs", check_integer("inputs", OWNER, self.inputs, 2, MAX_INPUTS))

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    def effort(self) -> int:
        return 2 * effort_of("designed", self.epsilon, self.inputs)

    # --- round one ---------------------------------------------------------------------------------
    @property
    def one_round_because(self) -> str | None:
        """Why there is no second round, if that is known from the start."""
        if self.split is not None:
            return None
        if self.epsilon < LEAST_EPSILON:
            return (
                f"One round: at epsilon {self.epsilon} knowledge of the answers saves at most 3.2 % of the variance, so"
                " adapting does not pay."
            )
        if self.participants < LEAST_PARTICIPANTS:
            return (
                f"One round: a first round of some of {self.participants} participants has too little information for"
                f" adapting to pay; that needs {LEAST_PARTICIPANTS}."
            )
        return None

    @property
    def asked_first(self) -> int:
        """How many are asked in round one; all, if it is the only one."""
        if self.one_round_because is not None:
            return self.participants
        if self.split is not None:
            asked: int = round(self.split * self.participants)
            return asked
        wanted = FIRST_ROUND * math.sqrt(self.participants) / min(1.0, float(self.epsilon))
        return min(round(wanted), self.participants // (MOST_FIRST if self.first == "designed" else MOST_NOISY))

    def one_round(self) -> Mechanism:
        """The channel to compare with, and to fall back to: the balanced design, good for any answers."""
        return build("designed", self.domain, epsilon=self.epsilon, inputs=self.inputs)

    def _first(self) -> Mechanism:
        if self.first == "designed" or self.one_round_because is not None:
            return self.one_round()
        if self.first != "grr":
            return build(self.first, self.domain, epsilon=self.epsilon)
        levels = FINE if self.epsilon >= FINE_FROM else COARSE
        return build("nprr", self.domain, epsilon=self.epsilon, k=levels)

    def start(self) -> Round:
        only = self.one_round_because is not None
        return Round((Arm("first", self._first()),), quota=None if only else self.asked_first)

    # --- round two ---------------------------------------------------------------------------------
    def decision(self, first: Tally) -> Decision:
        """The decision after the tally of round one."""
        inputs, between = count_inputs(OWNER, self.domain, self.inputs, self.epsilon)
        if self.decoding == "published":
            belief = published_belief(first, inputs)
        else:
            belief = believed(first, inputs, between=between)
        design = build(
            "designed", self.domain, epsilon=self.epsilon, objective="prior", prior=belief, inputs=self.inputs
        )
        return decide(first, belief, self.one_round(), design)

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        (first_tally,), *later = history
        first = self._first().estimate(first_tally)
        if self.one_round_because is not None:
            () = later
            return {"mean": replace(first, notes=(self.one_round_because,))}
        if closing and not later:
            if self.first == "square-wave":
                return partial({"first": first}, "Closed early: a mean needs reports of round two.")
            only = replace(first, notes=(f"Only round one was played, of {first.n} reports.",))
            return partial({"mean": only}, "Closed early: round two has no reports.")
        decision = self.decision(first_tally)
        if not later:
            return Round((Arm("second", decision.mechanism),))
        ((second_tally,),) = later
        second = decision.mechanism.estimate(second_tally)
        return {"mean": self.together(first_tally, second_tally, decision), "first": first, "second": second}

    def together(self, first: Tally, second: Tally, decision: Decision) -> Estimate:
        """The mean of both rounds: of one tally if the mechanism was the same, else weighted by inverse variance.

        Reports of a square wave are not read as numbers without bias, so the mean after it is that of round two.
        """
        if decision.mechanism == first.mechanism:
            mean = first.mechanism.estimate(first + second)
        elif self.first == "square-wave":
            mean = decision.mechanism.estimate(second)
        else:
            mean = two_rounds(first.mechanism.estimate(first), decision.mechanism.estimate(second), decision.variances)
        noted: Estimate = replace(mean, notes=(decision.reason,))
        return noted
