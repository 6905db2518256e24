"""A device that answers one question."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any

from sottovoce.client.tick import Tick, Untimed, public_tick
from sottovoce.core.arithmetic.rational import loss, within
from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.guarantee import Guarantee
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_decimal, reject
from sottovoce.core.specs import parse


@dataclass(frozen=True, slots=True)
class Client:
    """Randomize answers on a device, after checking the privacy loss of the mechanism once.

    The loss is computed from the channel and compared exactly with `limit`. The limit 1.15 is the decimal, not the
    float next to it. The client needs the standard library only.

    Where a mechanism keeps a memo, the permanent answer to each value and the cohort are drawn once and stay in the
    file `memo`. All reports of one unchanged value together spend `epsilon_forever`, and each further value spends it
    again. The sum is the loss of values, not of their order: reports can show that a value changed
    (`sottovoce.privacy.accounting.sequences`).

    Args:
        mechanism: The mechanism; `from_spec` takes its specification.
        limit: The largest epsilon of one report. Default: the mechanism's own claim.
        accept: Guarantees beside pure ones: "approximate" accepts any delta, "approximate(0.000001)" this one only. The
            form is the same for the sensitive codes of "utility_optimised".
        lifetime_limit: The largest sum of all charges in the memo, over all values, mechanisms and studies. Default:
            the limit of one report, or else the claim of the mechanism, which is enough for one value. A mechanism
            without a memo has no such bound and is refused.
        tick: The public time after a call at which a message is returned, because the duration depends on the answer.
            `Tick(0.01)` is ten milliseconds; `Untimed()` is for simulations. Default: `public_tick`.
        memo: The file for the memo, where the mechanism keeps one.

    Raises:
        PrivacyError: The loss exceeds the limit, or the guarantee is not accepted.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["dark", "light"]), epsilon=1)
        >>> client = sv.Client.from_spec(m.spec(), limit=1)
        >>> len(client.report("dark"))
        17

    See also:
        `Participant` answers whole studies and keeps an account.
    """

    mechanism: Mechanism
    limit: float | Decimal | None = None
    accept: tuple[str, ...] = ()
    lifetime_limit: float | Decimal | None = None
    tick: Tick | Untimed | None = field(default=None, kw_only=True)
    memo: str | PathLike[str] | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        mechanism = self.mechanism
        if not isinstance(mechanism, Mechanism) or isinstance(self.accept, str):
            raise ParameterError("A client needs a mechanism, and the guarantees it accepts as a tuple of names.")
        limit, _ = exact_limit("limit", self.limit), exact_limit("lifetime_limit", self.lifetime_limit)
        guarantee = _accepted(mechanism.guarantee, self.accept)
        if limit is not None and not guarantee.is_within(limit, mechanism.channel, mechanism.claimed):
            raise PrivacyError(
                f"This mechanism has epsilon {mechanism.epsilon:.6g}, more than the limit of this device."
            )
        if limit is None and (broken := guarantee.broken_by(mechanism.channel, mechanism.claimed)) is not None:
            raise PrivacyError(f"This mechanism has {broken} it claims.")
        self._check_lifetime()
        if not isinstance(self.tick, (Tick, Untimed, type(None))):
            raise reject("tick", "a client", "a Tick, or Untimed() for simulations", self.tick)
        object.__setattr__(self, "tick", self.tick or public_tick(mechanism))

    def _check_lifetime(self) -> None:
        """All reports of one value together must stay below the limit; without a memo they have none."""
        forever = self.mechanism.ratio_forever
        if forever is None:
            if self.lifetime_limit is not None:
                raise PrivacyError("This mechanism keeps no memo, so the loss of repeated answers has no limit.")
            return
        if not within(forever, self._forever_limit):
            raise PrivacyError(
                f"All reports of an unchanged value have epsilon {self.mechanism.epsilon_forever:.6g} together, more"
                " than the limit of this device."
            )
        if self.memo is None:
            raise PrivacyError("This mechanism keeps a memo of each value: give the client a file for it, memo=path.")

    @property
    def _forever_limit(self) -> Decimal:
        """The limit of the reports of all values together."""
        limits = exact_limit("lifetime_limit", self.lifetime_limit), exact_limit("limit", self.limit)
        return next(limit for limit in (*limits, self.mechanism.claimed_forever, Decimal(0)) if limit is not None)

    @property
    def most_values(self) -> int | None:
        """Count the different values that this device answers about through this mechanism; None if unlimited.

        A `lifetime_limit` also counts the charges of other mechanisms and studies, so fewer may be answered.
        """
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
        tick: Tick | Untimed | None = None,
        memo: str | PathLike[str] | None = None,
    ) -> Client:
        """Build a client from a specification; a guarantee that is not accepted is refused before it is computed.

        Args:
            spec: The specification, as data or as JSON text.
            limit: The largest epsilon of one report.
            accept: Guarantees beside pure ones.
            lifetime_limit: The largest sum of all charges in the memo.
            tick: The public time after a call at which a message is returned.
            memo: The file for the memo, where the mechanism keeps one.

        Returns:
            The client.

        Raises:
            SpecError: The specification does not describe a mechanism.
            PrivacyError: The loss exceeds the limit, or the guarantee is not accepted.
        """
        plain = parse(spec) if isinstance(spec, (str, bytes)) else spec
        promised = plain.get("guarantee") if isinstance(plain, Mapping) else None
        if isinstance(promised, str) and not isinstance(accept, str):
            _accepted(Guarantee.read(promised), accept)  # before its delta is computed
        return cls(Mechanism.from_spec(plain, device=True), limit, accept, lifetime_limit, tick=tick, memo=memo)

    def report(self, value: object, *, coins: Coins | None = None) -> bytes:
        """Randomize an answer into the message to send: a 16-byte random id, then the payload.

        The call blocks until the tick, for every answer alike. Asynchronous programs await
        `asyncio.to_thread(client.report, value)`.

        Args:
            value: The answer, a value of the domain.
            coins: The source of randomness, for simulations. Default: the operating system.

        Returns:
            The bytes of the message.

        Raises:
            DomainError: The answer is outside the domain.
            PrivacyError: The lifetime limit is spent.
        """
        return self._after(lambda: self._randomized(value, coins))

    def report_text(self, text: str) -> bytes:
        """Randomize an answer that a person typed; reading the text is part of the tick.

        Args:
            text: The answer as text, such as "7.5".

        Returns:
            The bytes of the message.

        Raises:
            DomainError: The text is not an answer of the domain.
        """
        return self._after(lambda: self._randomized(self.mechanism.domain.typed(text), None))

    def _randomized(self, value: object, coins: Coins | None) -> bytes:
        """The message; if the mechanism keeps a memo, the memo is on disk before a message is made of it."""
        if self.mechanism.claimed_forever is None:
            return self.mechanism.randomize(value, coins)
        lifetime = exact_limit("lifetime_limit", self.lifetime_limit)
        kept = load("client.memo:Memo")(self.memo).keep(self.mechanism, value, self.most_values, lifetime)
        return self.mechanism.answer_from(kept.answer, coins, cohort=kept.cohort)

    def _after(self, draw: Callable[[], bytes]) -> bytes:
        tick = self.tick if self.tick is not None else public_tick(self.mechanism)
        return tick.after(draw)


def exact_limit(name: str, limit: object) -> Decimal | None:
    """A limit as an exact decimal; None if there is none.

    A float of few digits stands for the decimal that was written, or for its own exact value if that is a little
    larger; a float of more digits was computed and stands for its exact value.
    """
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, float, Decimal)):
        raise reject(name, "a client", "a number", limit)
    # A program may forbid the implicit conversion of floats to decimals.
    exact = Decimal.from_float(limit) if isinstance(limit, float) else Decimal(limit)
    if not exact.is_finite() or exact < 0:
        raise PrivacyError(f"The {name} of a device must be a finite number of at least 0.")
    written = check_decimal(name, "a client", limit)
    if not isinstance(limit, float):
        return written
    return max(written, exact) if len(written.as_tuple().digits) <= sys.float_info.dig else exact


def _accepted(guarantee: Guarantee, accept: tuple[str, ...]) -> Guarantee:
    """The guarantee, if a device accepts it: pure ones always, others by name."""
    if not guarantee.accepted_by(accept):
        raise PrivacyError(f"This device accepts pure guarantees only; this mechanism's is {guarantee}.")
    return guarantee
