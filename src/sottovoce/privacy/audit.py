"""The audit: the exact privacy loss of the code that ships, computed on the messages it sends.

A small alphabet is enumerated: `Mechanism.randomize` (`remember` and `answer_from`, where a memo is kept) runs once for
every outcome of its coins, and the laws of the whole message, id and payload, are compared for every pair of codes. The
law of a memo is enumerated as well, and that of two reports together (`sottovoce.privacy.forever`). A large alphabet is
certified by the closed form of its channel, after that closed form has been proven equal to an enumeration of small
instances of the same nodes. Either way the instance itself is checked as well: some codes with few outcomes are
enumerated, and seeded messages must have the id they were given, be readable, support codes and set bits as often as
the closed form says, and be no likelier under one code than the ratio allows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice, product
from typing import Any

from sottovoce.core.arithmetic.hashing import id_bytes, id_words
from sottovoce.core.arithmetic.rational import float_up, loss, odds, within
from sottovoce.core.channel import Channel, closed_forms
from sottovoce.core.channel.base import Words
from sottovoce.core.channel.closed_forms import Guarded
from sottovoce.core.channel.facets import Coordinates, Divergent, Rounded, facet, need, stages_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError, ReportError, TooLargeError
from sottovoce.core.exact import (
    COARSE,
    COPIED,
    NO_LAW,
    STALE,
    TWICE,
    TreeCoins,
    law_of,
    public_words,
    worst_distinction,
)
from sottovoce.core.exchange import codec
from sottovoce.core.guarantee import IDEALISED, PURE, Guarantee, UtilityOptimised
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.specs import canonical
from sottovoce.privacy.certificate import NOT_EXACT, Certificate
from sottovoce.privacy.declared import code_problems, instance_problems, part_problems
from sottovoce.privacy.drawn import (
    NOT_REPEATABLE,
    SOME_ID,
    UNREADABLE,
    WRONG_ID,
    many_codes,
    memo_ratio_problems,
    ratio_problems,
    send,
    some_codes,
    some_id,
    watch_messages,
    watch_nodes,
)
from sottovoce.privacy.follow import AGAIN, Codes, MessageCoins, message_spans
from sottovoce.privacy.forever import closed_ratio, cohort_of, forever_problems, memo_problems
from sottovoce.privacy.problems import (
    BETWEEN,
    EXCESS,
    EXCESS_DELTA,
    FAILED,
    IDEAL_EXCESS,
    INFINITE,
    LENGTH,
    UNPROVEN,
    WRONG_DELTA,
    WRONG_LAW,
    WRONG_RATIO,
)
from sottovoce.privacy.refusals import domain_problems
from sottovoce.privacy.worst import WorstCase, unused_budget

WHOLE_RUNS = 1 << 11  # of the sampler, to enumerate all of an instance
PROOF_RUNS = 1 << 14  # to enumerate a small instance; four times as many where it reads public words
DELTA_RUNS = 1 << 16  # to enumerate all of an instance with a delta
MAX_IDS = 1 << 10
DELTA_IDS = 4  # of a small instance with a delta that reads public words
SPOT_RUNS = 1 << 10  # of the sampler, for one code of a large instance
SPOT_WORDS = 16  # of a sampler that may have few enough outcomes
MAX_BETWEEN = 4  # coordinates of a vector that are tried between two grid points
ODD_PLACE = 0x5A827999  # between two grid points, of 2**32: about a third of the way, and no round number

UNFOLLOWED = "not to be followed"

# Coins whose draws depend on each other or have no law of their own: the enumerated law does not hold for them.
DEPENDENT = frozenset({TWICE, STALE, AGAIN, COPIED, NO_LAW, COARSE})
MessageLaw = dict[bytes, Fraction]


def audit(subject: Mechanism | Channel, *, epsilon: Any = None) -> Certificate:
    """Compute the exact privacy loss of a mechanism, and compare it with the claim.

    The shipped sampler runs for every outcome of its coins. Where they are too many, a closed form is proven on small
    instances. See also `Certificate`.

    Args:
        subject: A mechanism, or a bare channel together with `epsilon`.
        epsilon: The budget to compare with. Default: the claim of the mechanism.

    Returns:
        A `Certificate`, whose `ok` is true if the claim holds.

    Examples:
        >>> print(sv.audit(sv.mechanism("grr", sv.Integers(1, 5), epsilon=1)))
        grr: epsilon 1 of 1 claimed, enumerated; holds
    """
    if not isinstance(subject, (Mechanism, Channel)):
        raise ParameterError(_not_enumerable(subject))
    if isinstance(subject, Mechanism):
        name, fingerprint, channel = subject.name, subject.fingerprint, subject.channel
        claimed = subject.claimed if epsilon is None else check_epsilon("audit", epsilon)
        problems = list(domain_problems(subject))
    else:
        name, claimed, channel = subject.kind, check_epsilon("audit", epsilon), subject
        fingerprint = hashlib.sha256(canonical(subject.spec())).hexdigest()
        problems = []
    ratio, delta, how, forever, worst = None, None, UNFOLLOWED, None, None
    promised_forever = subject.claimed_forever if isinstance(subject, Mechanism) else None
    promised = subject.guarantee if isinstance(subject, Mechanism) else PURE
    try:
        device, codes = _device(subject, channel, claimed), some_codes(channel, fingerprint)
        problems += code_problems(channel)
        problems += part_problems(channel)
        if promised.delta is not None:
            delta, how = _delta(device, codes, problems)
        elif not promised.protects_all:
            ratio, how = _protected(device, promised, problems)
        else:
            ratio, how, worst = _examined(device, codes, problems)
        watch_nodes(channel, problems)
        drawn = watch_messages(device, codes, many_codes(channel, fingerprint), problems)
        with suppress(TooLargeError):  # if likelihoods take too long to compute, the ratio rests on the small instances
            if ratio is not None and how.startswith("closed form"):
                problems += ratio_problems(channel, ratio, drawn, codes, promised)
        stages = stages_of(channel)
        forever = None if stages is None else closed_ratio(stages[0])
        if stages is not None and forever is not None:
            problems += memo_ratio_problems(stages[0], forever, fingerprint)
    except Exception as error:  # a sampler may be third-party code; any error of it means that it is not certified
        problems.append(f"{FAILED}: {type(error).__name__}: {error}")
    if not DEPENDENT.isdisjoint(problems):
        ratio, delta, how, forever, worst = None, None, UNFOLLOWED, None, None
    if ratio is not None and not within(ratio, claimed):
        excess = EXCESS if channel.exact else IDEAL_EXCESS
        problems.append(f"{excess} {float_up(loss(ratio)):.9g}, more than the {claimed} claimed.")
    if delta is not None and promised.delta is not None and not delta <= Fraction(promised.delta):
        problems.append(f"{EXCESS_DELTA} {float(delta):.9g}, more than the {promised.delta} claimed.")
    problems += forever_problems(forever, promised_forever)
    certificate = Certificate(
        name, fingerprint, claimed, ratio, how, tuple(dict.fromkeys(problems)), delta, promised_forever, forever, worst
    )
    if isinstance(subject, Mechanism):
        wasted = unused_budget(subject, claimed, certificate.epsilon)
        return replace(certificate, waste=wasted, guarantee=promised)
    return certificate


def _not_enumerable(subject: object) -> str:
    """What to do instead with something that is neither a mechanism nor a channel."""
    if not callable(subject):
        return f"An audit needs a mechanism or a channel. Got {type(subject).__name__}."
    return "The coins of a function cannot be enumerated: use sottovoce.privacy.blackbox.audit_black_box for it."


def _device(subject: Mechanism | Channel, channel: Channel, claimed: Decimal) -> Mechanism:
    """The subject's own `randomize` on the codes of a channel; built without the checks of a mechanism."""
    if isinstance(subject, Mechanism):
        device = object.__new__(type(subject))
        parts = {field.name: getattr(subject, field.name) for field in fields(subject)}
    else:
        device = object.__new__(Mechanism)
        parts = {"name": subject.kind, "question": None, "statistic": None, "version": 1, "unused": None}
    vars(device).update(parts, domain=Codes(channel), channel=channel, claimed=claimed, guarantee=IDEALISED)
    return device


