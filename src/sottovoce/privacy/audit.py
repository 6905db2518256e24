"""The audit: the exact privacy loss of the code that ships, computed on the bytes it sends.

A small alphabet is enumerated: `Mechanism.payload` runs once for every outcome of its coins, and the laws of the
serialised bytes are compared for every pair of codes. A large one is certified by the closed form of its
channel, after that closed form has been proven equal to an enumeration of small instances of the same nodes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any

from sottovoce.core import codec
from sottovoce.core.channel import Channel
from sottovoce.core.channel.base import Words
from sottovoce.core.coins import Coins
from sottovoce.core.domain import Integers
from sottovoce.core.errors import DomainError, PrivacyError, SottovoceError, TooLargeError
from sottovoce.core.exact import law_of, public_words, worst_ratio
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON, check_epsilon
from sottovoce.core.rational import float_up, loss, within
from sottovoce.core.specs import canonical

MAX_CODES = 8
MAX_PATHS = 1 << 12
MAX_RUNS = 1 << 16

INFINITE = "Some bytes can come from one value and not from another: the ratio is infinite."

BytesLaw = dict[tuple[Words, bytes], Fraction]
Payload = Callable[[int, Coins, Words], bytes]
Sender = Callable[[Channel], Payload]


@dataclass(frozen=True, slots=True)
class Certificate:
    """The outcome of an audit.

    `ratio` is the exact worst-case likelihood ratio (None: infinite) and `epsilon` its logarithm, rounded up.
    `how` says how it was computed; `problems` lists everything that is wrong, so `ok` is their absence.
    """

    name: str
    fingerprint: str
    claimed: Decimal
    ratio: Fraction | None
    how: str
    problems: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.problems

    @property
    def exact(self) -> bool:
        """Whether the ratio is an exact rational number rather than a bound or an estimate."""
        return self.ratio is not None

    @property
    def epsilon(self) -> float:
        return float("inf") if self.ratio is None else float_up(loss(self.ratio))

    def __str__(self) -> str:
        verdict = "holds" if self.ok else "FAILS: " + " ".join(self.problems)
        return f"{self.name}: epsilon {self.epsilon:.9g} of {self.claimed} claimed, {self.how}; {verdict}"


class _NoCoins(Coins):
    """Coins that note when they are touched."""

    __slots__ = ("touched",)

    def __init__(self) -> None:
        super().__init__()
        self.touched = False

    def _load(self, words: int) -> bytes:
        self.touched = True
        return bytes(8 * words)

    def extra(self) -> int:
        self.touched = True
        return 0


def audit(subject: Mechanism | Channel, *, epsilon: Any = None) -> Certificate:
    """The exact privacy loss of a mechanism, and whether it keeps what it claims.

    A bare channel is audited against the given epsilon: it need not be honest enough to become a mechanism.
    """
    if isinstance(subject, Mechanism):
        name, fingerprint, claimed = subject.name, subject.fingerprint, subject.claimed
        channel, problems = subject.channel, [*domain_problems(subject)]
    else:
        name, claimed = subject.kind, check_epsilon("audit", epsilon)
        fingerprint = hashlib.sha256(canonical(subject.spec())).hexdigest()
        channel, problems = subject, []
    sender = _sender(subject)
    ratio, how, found = _small(channel, sender) or _large(channel, sender)
    problems += found
    if ratio is None:
        problems.append(INFINITE)
    elif not within(ratio, claimed):
        problems.append(f"The exact epsilon is {float_up(loss(ratio)):.9g}, more than the {claimed} claimed.")
    return Certificate(name, fingerprint, claimed, ratio, how, tuple(dict.fromkeys(problems)))


def _sender(subject: Mechanism | Channel) -> Sender:
    """What turns a code into bytes, for any channel in the subject's place."""
    if isinstance(subject, Mechanism) and type(subject).payload is not Mechanism.payload:
        # A class with its own serialisation is audited through it, on small channels as well.
        return lambda channel: (
            replace(
                subject,
                domain=Integers(0, channel.inputs - 1),
                channel=channel,
                statistic="supports" if channel.outputs is None else subject.statistic,
                claimed=Decimal(MAX_EPSILON),
            ).payload
        )
    return _channel_payload


@lru_cache(maxsize=256)
def _channel_payload(channel: Channel) -> Payload:
    """The serialisation of `Mechanism.payload` for a bare channel."""
    return lambda code, coins, public: codec.encode(channel, channel.sample(code, coins, public))


def _small(channel: Channel, sender: Sender) -> tuple[Fraction | None, str, list[str]] | None:
    """Enumerate all of it, where it is small."""
    if channel.inputs > MAX_CODES:
        return None
    try:
        ratio, problems = _compared(channel, sender)
    except TooLargeError:
        return None
    return ratio, "enumerated", list(problems)


def _large(channel: Channel, sender: Sender) -> tuple[Fraction | None, str, list[str]]:
    """The closed form, proven equal to enumeration on small instances of the same nodes."""
    instances = channel.miniatures()
    problems = [] if instances else ["There is no small instance on which the closed form could be proven."]
    for instance in instances:
        ratio, found = _compared(instance, sender)
        problems += [INFINITE] if ratio is None else found
    return closed_ratio(channel), f"closed form, proven on {len(instances)} enumerated instances", problems


def closed_ratio(channel: Channel) -> Fraction | None:
    """The closed form of the ratio; None where it is infinite."""
    try:
        return channel.ratio()
    except PrivacyError:
        return None


@lru_cache(maxsize=1024)
def _compared(channel: Channel, sender: Sender) -> tuple[Fraction | None, tuple[str, ...]]:
    """The ratio of the enumerated bytes, and whether the closed form agrees."""
    laws = _laws(channel, sender(channel))
    ratio = worst_ratio(laws)
    problems = []
    if len({len(payload) for law in laws for _, payload in law}) > 1:
        problems.append("The length of a report depends on the coins.")
    if closed_ratio(channel) != ratio:
        problems.append("The closed form of the ratio is not that of the enumerated bytes.")
    return ratio, tuple(problems)


def _laws(channel: Channel, payload: Payload) -> list[BytesLaw]:
    """The law of (public words, bytes) for every code."""
    ids = list(public_words(channel))
    codes = list(channel.codes())
    if len(ids) * len(codes) > MAX_RUNS:
        raise TooLargeError("There are too many public words to enumerate.")
    laws = []
    for code in codes:
        law: BytesLaw = {}
        for words in ids:

            def draw(coins: Coins, code: int = code, words: Words = words) -> bytes:
                return payload(code, coins, words)

            for sent, probability in law_of(draw, MAX_PATHS).items():
                law[words, sent] = probability / len(ids)
        laws.append(law)
    return laws


def domain_problems(mechanism: Mechanism) -> Iterable[str]:
    """Values outside the domain must be refused, before a coin is drawn."""
    for value in mechanism.domain.foreign():
        coins = _NoCoins()
        try:
            mechanism.randomize(value, coins)
        except DomainError:
            if coins.touched:
                yield "A value outside the domain is refused only after coins were drawn."
        except (SottovoceError, TypeError, ValueError, ArithmeticError, LookupError):
            yield "A value outside the domain is not refused by the domain."
        else:
            yield "A value outside the domain is reported."
