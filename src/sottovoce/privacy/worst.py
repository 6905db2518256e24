"""Where a mechanism is worst: the message that distinguishes two answers best, and how much budget is left unused."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.arithmetic.rational import loss
from sottovoce.core.channel.facets import Coordinates, facet
from sottovoce.core.exact import Distinction
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy.drawn import SOME_ID

WASTE = 1e-6  # of epsilon, that rounding toward privacy may leave unused; for each coordinate of a report
SHOWN_DIGITS = 48  # of a message
SHOWN_CODE = 40  # characters
LARGE = 10**9  # ratios from which on a logarithm is easier to read


@dataclass(frozen=True, slots=True)
class WorstCase:
    """A message with the two codes under which its probabilities differ most.

    Where a mechanism was too large to enumerate, it is a message of a small instance with `small` codes.
    """

    message: bytes
    codes: tuple[Any, Any]  # it is likelier under the first
    probabilities: tuple[Fraction, Fraction]
    small: int | None = None

    @classmethod
    def of(cls, distinction: Distinction, codes: Sequence[Any], small: int | None) -> WorstCase:
        """The worst of some enumerated laws, one for each code."""
        return cls(
            distinction.outcome,
            (codes[distinction.likelier], codes[distinction.rarer]),
            distinction.probabilities,
            small,
        )

    @property
    def ratio(self) -> Fraction | None:
        """How many times as likely the message is under the first code; None where the second never sends it."""
        more, less = self.probabilities
        return more / less if less else None

    def rank(self) -> tuple[bool, Fraction]:
        """Orders worst cases: infinite ratios last, by the probability of the message."""
        return (True, self.probabilities[0]) if self.ratio is None else (False, self.ratio)

    def __str__(self) -> str:
        more, less = (f"{float(p):.6g}" for p in self.probabilities)
        first, second = (f"{code!s:.{SHOWN_CODE}}" for code in self.codes)
        where = "" if self.small is None else f", in a small instance with {self.small} codes"
        if self.ratio is None:
            return f"{self._name()} has probability {more} under code {first} and 0 under code {second}{where}."
        times = f"{float(self.ratio):.6g}" if self.ratio < LARGE else f"e**{loss(self.ratio):.6g}"
        return (
            f"{self._name()} is {times} times as likely under code {first} (probability {more}) as under code"
            f" {second} ({less}){where}."
        )

    def _name(self) -> str:
        """The payload, in hexadecimal, unless the id is part of what distinguishes the codes."""
        payload = self.message[codec.ID_BYTES :]
        same_id = payload and self.message[: codec.ID_BYTES] == id_bytes(SOME_ID)
        digits = (payload if same_id else self.message).hex()
        shown = digits if len(digits) <= SHOWN_DIGITS else f"{digits[:SHOWN_DIGITS]}..."
        return f"Report {shown}" if same_id else f"Message {shown}"


def unused_budget(mechanism: Mechanism, claimed: Decimal, epsilon: float, waste: float = WASTE) -> str | None:
    """A sentence on budget that is left without a stated reason, or stated to be left and used; None otherwise."""
    coordinates = facet(mechanism.channel, Coordinates)
    allowed = waste * (coordinates.chosen if coordinates else 1)
    if float(claimed) - epsilon > allowed:
        if mechanism.unused is not None:
            return None
        return (
            f"It loses epsilon {epsilon:.9g} of the {claimed} claimed, so it adds more noise than it has to: raise its"
            f" probabilities until the ratio is e**{claimed}, claim less, or state the reason in `unused`."
        )
    if mechanism.unused is None:
        return None
    return f"It states a reason for unused budget and uses all of it, epsilon {epsilon:.9g}: leave `unused` out."
