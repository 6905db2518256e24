"""A device that answers one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.rational import within
from sottovoce.core.specs import parse


@dataclass(frozen=True, slots=True)
class Client:
    """Checks the guarantee once, then randomizes answers on the device.

    The epsilon is computed from the channel, not believed, and so is the delta of an approximate guarantee. A mechanism
    whose guarantee is not pure is refused unless it is named in `accept`: "approximate" takes any delta,
    "approximate(0.000001)" this one only. One whose epsilon exceeds `limit` is refused always; so is, without a limit,
    one whose epsilon exceeds what it claims.
    """

    mechanism: Mechanism
    limit: float | Decimal | None = None
    accept: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        found = self.mechanism
        if not isinstance(found, Mechanism) or isinstance(self.accept, str):
            raise ParameterError("A client takes a mechanism, and the guarantees it accepts as a tuple of names.")
        if self.limit is not None and (
            isinstance(self.limit, bool) or not isinstance(self.limit, (int, float, Decimal))
        ):
            raise reject("limit", "a client", "a number", self.limit)
        _check_guarantee(found.guarantee, self.accept)
        unchecked = found.guarantee in ("idealised", "approximate")  # of these a specification may claim anything
        if self.limit is None and unchecked and not within(found.ratio, found.claimed):
            raise PrivacyError(
                f"This mechanism has epsilon {found.epsilon:.6g}, more than the {found.claimed} it claims."
            )
        if self.limit is not None and not found.epsilon <= self.limit:  # a limit that is no number refuses
            raise PrivacyError(
                f"This device accepts epsilon up to {self.limit}; this mechanism has {found.epsilon:.6g}."
            )

    @classmethod
    def from_spec(
        cls,
        spec: Mapping[str, Any] | str | bytes,
        *,
        limit: float | Decimal | None = None,
        accept: tuple[str, ...] = (),
    ) -> Client:
        """The client of a mechanism's specification; a guarantee that it does not accept is refused unread."""
        plain = parse(spec) if isinstance(spec, (str, bytes)) else spec
        guarantee = plain.get("guarantee") if isinstance(plain, Mapping) else None
        if isinstance(guarantee, str) and not isinstance(accept, str):
            _check_guarantee(guarantee, accept)  # before its delta is computed
        return cls(Mechanism.from_spec(plain), limit, accept)

    def report(self, value: object, *, coins: Coins | None = None) -> bytes:
        """The randomized message: a 16-byte random id, then the payload."""
        return self.mechanism.randomize(value, coins)


def _check_guarantee(guarantee: str, accept: tuple[str, ...]) -> None:
    """Pure guarantees are accepted always, others by name."""
    if not {guarantee, guarantee.partition("(")[0]} & {"pure", *accept}:
        raise PrivacyError(f"This device accepts pure guarantees only; this mechanism's is {guarantee:.80}.")
