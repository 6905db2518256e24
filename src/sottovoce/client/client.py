"""A device that answers one question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sottovoce.client.tick import NoTick, Tick, public_tick
from sottovoce.client.typed import typed
from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.rational import within


@dataclass(frozen=True, slots=True)
class Client:
    """Checks the guarantee once, then randomizes answers on the device.

    The epsilon is computed from the channel, not believed, and so is the delta of an approximate guarantee. A mechanism
    whose guarantee is not pure is refused unless it is named in `accept`: "approximate" takes any delta,
    "approximate(0.000001)" this one only. One whose epsilon exceeds `limit` is refused always; so is, without a limit,
    one whose epsilon exceeds what it claims.

    A message is returned at a `tick`, a public time after the call, since how long an answer takes would tell something
    of it: `Tick(0.01)` is ten milliseconds, and `public_tick` chooses where none is given. Simulations turn it off with
    `NoTick()`. `report` blocks meanwhile; asynchronous programs await `asyncio.to_thread(client.report, value)`.
    """

    mechanism: Mechanism
    limit: float | Decimal | None = None
    accept: tuple[str, ...] = ()
    tick: Tick | NoTick | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        found = self.mechanism
        if not isinstance(found, Mechanism) or isinstance(self.accept, str):
            raise ParameterError("A client takes a mechanism, and the guarantees it accepts as a tuple of names.")
        if self.limit is not None and (
            isinstance(self.limit, bool) or not isinstance(self.limit, (int, float, Decimal))
        ):
            raise reject("limit", "a client", "a number", self.limit)
        if not {found.guarantee, found.guarantee.partition("(")[0]} & {"pure", *self.accept}:
            raise PrivacyError(f"This device accepts pure guarantees only; this mechanism's is {found.guarantee}.")
        unchecked = found.guarantee in ("idealised", "approximate")  # of these a specification may claim anything
        if self.limit is None and unchecked and not within(found.ratio, found.claimed):
            raise PrivacyError(
                f"This mechanism has epsilon {found.epsilon:.6g}, more than the {found.claimed} it claims."
            )
        if self.limit is not None and not found.epsilon <= self.limit:  # a limit that is no number refuses
            raise PrivacyError(
                f"This device accepts epsilon up to {self.limit}; this mechanism has {found.epsilon:.6g}."
            )
        if not isinstance(self.tick, (Tick, NoTick, type(None))):
            raise reject("tick", "a client", "a Tick, or NoTick() for simulations", self.tick)
        object.__setattr__(self, "tick", self.tick or public_tick(found))

    @classmethod
    def from_spec(
        cls,
        spec: Mapping[str, Any] | str | bytes,
        *,
        limit: float | Decimal | None = None,
        accept: tuple[str, ...] = (),
        tick: Tick | NoTick | None = None,
    ) -> Client:
        """The client of a mechanism's specification."""
        return cls(Mechanism.from_spec(spec), limit, accept, tick=tick)

    def report(self, value: object, *, coins: Coins | None = None) -> bytes:
        """The randomized message: a 16-byte random id, then the payload. It takes a tick, whatever the value."""
        return self._after(lambda: self.mechanism.randomize(value, coins))

    def report_text(self, text: str) -> bytes:
        """The same of an answer that a person typed; to read it takes no time beyond the tick."""
        return self._after(lambda: self.mechanism.randomize(typed(self.mechanism.domain, text)))

    def _after(self, draw: Callable[[], bytes]) -> bytes:
        tick = self.tick if self.tick is not None else public_tick(self.mechanism)
        return tick.after(draw)
