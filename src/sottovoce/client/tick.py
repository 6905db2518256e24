"""When a message leaves the device: at a public time after the call, so that its duration reveals nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeVar

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject

T = TypeVar("T")

SHORTEST = 0.004  # seconds: many times what an ordinary answer takes
WRITTEN = 0.1  # seconds: many times what it takes to write to a disk
STEPS = 256  # numbers and words that a device processes in a small part of that
LONGEST = 3600  # seconds
SPIN = 200_000  # nanoseconds before the end: waking up from sleep takes a varying time
_SECOND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Tick:
    """Work ends `seconds` after it began, or at a multiple of that if it took longer.

    The tick sleeps until shortly before, and then polls the clock: the moment of return depends on the clock, not on
    the work. An error waits as well, since a device that asks again may send right after it.
    """

    seconds: float
    clock: Callable[[], int] = field(default=time.perf_counter_ns, repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        number = self.seconds
        plain = isinstance(number, (int, float, Decimal)) and not isinstance(number, bool)
        if not plain or not math.isfinite(number) or not 0 < number <= LONGEST:
            raise reject("seconds", "a tick", f"a number in (0, {LONGEST}]", number)
        object.__setattr__(self, "seconds", float(number))

    def after(self, work: Callable[[], T]) -> T:
        """Do the work, and return at the tick."""
        began = self.clock()
        try:
            return work()
        finally:
            self._wait(began)

    def _wait(self, began: int) -> None:
        step = max(1, round(self.seconds * _SECOND))
        now = self.clock()
        due = began + step * ((now - began) // step + 1)
        if due - now > SPIN:
            self.sleep((due - now - SPIN) / _SECOND)
        while self.clock() < due:
            pass


@dataclass(frozen=True, slots=True)
class Untimed:
    """Returns at once: for simulations and measurements without private answers."""

    def after(self, work: Callable[[], T]) -> T:
        """Do the work."""
        return work()


def public_tick(mechanism: Mechanism) -> Tick:
    """A tick longer than an answer takes, from public quantities only: the numbers and words that it reads."""
    shortest = SHORTEST if mechanism.claimed_forever is None else WRITTEN
    numbers = len(mechanism.domain.coordinates or ()) + getattr(mechanism.domain, "most", 0)
    return Tick(shortest * (1 + (numbers + mechanism.channel.words) // STEPS))