# --- enumeration ----------------------------------------------------------------------------------------
def _examined(
    device: Mechanism, codes: list[Any], problems: list[str]
) -> tuple[Fraction | None, str, WorstCase | None]:
    """The ratio, how it was found, and where it is worst; problems are appended."""
    channel = device.channel
    if not channel.exact:
        return closed_ratio(channel), NOT_EXACT, None
    try:
        worst = _compared(device, WHOLE_RUNS, problems)
        return worst.ratio, "enumerated", worst
    except TooLargeError:
        spots, worst_cases = _spots(device, codes, problems)
    instances = 0
    for instance in channel.miniatures():
        problems += instance_problems(channel, instance)
        try:
            limit = PROOF_RUNS << (2 if instance.publics else 0)
            worst_cases.append(
                _compared(_device(device, instance, device.claimed), limit, problems, small=instance.inputs)
            )
        except TooLargeError:
            continue
        instances += 1
    if not instances and not spots:
        problems.append(UNPROVEN)
    try:
        ratio = closed_ratio(channel)
    except TooLargeError as error:
        problems.append(str(error))
        return None, "neither enumerated nor in closed form", None
    if ratio is None:
        problems.append(INFINITE)
    proof = f"{instances} enumerated instances" if instances else f"{spots} enumerated codes"
    how = f"closed form, proven on {proof}" if instances or spots else "closed form, not proven"
    return ratio, how, max(worst_cases, key=WorstCase.rank, default=None)


