"""What both protocols for Gaussian means share: their question, their checks, and the way in which they ask."""

from __future__ import annotations

from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any, ClassVar

from sottovoce.core.domain import Clamp, Interval
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, check_epsilon, check_integer, reject
from sottovoce.core.question import Mean
from sottovoce.core.round import Arm, Estimates, History, Protocol, Round
from sottovoce.estimate.gaussian.law import Likelihood
from sottovoce.mechanisms.mean.gaussian import check_delta
from sottovoce.protocols.gaussian.scales import clipped, scale_arms, short_decimal
from sottovoce.tally.tally import Tally

FAILURE = Decimal("0.001")


class GaussianMean(Protocol):
    """The mean of Gaussian answers on a wide range; its `way` of asking follows from `rounds` and `delta`."""

    domain: Interval
    participants: int
    rounds: int
    delta: Any
    reach: Any
    failure: Any
    waste: ClassVar[float] = 1.0  # how the second question's variance grows with the first's error, see `first_quota`

    @property
    def question(self) -> Mean:
        return Mean(self.domain)

    # --- what a known and an unknown deviation differ in ------------------------------------------------
    @property
    @abstractmethod
    def finest(self) -> Decimal:
        """The standard deviation if known, else its lower limit: the width of the finest scale."""

    @property
    @abstractmethod
    def limits(self) -> tuple[float, float] | None:
        """The least and the largest standard deviation, if it is unknown."""

    @property
    def known(self) -> float | None:
        """The standard deviation, if it is known."""
        return float(self.finest) if self.limits is None else None

    @abstractmethod
    def guesses(self) -> list[float]:
        """Deviations that are tried."""

    @abstractmethod
    def grids(self) -> tuple[Mechanism, ...]:
        """What those are asked in one round who are not asked for digits."""

    @abstractmethod
    def second(self, rough: tuple[float, float]) -> Arm:
        """The question of a second round, after the first has found this centre and deviation."""

    @abstractmethod
    def estimates(self, last: Tally, every: Likelihood, rough: tuple[float, float]) -> Estimates:
        """The estimates of two rounds, from the tally of the second and the likelihood of all tallies."""

    @property
    @abstractmethod
    def way(self) -> Way:
        """How it asks."""

    # --- what they share ----------------------------------------------------------------------------------
    def scales(self) -> tuple[Mechanism, ...]:
        """The questions about digits."""
        return scale_arms(self.domain, self.finest, self.epsilon)

    def start(self) -> Round:
        return self.way.start()

    def advance(self, history: History, closing: bool = False) -> Round | Estimates:
        return self.way.advance(history, closing)

    def effort(self) -> int:
        return self.way.effort()

    def check(self, **own: Any) -> None:
        """Checks and keeps all parameters; those of one protocol are given, checked already."""
        owner = type(self).__name__
        if not isinstance(self.domain, Interval):
            raise reject("domain", owner, "an Interval in which every answer lies, as wide as it may be", self.domain)
        own["epsilon"] = check_epsilon(owner, self.epsilon)
        own["participants"] = check_integer("participants", owner, self.participants, 100, 1 << 53)
        own["rounds"] = check_integer("rounds", owner, self.rounds, 1, 2)
        own["reach"] = check_positive("reach", owner, self.reach, Decimal(20))
        own["failure"] = check_positive("failure", owner, self.failure, Decimal("0.5"))
        if self.delta is not None:
            own["delta"] = check_delta(owner, self.delta)
            if self.rounds == 1:
                raise reject("rounds", owner, "2 with a delta: Gaussian noise is for a second question", 1)
        for name, value in own.items():
            object.__setattr__(self, name, value)
        self.way.check()


class Way(ABC):
    """The rounds of a protocol, and what their tallies say."""

    def __init__(self, protocol: GaussianMean) -> None:
        self.protocol = protocol

    @abstractmethod
    def check(self) -> None:
        """Raises if parameters, each of which is valid, do not fit together."""

    @abstractmethod
    def start(self) -> Round:
        """The first round."""

    @abstractmethod
    def advance(self, history: History, closing: bool) -> Round | Estimates:
        """The next round, or the estimates, as of a protocol."""

    @abstractmethod
    def effort(self) -> int:
        """The effort of the protocol."""


def check_positive(name: str, owner: str, value: object, most: Decimal | None = None) -> Decimal:
    """A deviation, or a probability."""
    number = check_decimal(name, owner, value)
    if not number > 0 or (most is not None and not number <= most):
        raise reject(name, owner, "a number above 0" + ("" if most is None else f", at most {most}"), value)
    return number


def clamped(domain: Interval, centre: float, deviation: float, reach: Decimal) -> Clamp:
    """The range of a second question: `reach` deviations about the centre, within the domain, in short decimals."""
    half = float(reach) * deviation
    low, high = (clipped(short_decimal(centre + side * half, half / 10), domain) for side in (-1, 1))
    if not low < high:  # at the very end of the domain
        low, high = (clipped(short_decimal(centre + side * 2 * half, half / 10), domain) for side in (-1, 1))
    return Clamp(domain, low, high)
