"""The audit: the exact privacy loss of the code that ships, computed on the messages it sends.

A small alphabet is enumerated: `Mechanism.randomize` (`remember` and `answer_from`, where a memo is kept) runs once for
every outcome of its coins, and the laws of the whole message, id and payload, are compared for every pair of codes. A
large one is certified by the closed form of its channel, after that closed form has been proven equal to an
enumeration of small instances of the same nodes.
Either way the instance itself is looked at as well: some codes are enumerated where they have few outcomes, and
seeded messages must have the id they were given, be readable, and support codes as often as the closed form says.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from fractions import Fraction
from itertools import count, islice
from math import log, sqrt
from typing import Any

from sottovoce.core import codec
from sottovoce.core.channel import Channel, Contrast, Rates
from sottovoce.core.channel.base import Words, excess
from sottovoce.core.channel.rounding import PLACES
from sottovoce.core.coins import Coins, SeededCoins
from sottovoce.core.domain import Domain
from sottovoce.core.errors import DomainError, ParameterError, PrivacyError, ReportError, SottovoceError, TooLargeError
from sottovoce.core.exact import law_of, public_words, worst_ratio
from sottovoce.core.hashing import id_bytes, id_words
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.rational import float_up, loss, odds, within
from sottovoce.core.specs import canonical
from sottovoce.privacy.follow import Codes, MessageCoins, NoCoins

WHOLE_RUNS = 1 << 11  # of the sampler, to enumerate all of an instance
PROOF_RUNS = 1 << 13  # to enumerate a small instance; eight times as many where it reads public words
DELTA_RUNS = 1 << 16  # to enumerate all of an instance with a delta
MAX_IDS = 1 << 10
SPOT_RUNS = 1 << 10  # of the sampler, for one code of a large instance
SPOT_WORDS = 16  # of a sampler that may have so few outcomes
DRAWS = 250  # seeded messages of one code
FEW_DRAWS = 60  # of them at least, however long they are: fewer could not tell a support that is always there
DRAWN_WORDS = 1 << 19  # that these may take
REPEATED = 32  # of them are drawn again
MAX_BETWEEN = 4  # coordinates of a vector that are tried between two grid points
ODD_PLACE = 0x5A827999  # between two grid points, of 2**32: about a third of the way, and no round number
ALPHA = 1e-6  # false alarms of the comparison of frequencies; the seed is fixed, so an audit always says the same
SOME_ID: Words = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F)  # nothing up the sleeve: golden ratio, a prime of xxHash

INFINITE = "Some message can come from one value and not from another: the ratio is infinite."
LENGTH = "The length of a report depends on the coins."
UNREADABLE = "A message is not what the codec of the specification writes."
WRONG_ID = "The id of a message is not the two words that were drawn for it."
WRONG_RATIO = "The closed form of the ratio is not that of the enumerated messages."
WRONG_DELTA = "The closed form of the delta is not that of the enumerated messages."
WRONG_LAW = "The closed form of the likelihood is not that of the enumerated messages."
WRONG_MEMO = "The closed form of the ratio for ever is not that of the enumerated memo."
WRONG_SUPPORT = "Messages do not support codes as often as the closed form says."
NOT_REPEATABLE = "The same coins give different messages: something else than the coins is at work."
BETWEEN = "A number between two grid points is not reported like a mixture of its neighbours."
IDEALISED = "idealised: closed-form density ratio, not exact"
UNPROVEN = "There is no small instance on which the closed form could be proven."

MessageLaw = dict[bytes, Fraction]


@dataclass(frozen=True, slots=True)
class Certificate:
    """The outcome of an audit.

    `ratio` is the exact worst-case likelihood ratio (None: infinite, or not to be found out) and `epsilon` its
    logarithm, rounded up. `how` says how it was computed; `problems` lists everything that is wrong, so `ok` is
    their absence. Of an approximate guarantee `delta` is the exact delta at the claimed epsilon, instead of a ratio.
    """

    name: str
    fingerprint: str
    claimed: Decimal
    ratio: Fraction | None
    how: str
    problems: tuple[str, ...] = ()
    delta: Fraction | None = None

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems

    @property
    def exact(self) -> bool:
        """Whether the ratio is an exact rational number rather than a bound or an estimate."""
        return (self.ratio is not None and self.how != IDEALISED) or self.delta is not None

    @property
    def epsilon(self) -> float:
        if self.delta is not None:
            return float_up(self.claimed)
        return float("inf") if self.ratio is None else float_up(loss(self.ratio))

    def __str__(self) -> str:
        verdict = "holds" if self.ok else "FAILS: " + " ".join(self.problems)
        found = f"epsilon {self.epsilon:.9g} of {self.claimed} claimed"
        if self.delta is not None:
            found = f"epsilon {self.claimed} with delta {float(self.delta):.9g}"
        return f"{self.name}: {found}, {self.how}; {verdict}"


def audit(subject: Mechanism | Channel, *, epsilon: Any = None) -> Certificate:
    """The exact privacy loss of a mechanism, and whether it keeps what it claims.

    With an epsilon it is held against that one. A bare channel needs one: it need not be honest enough to become a
    mechanism.
    """
    if not isinstance(subject, (Mechanism, Channel)):
        raise ParameterError(f"An audit is of a mechanism or a channel. Got {type(subject).__name__}.")
    if isinstance(subject, Mechanism):
        name, fingerprint, channel = subject.name, subject.fingerprint, subject.channel
        claimed = subject.claimed if epsilon is None else check_epsilon("audit", epsilon)
        problems = list(domain_problems(subject))
    else:
        name, claimed, channel = subject.kind, check_epsilon("audit", epsilon), subject
        fingerprint = hashlib.sha256(canonical(subject.spec())).hexdigest()
        problems = []
    ratio, delta, how = None, None, "not to be followed"
    approximate = subject.delta if isinstance(subject, Mechanism) else None
    try:
        device = _device(subject, channel, claimed)
        if approximate is None:
            ratio, how = _examined(device, problems)
        else:
            delta, how = _delta(device, problems)
        problems += _seeded_problems(device)
    except Exception as error:  # a sampler is anybody's code; one that fails is not certified, whatever the error
        problems.append(f"The sampler cannot be followed: {type(error).__name__}: {error}")
    if ratio is not None and not within(ratio, claimed):
        kind = "exact epsilon" if channel.exact else "epsilon"
        problems.append(f"The {kind} is {float_up(loss(ratio)):.9g}, more than the {claimed} claimed.")
    if delta is not None and approximate is not None and not delta <= Fraction(approximate):
        problems.append(f"The exact delta is {float(delta):.9g}, more than the {approximate} claimed.")
    return Certificate(name, fingerprint, claimed, ratio, how, tuple(dict.fromkeys(problems)), delta)


def closed_ratio(channel: Channel) -> Fraction | None:
    """The closed form of the ratio; None where it is infinite."""
    try:
        return channel.ratio()
    except (PrivacyError, ZeroDivisionError):
        return None


def domain_problems(mechanism: Mechanism) -> Iterator[str]:
    """Values outside the domain must be refused, before a coin is drawn; all others must have a code."""
    declared = mechanism.domain.foreign()
    for value in declared:
        coins = NoCoins()
        try:
            _ = mechanism.remember(value, coins) if mechanism.channel.stages else mechanism.randomize(value, coins)
        except DomainError:
            if coins.touched:
                yield "A value outside the domain is refused only after coins were drawn."
        except (SottovoceError, TypeError, ValueError, ArithmeticError, LookupError):
            yield "A value outside the domain is not refused by the domain."
        else:
            yield "A value outside the domain is reported."
    # What every domain but the most unusual refuses, whatever this one declares: it may lack a code.
    for value in Domain.foreign(mechanism.domain):
        try:
            code = mechanism.domain.encode(value)
        except DomainError:
            continue
        except (SottovoceError, TypeError, ValueError, ArithmeticError, LookupError):
            yield "A value outside the domain is not refused by the domain."
        else:
            if mechanism.domain.size is not None and code not in range(mechanism.domain.size):
                yield "A value gets a code that the channel does not have."


def _device(subject: Mechanism | Channel, channel: Channel, claimed: Decimal) -> Mechanism:
    """The subject's own way to send, on the codes of a channel; made past the checks that keep a mechanism honest."""
    if isinstance(subject, Mechanism):
        device = object.__new__(type(subject))
        parts = {field.name: getattr(subject, field.name) for field in fields(subject)}
    else:
        device = object.__new__(Mechanism)
        parts = {"name": subject.kind, "statistic": "outputs", "version": 1}
    vars(device).update(parts, domain=Codes(channel), channel=channel, claimed=claimed, guarantee="idealised")
    return device


