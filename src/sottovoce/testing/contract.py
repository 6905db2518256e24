"""One contract for every mechanism, exact checks first.

`check_mechanism` raises `AssertionError` with one sentence at the first thing that does not hold.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sottovoce.core import codec
from sottovoce.core.channel import Channel, Contrast, Keyed, Rates
from sottovoce.core.channel.vector.place import slots_of
from sottovoce.core.coins import SeededCoins, TapeCoins
from sottovoce.core.domain import Domain, Integers, Interval, Pair
from sottovoce.core.errors import ReportError
from sottovoce.core.exact import law
from sottovoce.core.hashing import id_bytes
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.rational import within
from sottovoce.estimate.shares.frequency import evidence
from sottovoce.fast.batch import draw
from sottovoce.fast.numbers import scalar_code
from sottovoce.fast.words import WordStream
from sottovoce.privacy.audit import audit
from sottovoce.tally.definition import scalar_cells
from sottovoce.tally.stream import to_arrow
from sottovoce.tally.tally import Tally
from sottovoce.testing.codes import batch_of_codes, codes_of, require
from sottovoce.testing.coverage import coverage
from sottovoce.testing.groups import check_drawn_groups, check_small_groups
from sottovoce.testing.idealised import check_drawn_ball
from sottovoce.testing.means import check_drawn_mean, check_small_mean, check_whole_mean
from sottovoce.testing.statistics import check_rate
from sottovoce.testing.vectors import box_of, check_drawn_vector, check_small_vector

WASTE = 1e-6
MAX_ENUMERATED = 8  # codes of a mechanism that has small instances as well
MAX_ALONE = 1 << 10  # of one that has none
SMALL = {"mean": check_small_mean, "group": check_small_groups, "vector": check_small_vector}


def check_mechanism(mechanism: Mechanism, *, seed: int = 0, reports: int = 20_000) -> None:
    """Everything a mechanism must keep."""
    check_privacy(mechanism)
    instances = list(small_instances(mechanism))
    require(bool(instances) or not mechanism.channel.exact, "There is no small instance whose law could be enumerated.")
    for small in instances:
        check_law(small)
        SMALL.get(mechanism.question, check_estimator)(small)
    check_spec(mechanism)
    check_messages(mechanism, seed)
    check_fast_is_scalar(mechanism, seed)
    check_tallies(mechanism, seed)
    if mechanism.question == "mean":
        check_whole_mean(mechanism)
        check_drawn_mean(mechanism, seed, reports)
    elif mechanism.question == "group":
        check_drawn_groups(mechanism, seed, reports)
    elif not mechanism.channel.exact:
        check_drawn_ball(mechanism, seed, reports)
    elif mechanism.question == "vector":
        check_drawn_vector(mechanism, seed, reports)
    else:
        check_intervals(mechanism)
        check_drawn_rates(mechanism, seed, reports)


def small_instances(mechanism: Mechanism) -> Iterator[Mechanism]:
    """The mechanism itself where it can be enumerated, and small instances of its channel."""
    whole = mechanism.channel
    channels = list(whole.miniatures())
    few = whole.inputs <= (MAX_ENUMERATED if channels else MAX_ALONE)
    if few and not whole.publics and whole.exact:
        channels.append(whole)
    for channel in channels:
        counted = {"outputs": channel.outputs, "seeds": channel.seeds}.get(mechanism.statistic)
        statistic = mechanism.statistic if counted is not None else "supports"
        rounding = channel.rounding
        domain: Domain = Integers(0, 1) if rounding is None else Interval(rounding.low, rounding.high)
        if rounding is None and channel.takes_every_code:
            domain = Integers(0, channel.inputs - 1)
        if isinstance(channel, Keyed):
            domain, statistic = _pairs_of(channel), "keyed"
        slots = slots_of(channel)
        if slots is not None:
            domain, statistic = slots.vectors, mechanism.statistic
        if mechanism.statistic == "parts":
            domain, statistic = box_of(channel), "parts"
        yield Mechanism(mechanism.name, domain, channel, Decimal(MAX_EPSILON), statistic)


def _pairs_of(channel: Keyed) -> Pair:
    """The pairs that a keyed channel takes."""
    rounding = channel.inner.rounding
    if rounding is None:
        raise AssertionError("The values of groups are numbers that are rounded first.")
    return Pair(Integers(0, channel.key.inputs - 1), Interval(rounding.low, rounding.high))


def check_privacy(mechanism: Mechanism) -> None:
    """The audit holds, and no budget is wasted."""
    certificate = audit(mechanism)
    require(certificate.ok, str(certificate))
    require(within(mechanism.ratio, mechanism.claimed), "The ratio exceeds e**epsilon.")
    parts = mechanism.channel.chosen or 1  # each of which may waste a little
    require(
        mechanism.epsilon >= float(mechanism.claimed) - WASTE * parts,
        f"{mechanism.name} wastes budget: epsilon {mechanism.epsilon!r} of {mechanism.claimed}.",
    )


def check_law(mechanism: Mechanism) -> None:
    """Law and closed forms agree, exactly, and the alphabet does not depend on the input."""
    channel = mechanism.channel
    laws = {code: law(channel, code) for code in codes_of(channel)}
    alphabets = {frozenset(one) for one in laws.values()}
    require(len(alphabets) == 1, "The alphabet of the reports depends on the input.")
    ids = len({words for words, _ in next(iter(alphabets))})
    for code, one in laws.items():
        require(sum(one.values()) == 1, f"The law of code {code} does not sum to one.")
        for (words, report), probability in one.items():
            require(channel.contains(report), "A drawn report is not in the alphabet.")
            require(probability * ids == channel.likelihood(report, code, words), "The likelihood is not the law.")


def check_estimator(mechanism: Mechanism) -> None:
    """Mean and variance of the shipped estimator of one report, over the enumerated law, are what is claimed."""
    channel = mechanism.channel
    for code in channel.codes():
        mean = np.zeros(channel.inputs)
        square = np.zeros(channel.inputs)
        for (words, report), probability in law(channel, code).items():
            values = evidence(mechanism, 1, scalar_cells(mechanism, words, report)).values()
            mean += float(probability) * values
            square += float(probability) * values**2
        truth = np.eye(channel.inputs)[code]
        scale = float(np.sqrt(square.max()))
        require(float(np.abs(mean - truth).max()) < 1e-9 * scale, f"The estimate is biased for code {code}.")
        predicted = mechanism.variance(truth, 1, target="sample")
        error = float(np.abs(square - mean**2 - predicted).max())
        require(error < 1e-9 * scale**2, f"The predicted variance is not that of the law for code {code}.")


def check_spec(mechanism: Mechanism) -> None:
    """The specification is complete."""
    again = Mechanism.from_spec(mechanism.spec())
    require(again == mechanism and again.fingerprint == mechanism.fingerprint, "The specification loses something.")


def check_messages(mechanism: Mechanism, seed: int) -> None:
    """Messages have one length; what no participant can have sent is refused."""
    width = codec.ID_BYTES + codec.payload_bytes(mechanism.channel)
    coins = SeededCoins(seed)
    for code in batch_of_codes(mechanism.channel, seed, 50):
        # Codes, not answers: the labels of a view are texts about a raw answer.
        coins.begin(mechanism.channel.words + 2)
        public = mechanism._public(coins)
        message = id_bytes(public) + mechanism.payload(scalar_code(mechanism.channel, code), coins, public)
        require(len(message) == width, "The length of a message varies.")
        _, report = codec.split(mechanism.channel, message)
        require(codec.encode(mechanism.channel, report) == message[codec.ID_BYTES :], "A report has two encodings.")
        for wrong in (message[:-1], message + b"\0", b""):
            require(_refused(mechanism.channel, wrong), "A message of another length is accepted.")
    if mechanism.channel.payload_bits % 8:
        spare = bytes(codec.ID_BYTES) + b"\xff" * (width - codec.ID_BYTES)
        require(_refused(mechanism.channel, spare), "Spare bits of a payload may be set.")


def _refused(channel: Channel, message: bytes) -> bool:
    try:
        codec.split(channel, message)
    except ReportError:
        return True
    return False


def check_fast_is_scalar(mechanism: Mechanism, seed: int, count: int = 40) -> None:
    """The kernels give the reports of the scalar sampler from the same words."""
    codes = batch_of_codes(mechanism.channel, seed, count)
    stream = WordStream.seeded(mechanism.words, seed)
    batch = draw(mechanism, codes, stream, threads=2, chunk_bytes=8 * mechanism.words * 7)
    for place, report in enumerate(batch):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), stream.overflow(place))
        words, expected = mechanism.draw(scalar_code(mechanism.channel, codes[place]), coins)
        require(report == expected, f"Report {place} of a batch is not that of the scalar sampler.")
        if batch.public is not None:
            require(tuple(int(w) for w in batch.public[place]) == words, "The public words of a batch differ.")


def check_tallies(mechanism: Mechanism, seed: int, count: int = 60) -> None:
    """Tallies merge in any order; rows, bytes and object agree; kernels count like the scalar definition."""
    codes = batch_of_codes(mechanism.channel, seed, count)
    batch = draw(mechanism, codes, WordStream.seeded(mechanism.words, seed))
    whole = mechanism.tally(batch)
    a, b, c = (mechanism.tally(batch[i::3]) for i in range(3))
    empty = Tally.empty(mechanism)
    require((a + b) + c == a + (b + c) == c + a + b == whole == whole + empty, "Tallies do not merge.")
    require(Tally.from_bytes(whole.to_bytes(), mechanism=mechanism) == whole, "A tally's bytes lose something.")
    require(Tally.from_rows(mechanism, [*a.to_rows(), *b.to_rows(), *c.to_rows()]) == whole, "Rows lose something.")
    require(mechanism.tally_batches([to_arrow(batch[:7]), to_arrow(batch[7:])]) == whole, "Arrow batches differ.")
    cells = np.zeros(mechanism.cells, np.int64)
    for place, report in enumerate(batch):
        words = (0, 0) if batch.public is None else (int(batch.public[place, 0]), int(batch.public[place, 1]))
        cells += scalar_cells(mechanism, words, report)
    require(bool((cells == whole.cells).all()), "The tally kernel does not count like the scalar definition.")


def check_intervals(mechanism: Mechanism, n: int = 300) -> None:
    """Exact intervals cover, computed from the law."""
    if not isinstance(mechanism.channel.rates(), (Rates, Contrast)) or mechanism.channel.rates_vary:
        return
    for share in (0.0, 0.05, 0.5):
        for target in ("population", "sample"):
            covered = coverage(mechanism, n, share, "exact", target)
            require(covered >= 0.95 - 1e-9, f"The exact interval for the {target} covers {covered:.4f} at {share}.")


def check_drawn_rates(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Drawn reports have the rates of the law, and enough of them to notice a rate that is 30 % off."""
    for what, rate, supported in _rate_checks(mechanism):
        count = min(max(reports, math.ceil(2000 / float(min(rate, 1 - rate)))), 2_000_000)
        holder = np.zeros(count, np.uint32)
        batch = draw(mechanism, holder, WordStream.seeded(mechanism.words, seed))
        cells = mechanism.tally(batch).cells
        check_rate(f"{mechanism.name}, {what}", supported(cells, count), count, float(rate))


def _rate_checks(mechanism: Mechanism) -> list[tuple[str, Fraction, Callable[[NDArray[np.int64], int], int]]]:
    """Rates of the first and the last code when everyone holds the first."""
    rates = mechanism.channel.rates()
    last = mechanism.channel.inputs - 1

    def supports(code: int) -> Callable[[NDArray[np.int64], int], int]:
        def count(cells: NDArray[np.int64], n: int) -> int:
            found = evidence(mechanism, n, cells)
            return int((found.counts if hasattr(found, "counts") else found.plus)[code])  # type: ignore[attr-defined]

        return count

    if isinstance(rates, Rates) and not mechanism.channel.rates_vary:
        return [("own support", rates.own, supports(0)), ("other support", rates.other, supports(last))]
    if isinstance(rates, Contrast):
        return [("own support", rates.plus_own, supports(0))]
    return []