def _delta(device: Mechanism, codes: list[Any], problems: list[str]) -> tuple[Fraction | None, str]:
    """The delta of the messages at the claimed epsilon; rounding does not lower it."""
    allowed = odds(device.claimed)
    try:
        enumerated = _enumerated_delta(device, allowed, SOME_ID, problems)
    except TooLargeError:
        _, how, _ = _examined(device, codes, problems)  # the sampler and its likelihoods, at full size
        return _proven_delta(device, allowed, how, problems)
    if closed_forms.delta(device.channel, allowed) != enumerated:
        problems.append(WRONG_DELTA)
    return enumerated, "delta enumerated"


def _enumerated_delta(device: Mechanism, allowed: Fraction, words: Words, problems: list[str]) -> Fraction:
    """The delta of the messages with this id."""
    rows = list(zip(*_columns(device, words, problems), strict=True))
    return max(closed_forms.excess(one, other, allowed) for one in rows for other in rows)


def _proven_delta(device: Mechanism, allowed: Fraction, how: str, problems: list[str]) -> tuple[Fraction | None, str]:
    """The closed form of the delta, after it was equal to that of small instances, each at three odds."""
    if facet(device.channel, Divergent) is None:
        problems.append(UNPROVEN)
        return None, how
    proven = 0
    for instance in device.channel.miniatures():
        if facet(instance, Divergent) is None:
            continue
        small = _device(device, instance, device.claimed)
        ids = list(islice(public_words(instance), DELTA_IDS)) if instance.publics else [SOME_ID]
        for words, at in product(ids, (Fraction(1), allowed, (1 + instance.ratio()) / 2)):
            try:
                enumerated = _enumerated_delta(small, at, words, problems)
            except TooLargeError:
                continue
            proven += 1
            if closed_forms.delta(instance, at) != enumerated:
                problems.append(WRONG_DELTA)
    if not proven:
        problems.append(UNPROVEN)
    return closed_forms.delta(device.channel, allowed), f"{how}; delta in closed form, proven {proven} times"


def _protected(device: Mechanism, promised: Guarantee, problems: list[str]) -> tuple[Fraction | None, str]:
    """The ratio of the messages that a utility-optimised guarantee protects."""
    channel = device.channel
    if facet(channel, Guarded) is None or channel.inputs << min(channel.payload_bits, 64) <= DELTA_RUNS:
        ratio, how = _enumerated_guard(device, promised, problems), "protected messages enumerated"
    else:
        small = [one for one in channel.miniatures() if facet(one, Guarded) is not None]
        for instance in small:
            problems += instance_problems(channel, instance)
            protected = UtilityOptimised(need(instance, Guarded).protected)
            _enumerated_guard(_device(device, instance, device.claimed), protected, problems)
        if not small:
            problems.append(UNPROVEN)
        ratio = closed_ratio(channel, promised)
        how = f"closed form of protected messages, proven on {len(small)} enumerated instances"
    if ratio is None:
        problems.append(INFINITE)
    return ratio, how


def _enumerated_guard(device: Mechanism, promised: Guarantee, problems: list[str]) -> Fraction | None:
    """The ratio of enumerated messages; a closed form that differs from it is a problem."""
    enumerated = promised.worst_ratio(_columns(device, SOME_ID, problems))
    if enumerated is not None and promised.ratio(device.channel) != enumerated:
        problems.append(WRONG_RATIO)
    return enumerated


