"""What a shuffler gives: the loss of one person in a crowd whose reports arrive without order or sender.

Only for an observer who sees nothing but shuffled reports. The collector of plain reports sees more, and whoever runs
the shuffler sees all: towards them the loss of a report is its local epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from scipy.special import betainc

from sottovoce.core.channel import Channel, Subset
from sottovoce.core.errors import ParameterError
from sottovoce.core.guarantee import Loss
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.privacy.accounting import blanket_sum, bounds
from sottovoce.privacy.accounting.blankets import pairs
from sottovoce.privacy.accounting.composition import MAX_ANSWERS, advanced
from sottovoce.privacy.accounting.exact_shuffle import MAX_YES_NO, YesNo

OWNER = "shuffling"
MOST = 1 << 40  # also the largest batch of a shuffler
_STEPS = 40  # halvings: to a part in 10**12
CLAIMED = ("exact", "law", "clones", "clones, closed form", "blanket", "erlingsson")


@dataclass(frozen=True, slots=True)
class Amplified:
    """The loss of one report in a shuffled crowd.

    Attributes:
        local: the epsilon of a report by itself.
        participants: all who report, honest ones: who colludes with the observer does not count.
        delta: the probability by which the bound may fail.
        claimed: epsilon by each method with a proof that was checked.
        shown: epsilon by methods that are published but not claimed, with the reason in their docstrings.
    """

    local: float
    participants: int
    delta: float
    claimed: dict[str, float]
    shown: dict[str, float]

    @property
    def epsilon(self) -> float:
        """The smallest that is claimed, never above the local one."""
        return min(self.local, *self.claimed.values())

    @property
    def method(self) -> str:
        """The method of that epsilon."""
        best = min(self.claimed, key=lambda name: self.claimed[name])
        return best if self.claimed[best] < self.local else "none"

    def text(self) -> str:
        """All of it in words."""
        return (
            f"Behind a shuffler, among {self.participants:,} honest participants, a report of epsilon {self.local:.4g}"
            f" loses at most epsilon {self.epsilon:.4g} with delta {self.delta:.2g} (method: {self.method}). This holds"
            " for an observer who sees shuffled reports only, and not for the shuffler itself."
        )


def shuffled(of: Mechanism | object, *, participants: int, delta: float) -> Amplified:
    """The loss of a mechanism, or of any report of this epsilon, in a shuffled crowd.

    Bounds are computed in double precision; what their sums leave out, and the last digits, count against privacy.
    """
    check_integer("participants", OWNER, participants, 1, MOST)
    if isinstance(delta, bool) or not isinstance(delta, (int, float)) or not 0 < delta < 1:
        raise reject("delta", OWNER, "a number in (0, 1)", delta)
    local, keep = _local(of)
    n = participants
    deltas: dict[str, Callable[[float], float]] = {
        "clones": bounds.clones(local, n).delta,
        "blanket": bounds.blanket(local, n),
    }
    if keep is not None and n <= MAX_YES_NO:
        deltas["exact"] = YesNo(n, keep).delta
    claimed = {name: smallest_epsilon(one, local, delta) for name, one in deltas.items()}
    claimed["clones, closed form"] = bounds.clones_closed_form(local, n, delta)
    claimed["erlingsson"] = bounds.erlingsson(local, n, delta)
    if isinstance(of, Mechanism):
        by_law = _by_law(of.channel, n, delta, min(local, claimed["clones"]))
        claimed |= {} if by_law is None else {"law": by_law}
    shown = {"stronger clones": smallest_epsilon(bounds.stronger_clones(local, n).delta, local, delta)}
    return Amplified(local, n, float(delta), {name: claimed[name] for name in CLAIMED if name in claimed}, shown)


def shuffled_waves(of: Mechanism | object, *, participants: int, delta: float, waves: int) -> Loss:
    """The loss of a person who answers several waves, or several questions, each in a shuffled crowd of its own.

    Half of delta goes to the crowds, in equal parts, and half to advanced composition; never above the local sum.

    Args:
        of: The mechanism of each report, or its epsilon.
        participants: Honest participants of each crowd.
        delta: The probability by which the whole bound may fail.
        waves: How many reports a person sends.
    """
    count = check_integer("waves", OWNER, waves, 1, MAX_ANSWERS)
    each = delta / 2 / count
    one = shuffled(of, participants=participants, delta=each)
    losses = [Loss(Decimal(repr(one.epsilon)), Decimal(repr(each)))] * count
    return advanced(losses, repr(delta / 2))


@lru_cache(maxsize=1024)
def _by_law(channel: Channel, n: int, delta: float, high: float) -> float | None:
    """Epsilon from the blanket of the channel; None if its law is not known, or gives no less than another bound."""
    kinds = pairs(channel)
    epsilon = blanket_sum.smallest_epsilon(kinds, n, delta, high=high) if kinds else high
    return epsilon if epsilon < high else None


def fewest_of(n: int, rate: float, probability: float) -> int:
    """How many of n people at least do what each does with this rate; fewer at most with this probability."""
    low, high = 0, n
    while low < high:
        middle = (low + high + 1) // 2
        fewer = betainc(n - middle + 1, middle, 1 - rate)  # `bdtr` has no room for more than 2**31 people
        low, high = (middle, high) if fewer <= probability else (low, middle - 1)
    return low


def smallest_epsilon(delta_of: Callable[[float], float], local: float, delta: float) -> float:
    """The smallest epsilon at which a falling function meets a delta, rounded up; the local one where none does."""
    low, high = 0.0, local
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle) <= delta else (middle, high)
    return high


def _local(of: Mechanism | object) -> tuple[float, float | None]:
    """The local epsilon, and how often a yes or no is kept where that is all there is."""
    if not isinstance(of, Mechanism):
        return float(check_epsilon(OWNER, of)), None
    if not of.guarantee.is_pure or of.claimed_forever is not None:
        raise ParameterError(f"What shuffling gives is known for pure guarantees without a memo, not for {of.name}.")
    channel = of.channel
    if isinstance(channel, Subset) and channel.inputs == 2 and math.isfinite(of.epsilon):
        return of.epsilon, channel.keep / (1 << 53)
    return of.epsilon, None