def _send(device: Mechanism, code: Any, coins: Coins) -> bytes:
    """One message of a device that was never asked before."""
    if device.channel.stages:
        return device.answer_from(device.remember(code, coins), coins)
    return device.randomize(code, coins)


# --- enumeration ----------------------------------------------------------------------------------------
def _examined(device: Mechanism, problems: list[str]) -> tuple[Fraction | None, str]:
    """The ratio and how it was found; what is wrong is added to the problems as it is seen."""
    channel = device.channel
    if not channel.exact:
        return closed_ratio(channel), IDEALISED
    try:
        return _compared(device, WHOLE_RUNS, problems), "enumerated"
    except TooLargeError:
        spots = _spots(device, problems)
    instances = 0
    for instance in channel.miniatures():
        try:
            limit = PROOF_RUNS << (3 if instance.publics else 0)
            _compared(_device(device, instance, device.claimed), limit, problems)
        except TooLargeError:
            continue
        instances += 1
    if not instances and not spots:
        problems.append(UNPROVEN)
    try:
        ratio = closed_ratio(channel)
    except TooLargeError as error:
        problems.append(str(error))
        return None, "neither enumerated nor in closed form"
    if ratio is None:
        problems.append(INFINITE)
    proof = f"{instances} enumerated instances" if instances else f"{spots} enumerated codes"
    return ratio, f"closed form, proven on {proof}" if instances or spots else "closed form, not proven"