def _columns(device: Mechanism, words: Words, problems: list[str]) -> list[list[Fraction]]:
    """The probabilities of every message with this id, code by code."""
    channel = device.channel
    ids, laws = [words], []
    if (channel.publics and words == SOME_ID) or stages_of(channel):
        raise TooLargeError("Only channels without public words and memos can be enumerated message by message.")
    for code in channel.codes():
        law, _ = _message_law(device, code, ids, DELTA_RUNS // channel.inputs, problems)
        problems += _law_problems(channel, code, law, ids)
        laws.append(law)
    problems += _between_problems(device, ids, DELTA_RUNS, problems)
    if len({len(message) for law in laws for message in law}) > 1:
        problems.append(LENGTH)
    return [[law.get(message, Fraction(0)) for law in laws] for message in sorted(set().union(*laws))]


def _compared(device: Mechanism, limit: int, problems: list[str], *, small: int | None = None) -> WorstCase:
    """The worst case of the enumerated messages; a closed form that differs from them is a problem."""
    channel = device.channel
    ids = list(islice(public_words(channel), MAX_IDS + 1)) if channel.publics else [SOME_ID]
    if len(ids) * channel.inputs > limit:
        raise TooLargeError("There are too many codes and public words to enumerate.")
    laws, left, codes = [], limit, list(channel.codes())
    for code in codes:
        # A code that takes far more than its share shows early that all of them would take too long.
        law, runs = _message_law(device, code, ids, min(left, 2 * limit // len(codes)), problems)
        problems += _law_problems(channel, code, law, ids)
        laws.append(law)
        left -= runs
    problems += _between_problems(device, ids, limit, problems)
    worst = WorstCase.of(worst_distinction(laws), codes, small)
    if worst.ratio is None:
        problems.append(INFINITE)
    if len({len(message) for law in laws for message in law}) > 1:
        problems.append(LENGTH)
    if closed_ratio(channel) != worst.ratio:
        problems.append(WRONG_RATIO)
    problems += memo_problems(device, codes, ids, problems)
    return worst


def _between_problems(device: Mechanism, ids: list[Words], limit: int, problems: list[str]) -> Iterator[str]:
    """Numbers off the grid must have mixtures of grid laws, which lose no more than those; they are not enumerated."""
    up = Fraction(ODD_PLACE, 1 << PLACES)
    for codes in _between_codes(device.channel):
        near, far, law = (_message_law(device, code, ids, limit, problems)[0] for code in codes)
        yield from _law_problems(device.channel, codes[-1], law, ids)
        mixed = {m: (1 - up) * near.get(m, Fraction(0)) + up * far.get(m, Fraction(0)) for m in {*near, *far}}
        if mixed != law:
            yield BETWEEN


def _between_codes(channel: Channel) -> Iterator[list[Any]]:
    """Two neighbouring grid points and a number between them; of a vector, in one coordinate after another.

    The coordinate before it is between two points as well, the others are at an end of their grids.
    """
    rounded, coordinates = facet(channel, Rounded), facet(channel, Coordinates)
    grids = [rounded.rounding] if rounded else list(coordinates.roundings) if coordinates else []
    for at, grid in enumerate(grids[:MAX_BETWEEN]):
        others = [other.number(place % 2 * other.steps << PLACES) for place, other in enumerate(grids)]
        others[at - 1] = grids[at - 1].number(ODD_PLACE)
        for point in dict.fromkeys((0, grid.steps - 1)):
            places = (point << PLACES, (point + 1) << PLACES, (point << PLACES) + ODD_PLACE)
            numbers = [grid.number(place) for place in places]
            if rounded:
                yield numbers
            else:
                yield [(*others[:at], number, *others[at + 1 :]) for number in numbers]


def _message_law(
    device: Mechanism, code: Any, ids: list[Words], max_runs: int, problems: list[str]
) -> tuple[MessageLaw, int]:
    """The law of the message of a code, and how often the device ran for it."""
    law: MessageLaw = {}
    runs = 0
    spans = message_spans(device.channel)
    for words in ids:
        cohort = cohort_of(device.channel, words)  # uniform, like the id

        def draw(tree: Coins, words: Words = words, cohort: int = cohort) -> bytes:
            nonlocal runs
            runs += 1
            coins = MessageCoins(tree, words, spans, problems)  # type: ignore[arg-type]
            message = send(device, code, coins, cohort)
            coins.close()
            if len(coins.weights) != len(coins.path):
                raise ValueError(NOT_REPEATABLE)
            if coins.ignored:
                other = MessageCoins(TreeCoins([*coins.path]), words, spans, problems, last=True)
                if send(device, code, other, cohort) != message and NOT_REPEATABLE not in problems:
                    problems.append(NOT_REPEATABLE)
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
def _spots(device: Mechanism, codes: list[Any], problems: list[str]) -> tuple[int, list[WorstCase]]:
    """How many codes of a large instance could be enumerated, given one id, because they have few outcomes.

    And where their messages differ most.
    """
    channel = device.channel
    if channel.words > SPOT_WORDS:
        return 0, []
    words = some_id(channel)
    laws = []
    try:
        for code in codes:
            laws.append(_message_law(device, code, [words], SPOT_RUNS, problems)[0])
            problems += _law_problems(channel, code, laws[-1], [words])
        problems += _between_problems(device, [words], SPOT_RUNS, problems)
        problems += memo_problems(device, codes, [words], problems)
        closed = closed_ratio(channel)
    except TooLargeError:
        return 0, []
    worst = WorstCase.of(worst_distinction(laws), codes, None)
    if closed is not None and (worst.ratio is None or worst.ratio > closed):
        problems.append(WRONG_RATIO)
    return len(laws), [worst]
