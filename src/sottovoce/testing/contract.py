"""One contract for every mechanism, exact checks first.

`check_mechanism` raises `AssertionError` with one sentence at the first failed check.
"""

from __future__ import annotations

import numpy as np

from sottovoce.core.arithmetic.hashing import id_bytes
from sottovoce.core.arithmetic.rational import within
from sottovoce.core.channel import Channel
from sottovoce.core.channel.facets import Coordinates, facet, outputs_of, stages_of
from sottovoce.core.coins import SeededCoins, TapeCoins
from sottovoce.core.errors import ReportError
from sottovoce.core.exact import law
from sottovoce.core.exchange import codec
from sottovoce.core.late import load
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.batch import draw
from sottovoce.fast.kernels.base import invalid_reports, last_node
from sottovoce.fast.numbers import scalar_code
from sottovoce.fast.words import WordStream
from sottovoce.files.arrow import to_arrow
from sottovoce.privacy.audit import audit
from sottovoce.tally.tally import Tally, report_cells
from sottovoce.testing.codes import batch_of_codes, codes_of, require

WASTE = 1e-6
WASTED_DELTA = 0.01  # share of a delta: noise on a grid has it in steps
MAX_ENUMERATED = 8  # codes of a mechanism that has small instances as well
MAX_ALONE = 1 << 10  # of one that has none
MAX_TRIED = 8  # bits of a payload, where all payloads are tried
MAX_LAW = 1 << 18  # pairs of code and report; a table has no smaller instance, and two side by side have too many


def check_mechanism(mechanism: Mechanism, *, seed: int = 0, reports: int = 20_000) -> None:
    """All checks of a mechanism; those of its question are in the module of the question's room."""
    room = load(f"testing.{mechanism.question.room}")
    check_privacy(mechanism)
    instances = [room.instance(mechanism, channel) for channel in small_channels(mechanism.channel)]
    require(bool(instances) or not mechanism.channel.exact, "There is no small instance whose law could be enumerated.")
    for small in instances:
        check_law(small)
        check_refused(small.channel)
        room.check_small(small)
    check_spec(mechanism)
    check_messages(mechanism, seed)
    check_fast_is_scalar(mechanism, seed)
    check_tallies(mechanism, seed)
    room.check_drawn(mechanism, seed, reports)


def small_channels(channel: Channel) -> list[Channel]:
    """Small instances of a channel, and the channel itself where it can be enumerated."""
    channels = list(channel.miniatures())
    channels = [one for one in channels if one.inputs << one.payload_bits <= MAX_LAW] or channels
    few = channel.inputs <= (MAX_ENUMERATED if channels else MAX_ALONE) and not stages_of(channel)  # two laws multiply
    few = few and (not channels or channel.inputs << min(channel.payload_bits, 64) <= MAX_LAW)
    return [*channels, channel] if few and not channel.publics and channel.exact else channels


def check_privacy(mechanism: Mechanism) -> None:
    """The audit holds, and the budget is used up, unless the mechanism declares why some is left."""
    certificate = audit(mechanism)
    require(certificate.ok, str(certificate))
    if mechanism.delta is not None:  # its ratio may be infinite; the exact delta at the claimed epsilon is finite
        spent = float(certificate.delta or 0) >= (1 - WASTED_DELTA) * float(mechanism.delta)
        require(spent, f"{mechanism.name} wastes delta: {float(certificate.delta or 0):.9g} of {mechanism.delta}.")
        return
    require(within(mechanism.ratio, mechanism.claimed), "The ratio exceeds e**epsilon.")
    coordinates = facet(mechanism.channel, Coordinates)
    parts = 1 if coordinates is None else coordinates.chosen  # each of which may waste a little
    spent = mechanism.epsilon >= float(mechanism.claimed) - WASTE * parts
    loss = f"epsilon {mechanism.epsilon!r} of {mechanism.claimed}"
    require(spent or mechanism.unused is not None, f"{mechanism.name} wastes budget: {loss}.")
    require(not spent or mechanism.unused is None, f"{mechanism.name} declares unused budget, and uses it: {loss}.")