def _delta(device: Mechanism, problems: list[str]) -> tuple[Fraction, str]:
    """The delta of the enumerated messages at the claimed epsilon; e**epsilon is rounded down, so the delta is not."""
    channel, allowed = device.channel, odds(device.claimed)
    ids, laws = [SOME_ID], []
    if channel.publics or channel.stages:
        raise TooLargeError("Only channels without public words and memos are followed for their delta.")
    for code in channel.codes():
        law, _ = _message_law(device, code, ids, DELTA_RUNS // channel.inputs)
        problems += _law_problems(channel, code, law, ids)
        laws.append(law)
    problems += _between_problems(device, ids, DELTA_RUNS)
    if len({len(message) for law in laws for message in law}) > 1:
        problems.append(LENGTH)
    messages = sorted(set().union(*laws))
    rows = [[law.get(message, Fraction(0)) for message in messages] for law in laws]
    found = max(excess(one, other, allowed) for one in rows for other in rows)
    if channel.delta(allowed) != found:
        problems.append(WRONG_DELTA)
    return found, "delta enumerated"


def _compared(device: Mechanism, limit: int, problems: list[str]) -> Fraction | None:
    """The ratio of the enumerated messages; a closed form that does not agree with them is a problem."""
    channel = device.channel
    ids = list(islice(public_words(channel), MAX_IDS + 1)) if channel.publics else [SOME_ID]
    if len(ids) * channel.inputs > limit:
        raise TooLargeError("There are too many codes and public words to enumerate.")
    laws, left = [], limit
    for code in channel.codes():
        # A code that takes far more than its share shows at once that all of them would take too long.
        law, runs = _message_law(device, code, ids, min(left, 3 * limit // (2 * channel.inputs)))
        problems += _law_problems(channel, code, law, ids)
        laws.append(law)
        left -= runs
    problems += _between_problems(device, ids, limit)
    ratio = worst_ratio(laws)
    if ratio is None:
        problems.append(INFINITE)
    if len({len(message) for law in laws for message in law}) > 1:
        problems.append(LENGTH)
    if closed_ratio(channel) != ratio:
        problems.append(WRONG_RATIO)
    if channel.stages:
        kept = [law_of(lambda coins, code=code: device.remember(code, coins)) for code in channel.codes()]  # type: ignore[misc]
        if worst_ratio(kept) != closed_ratio(channel.stages[0]):
            problems.append(WRONG_MEMO)
    return ratio


def _between_problems(device: Mechanism, ids: list[Words], limit: int) -> Iterator[str]:
    """Numbers off the grid are not enumerated one by one: a mixture of two laws is no worse than both of them."""
    up = Fraction(ODD_PLACE, 1 << PLACES)
    for codes in _between_codes(device.channel):
        near, far, law = (_message_law(device, code, ids, limit)[0] for code in codes)
        yield from _law_problems(device.channel, codes[-1], law, ids)
        mixed = {m: (1 - up) * near.get(m, Fraction(0)) + up * far.get(m, Fraction(0)) for m in {*near, *far}}
        if mixed != law:
            yield BETWEEN


def _between_codes(channel: Channel) -> Iterator[list[Any]]:
    """Two grid points beside each other and a number between them; of a vector, in one coordinate after another.

    The coordinate before it is between two points as well, the others are at an end of their grids.
    """
    if channel.dimensions is None:
        grids = [channel.rounding] if channel.rounding is not None else []
    else:
        grids = list(channel.roundings) if channel.part_outputs is not None else []
    for at, grid in enumerate(grids[:MAX_BETWEEN]):
        others = [other.number(place % 2 * other.steps << PLACES) for place, other in enumerate(grids)]
        others[at - 1] = grids[at - 1].number(ODD_PLACE)
        for point in dict.fromkeys((0, grid.steps - 1)):
            places = (point << PLACES, (point + 1) << PLACES, (point << PLACES) + ODD_PLACE)
            numbers = [grid.number(place) for place in places]
            if channel.dimensions is None:
                yield numbers
            else:
                yield [(*others[:at], number, *others[at + 1 :]) for number in numbers]


def _message_law(device: Mechanism, code: Any, ids: list[Words], max_runs: int) -> tuple[MessageLaw, int]:
    """The law of the message that a code sends, and how often the device had to run for it."""
    law: MessageLaw = {}
    runs = 0
    for words in ids:

        def draw(tree: Coins, words: Words = words) -> bytes:
            nonlocal runs
            runs += 1
            coins = MessageCoins(tree, words)  # type: ignore[arg-type]
            message = _send(device, code, coins)
            if len(coins.weights) != len(coins.path):
                raise ValueError(NOT_REPEATABLE)
            return message

        for message, probability in law_of(draw, max(1, max_runs - runs)).items():
            law[message] = law.get(message, Fraction(0)) + probability / len(ids)
    return law, runs


def _law_problems(channel: Channel, code: Any, law: MessageLaw, ids: list[Words]) -> Iterator[str]:
    """Every message has a drawn id, can be read, and is as likely as the closed form says."""
    known = {id_bytes(words) for words in ids}
    for message, probability in law.items():
        if message[: codec.ID_BYTES] not in known:
            yield WRONG_ID
            continue
        try:
            report_id, report = codec.split(channel, message)
        except ReportError:
            yield UNREADABLE
            continue
        if channel.likelihood(report, code, id_words(report_id)) != probability * len(ids):
            yield WRONG_LAW


# --- the instance itself, where it is too large to enumerate ----------------------------------------------
def _some_codes(channel: Channel) -> list[Any]:
    """The first, the last and the middle code, or the first few where they are not simply numbered."""
    codes = channel.codes()
    if isinstance(codes, Sequence):
        places = (0, channel.inputs // 2, channel.inputs - 1)
        return [codes[place] for place in dict.fromkeys(places)]
    return list(islice(codes, 3))


def _spots(device: Mechanism, problems: list[str]) -> int:
    """How many codes of a large instance could be enumerated, given one id, because they have few outcomes."""
    channel = device.channel
    if channel.words > SPOT_WORDS:
        return 0
    words = next(id for shift in count() if channel.accepts(id := (SOME_ID[0] >> shift, SOME_ID[1])))
    laws = []
    try:
        for code in _some_codes(channel):
            laws.append(_message_law(device, code, [words], SPOT_RUNS)[0])
            problems += _law_problems(channel, code, laws[-1], [words])
        problems += _between_problems(device, [words], SPOT_RUNS)
        closed = closed_ratio(channel)
    except TooLargeError:
        return 0
    found = worst_ratio(laws)
    if closed is not None and (found is None or found > closed):
        problems.append(WRONG_RATIO)
    return len(laws)


def _seeded_problems(device: Mechanism) -> Iterator[str]:
    """Messages from known words: their id, whether they can be read, and how often they support a code."""
    channel, codes = device.channel, _some_codes(device.channel)
    draws = max(FEW_DRAWS, min(DRAWS, DRAWN_WORDS // (channel.words + 2)))
    has_rates = channel.rates() is not None
    supported: dict[tuple[Any, Any], int] = {}
    for code in codes:
        for number in range(draws):
            message = _send(device, code, SeededCoins(0, first_report=number))
            again = number < min(REPEATED, draws // 8)
            if again and _send(device, code, SeededCoins(0, first_report=number)) != message:
                yield NOT_REPEATABLE
            coins = SeededCoins(0, first_report=number + 1 if channel.stages else number)  # a memo takes its own
            coins.begin(2)
            if message[: codec.ID_BYTES] != id_bytes(Mechanism._public(device, coins)):
                yield WRONG_ID
                return
            try:
                report_id, report = codec.split(channel, message)
            except ReportError:
                yield UNREADABLE
                return
            for other in codes if has_rates else ():
                hit = channel.supports(report, other, id_words(report_id))
                supported[code, other] = supported.get((code, other), 0) + hit
    yield from _frequency_problems(channel, supported, draws)


def _frequency_problems(channel: Channel, supported: dict[tuple[Any, Any], int], draws: int) -> Iterable[str]:
    """Whether counts of supports stay within the bound of Hoeffding, at most ALPHA of them by chance outside."""
    for (code, other), hits in supported.items():
        rates = channel.rates(other)
        if isinstance(rates, Rates):
            expected = rates.own if code == other else rates.other
        elif isinstance(rates, Contrast) and code == other:
            expected = rates.plus_own
        else:
            continue
        if abs(hits / draws - expected) > sqrt(log(2 * len(supported) / ALPHA) / (2 * draws)):
            yield WRONG_SUPPORT
