"""A device that answers one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sottovoce.core.coins import Coins
from sottovoce.core.errors import PrivacyError
from sottovoce.core.mechanism import Mechanism


@dataclass(frozen=True, slots=True)
class Client:
    """Checks the guarantee once, then randomizes answers on the device.

    The epsilon is computed from the channel, not believed. A mechanism whose guarantee is not pure is refused
    unless it is named in `accept`; one whose epsilon exceeds `limit` is refused always.
    """

    mechanism: Mechanism

    @classmethod
    def from_spec(
        cls,
        spec: Mapping[str, Any] | str | bytes,
        *,
        limit: float | None = None,
        accept: tuple[str, ...] = (),
    ) -> Client:
        """The client of a mechanism's specification."""
        mechanism = Mechanism.from_spec(spec)
        if mechanism.guarantee not in ("pure", *accept):
            raise PrivacyError(f"This device accepts pure guarantees only; this mechanism's is {mechanism.guarantee}.")
        if limit is not None and not mechanism.epsilon <= limit:  # a limit that is no number refuses
            raise PrivacyError(
                f"This device accepts epsilon up to {limit}; this mechanism has {mechanism.epsilon:.6g}."
            )
        return cls(mechanism)

    def report(self, value: object, *, coins: Coins | None = None) -> bytes:
        """The randomized message: a 16-byte random id, then the payload."""
        return self.mechanism.randomize(value, coins)
