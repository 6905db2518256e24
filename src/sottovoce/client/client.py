"""A device that answers one question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any

from sottovoce.client.tick import NoTick, Tick, public_tick
from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.guarantee import Guarantee
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, reject
from sottovoce.core.rational import loss, within
from sottovoce.core.specs import parse


@dataclass(frozen=True, slots=True)
class Client:
    """Checks the guarantee once, then randomizes answers on the device.

    The loss is computed from the channel, never believed, and held exactly against `limit`: the largest epsilon of one
    report. The limit 1.15 is the decimal, not the float next to it. Without a limit the mechanism is held against its
    own claim. A mechanism whose guarantee is not pure is refused unless it is named in `accept`: "approximate" takes
    any delta, "approximate(0.000001)" this one only; and so for the sensitive codes of "utility_optimised".

    Where a mechanism keeps a memo, `memo` is the file for it (`sottovoce.client.memo`): the permanent answer to each
    value, and the cohort, are drawn once and stay there. All reports of one value together spend `epsilon_forever`,
    and each further value spends it again. `lifetime_limit` bounds that sum, over all values that the device was ever
    asked about; without it the limit of one report bounds it, or what the mechanism claims, which is enough for one
    value. Beyond the limit the device no longer answers. Without a memo no number of reports has such a bound, so a
    lifetime limit refuses the mechanism.

    A message is returned at a `tick`, a public time after the call, since how long an answer takes would tell something
    of it: `Tick(0.01)` is ten milliseconds, and `public_tick` chooses where none is given. Simulations turn it off with
    `NoTick()`. `report` blocks meanwhile; asynchronous programs await `asyncio.to_thread(client.report, value)`.
    """

    mechanism: Mechanism
    limit: float | Decimal | None = None
    accept: tuple[str, ...] = ()
    lifetime_limit: float | Decimal | None = None
    tick: Tick | NoTick | None = field(default=None, kw_only=True)
    memo: str | PathLike[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        found = self.mechanism
        if not isinstance(found, Mechanism) or isinstance(self.accept, str):
            raise ParameterError("A client takes a mechanism, and the guarantees it accepts as a tuple of names.")
        limit, _ = _most("limit", self.limit), _most("lifetime_limit", self.lifetime_limit)
        promised = _accepted(found.guarantee, self.accept)
        # A delta belongs to the epsilon that is claimed, and it is what a limit bounds.
        allowed = found.claimed if limit is None or promised.delta is not None else limit
        broken = promised.broken_by(found.channel, allowed)
        if limit is not None and (broken is not None or (promised.delta is not None and found.claimed > limit)):
            raise PrivacyError(f"This mechanism has epsilon {found.epsilon:.6g}, more than the limit of this device.")
        if broken is not None:
            raise PrivacyError(f"This mechanism has {broken} it claims.")
        self._check_lifetime()
        if not isinstance(self.tick, (Tick, NoTick, type(None))):
            raise reject("tick", "a client", "a Tick, or NoTick() for simulations", self.tick)
        object.__setattr__(self, "tick", self.tick or public_tick(found))

    def _check_lifetime(self) -> None:
        """All reports of one value together stay below a limit, where they do at all."""
        forever = self.mechanism.ratio_forever
        if forever is None:
            if self.lifetime_limit is not None:
                raise PrivacyError("This mechanism keeps no memo, so the loss of repeated answers has no limit.")
            return
        if not within(forever, self._forever_limit):
            raise PrivacyError(
                f"All reports of a value have epsilon {self.mechanism.epsilon_forever:.6g} together, more than the"
                " limit of this device."
            )
        if self.memo is None:
            raise PrivacyError("This mechanism keeps a memo of each value: give the client a file for it, memo=path.")

    @property
    def _forever_limit(self) -> Decimal:
        """What bounds the reports of all values together."""
        limits = _most("lifetime_limit", self.lifetime_limit), _most("limit", self.limit)
        return next(limit for limit in (*limits, self.mechanism.claimed_forever, Decimal(0)) if limit is not None)

    @property
    def most_values(self) -> int | None:
        """How many different values this device answers about in its lifetime; None where nothing bounds them."""
        forever = self.mechanism.ratio_forever
        if forever is None or forever == 1:
            return None
        return max(1, int(Fraction(self._forever_limit) // Fraction(loss(forever))))

    @classmethod
    def from_spec(
        cls,
        spec: Mapping[str, Any] | str | bytes,
        *,
        limit: float | Decimal | None = None,
        accept: tuple[str, ...] = (),
        lifetime_limit: float | Decimal | None = None,
        tick: Tick | NoTick | None = None,
        memo: str | PathLike[str] | None = None,
    ) -> Client:
        """The client of a mechanism's specification; a guarantee that it does not accept is refused unread."""
        plain = parse(spec) if isinstance(spec, (str, bytes)) else spec
        guarantee = plain.get("guarantee") if isinstance(plain, Mapping) else None
        if isinstance(guarantee, str) and not isinstance(accept, str):
            _accepted(guarantee, accept)  # before its delta is computed
        return cls(Mechanism.from_spec(plain), limit, accept, lifetime_limit, tick=tick, memo=memo)

    def report(self, value: object, *, coins: Coins | None = None) -> bytes:
        """The randomized message: a 16-byte random id, then the payload. It takes a tick, whatever the value."""
        return self._after(lambda: self._randomized(value, coins))

    def report_text(self, text: str) -> bytes:
        """The same of an answer that a person typed; to read it takes no time beyond the tick."""
        typed = load("client.typed:typed")  # which most programs do not need
        return self._after(lambda: self._randomized(typed(self.mechanism.domain, text), None))

    def _randomized(self, value: object, coins: Coins | None) -> bytes:
        """By way of the memo, which is on disk before a message is made of it, where the mechanism keeps one."""
        if self.mechanism.claimed_forever is None:
            return self.mechanism.randomize(value, coins)
        kept = load("client.memo:Memo")(self.memo).keep(self.mechanism, value, self.most_values)
        return self.mechanism.answer_from(kept.answer, coins, cohort=kept.cohort)

    def _after(self, draw: Callable[[], bytes]) -> bytes:
        tick = self.tick if self.tick is not None else public_tick(self.mechanism)
        return tick.after(draw)


def _most(name: str, limit: object) -> Decimal | None:
    """A limit as an exact decimal; None where there is none.

    A float of few digits means the decimal that was written, or the number that it is where that is a little larger;
    one of more digits was computed, and means the number that it is.
    """
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, float, Decimal)):
        raise reject(name, "a client", "a number", limit)
    # A program may forbid decimals of floats unless they are asked for by name.
    exact = Decimal.from_float(limit) if isinstance(limit, float) else Decimal(limit)
    if not exact.is_finite() or exact < 0:
        raise PrivacyError(f"The {name} of a device must be a finite number of at least 0.")
    written = check_decimal(name, "a client", limit)
    if not isinstance(limit, float):
        return written
    return max(written, exact) if len(written.as_tuple().digits) <= sys.float_info.dig else exact


def _accepted(guarantee: str, accept: tuple[str, ...]) -> Guarantee:
    """The guarantee, where a device accepts it: pure ones always, others by name."""
    promised = Guarantee.read(guarantee)
    if not {guarantee, promised.kind} & {"pure", *accept}:
        raise PrivacyError(f"This device accepts pure guarantees only; this mechanism's is {guarantee}.")
    return promised
