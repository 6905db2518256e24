"""A device that answers one question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sottovoce.client.tick import NoTick, Tick, public_tick
from sottovoce.core.channel.facets import stages_of
from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.guarantee import Guarantee
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, reject
from sottovoce.core.rational import within
from sottovoce.core.specs import parse


@dataclass(frozen=True, slots=True)
class Client:
    """Checks the guarantee once, then randomizes answers on the device.

    The loss is computed from the channel, never believed, and held exactly against `limit`: the largest epsilon of one
    report. The limit 1.15 is the decimal, not the float next to it. Without a limit the mechanism is held against its
    own claim. A mechanism whose guarantee is not pure is refused unless it is named in `accept`: "approximate" takes
    any delta, "approximate(0.000001)" this one only; and so for the sensitive codes of "utility_optimised".

    Where a device keeps a memo, `lifetime_limit` bounds the epsilon of all reports of one value together; without it,
    they are held against what bounds one report. Without a memo no number of reports has such a bound, so a lifetime
    limit refuses the mechanism.

    A message is returned at a `tick`, a public time after the call, since how long an answer takes would tell something
    of it: `Tick(0.01)` is ten milliseconds, and `public_tick` chooses where none is given. Simulations turn it off with
    `NoTick()`. `report` blocks meanwhile; asynchronous programs await `asyncio.to_thread(client.report, value)`.
    """

    mechanism: Mechanism
    limit: float | Decimal | None = None
    accept: tuple[str, ...] = ()
    lifetime_limit: float | Decimal | None = None
    tick: Tick | NoTick | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        found = self.mechanism
        if not isinstance(found, Mechanism) or isinstance(self.accept, str):
            raise ParameterError("A client takes a mechanism, and the guarantees it accepts as a tuple of names.")
        limit, lifetime = _most("limit", self.limit), _most("lifetime_limit", self.lifetime_limit)
        promised = _accepted(found.guarantee, self.accept)
        # A delta belongs to the epsilon that is claimed, and it is what a limit bounds.
        allowed = found.claimed if limit is None or promised.delta is not None else limit
        broken = promised.broken_by(found.channel, allowed)
        if limit is not None and (broken is not None or (promised.delta is not None and found.claimed > limit)):
            raise PrivacyError(f"This mechanism has epsilon {found.epsilon:.6g}, more than the limit of this device.")
        if broken is not None:
            raise PrivacyError(f"This mechanism has {broken} it claims.")
        self._check_lifetime(found.claimed if limit is None else limit, lifetime)
        if not isinstance(self.tick, (Tick, NoTick, type(None))):
            raise reject("tick", "a client", "a Tick, or NoTick() for simulations", self.tick)
        object.__setattr__(self, "tick", self.tick or public_tick(found))

    def _check_lifetime(self, once: Decimal, lifetime: Decimal | None) -> None:
        """All reports of one value together stay below a limit, where they do at all."""
        stages, allowed = stages_of(self.mechanism.channel), once if lifetime is None else lifetime
        if stages is None and lifetime is not None:
            raise PrivacyError("This mechanism keeps no memo, so the loss of repeated answers has no limit.")
        if stages is not None and not within(stages[0].ratio(), allowed):
            raise PrivacyError(
                f"All reports of a value have epsilon {self.mechanism.epsilon_forever:.6g} together, more than the"
                " limit of this device."
            )

    @classmethod
    def from_spec(
        cls,
        spec: Mapping[str, Any] | str | bytes,
        *,
        limit: float | Decimal | None = None,
        accept: tuple[str, ...] = (),
        lifetime_limit: float | Decimal | None = None,
        tick: Tick | NoTick | None = None,
    ) -> Client:
        """The client of a mechanism's specification; a guarantee that it does not accept is refused unread."""
        plain = parse(spec) if isinstance(spec, (str, bytes)) else spec
        guarantee = plain.get("guarantee") if isinstance(plain, Mapping) else None
        if isinstance(guarantee, str) and not isinstance(accept, str):
            _accepted(guarantee, accept)  # before its delta is computed
        return cls(Mechanism.from_spec(plain), limit, accept, lifetime_limit, tick=tick)

    def report(self, value: object, *, coins: Coins | None = None) -> bytes:
        """The randomized message: a 16-byte random id, then the payload. It takes a tick, whatever the value."""
        return self._after(lambda: self.mechanism.randomize(value, coins))

    def report_text(self, text: str) -> bytes:
        """The same of an answer that a person typed; to read it takes no time beyond the tick."""
        typed = load("client.typed:typed")  # which most programs do not need
        return self._after(lambda: self.mechanism.randomize(typed(self.mechanism.domain, text)))

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