def check_law(mechanism: Mechanism) -> None:
    """Law and closed forms agree, exactly, and the alphabet does not depend on the input."""
    channel = mechanism.channel
    laws = {code: law(channel, code) for code in codes_of(channel)}
    alphabets = {frozenset(one) for one in laws.values()}
    # Under a delta an output may be impossible for some inputs: the delta counts these. A utility-optimised guarantee
    # says which codes may have outputs of their own.
    uneven = mechanism.delta is not None or not mechanism.guarantee.protects_all
    require(len(alphabets) == 1 or uneven, "The alphabet of the reports depends on the input.")
    ids = len({words for words, _ in next(iter(alphabets))})
    for code, one in laws.items():
        require(sum(one.values()) == 1, f"The law of code {code} does not sum to one.")
        for (words, report), probability in one.items():
            require(channel.contains(report), "A drawn report is not in the alphabet.")
            require(
                probability * ids == channel.likelihood(report, code, words), "The likelihood differs from the law."
            )


def check_refused(channel: Channel) -> None:
    """A batch refuses exactly the payloads that are no reports; all of them are tried, where they are few."""
    node = last_node(channel)
    if node.payload_bits > MAX_TRIED:
        return
    every = np.arange(1 << node.payload_bits, dtype=np.uint64)
    refused = invalid_reports(channel, every if outputs_of(node) is not None else every.reshape(-1, 1))
    known = [not channel.contains(report) for report in range(len(every))]
    require(refused.tolist() == known, f"Batches of the node {node.kind} do not refuse what `contains` refuses.")


def check_spec(mechanism: Mechanism) -> None:
    """The specification is complete."""
    again = Mechanism.from_spec(mechanism.spec())
    require(
        again == mechanism and again.fingerprint == mechanism.fingerprint,
        "A mechanism differs after a round trip through its specification.",
    )


def check_messages(mechanism: Mechanism, seed: int) -> None:
    """Messages have one length; messages that no participant can have sent are refused."""
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


def check_fast_is_scalar(mechanism: Mechanism, seed: int) -> None:
    """The kernels give the reports of the scalar sampler from the same words."""
    codes = batch_of_codes(mechanism.channel, seed, 40)
    stream = WordStream.seeded(mechanism.words, seed)
    batch = draw(mechanism, codes, stream, threads=2, chunk_bytes=8 * mechanism.words * 7)
    for place, report in enumerate(batch):
        coins = TapeCoins(stream.rows(place, 1).tobytes(), stream.overflow(place))
        words, expected = mechanism.draw(scalar_code(mechanism.channel, codes[place]), coins)
        require(report == expected, f"Report {place} of a batch differs from the scalar sampler.")
        if batch.public is not None:
            require(tuple(int(w) for w in batch.public[place]) == words, "The public words of a batch differ.")


def check_tallies(mechanism: Mechanism, seed: int, count: int = 60) -> None:
    """Tallies merge in any order; rows, bytes and object agree; kernels count like the scalar definition."""
    codes = batch_of_codes(mechanism.channel, seed, count)
    batch = draw(mechanism, codes, WordStream.seeded(mechanism.words, seed))
    total = mechanism.tally(batch)
    a, b, c = (mechanism.tally(batch[i::3]) for i in range(3))
    empty = Tally.empty(mechanism)
    require((a + b) + c == a + (b + c) == c + a + b == total == total + empty, "Tallies do not merge.")
    require(
        Tally.from_bytes(total.to_bytes(), mechanism=mechanism) == total,
        "A tally differs after a round trip through bytes.",
    )
    require(
        Tally.from_rows(mechanism, [*a.to_rows(), *b.to_rows(), *c.to_rows()]) == total,
        "A tally differs after a round trip through rows.",
    )
    require(mechanism.tally_batches([to_arrow(batch[:7]), to_arrow(batch[7:])]) == total, "Arrow batches differ.")
    cells = np.zeros(mechanism.cells, np.int64)
    for place, report in enumerate(batch):
        words = (0, 0) if batch.public is None else (int(batch.public[place, 0]), int(batch.public[place, 1]))
        cells += report_cells(mechanism, report, words)
    require(bool((cells == total.cells).all()), "The tally kernel does not count like the scalar definition.")
