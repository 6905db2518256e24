"""Checks of mechanisms for tables, beside the contract: every table of a view is unbiased, with its covariance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, product
from typing import Any

import numpy as np

from sottovoce.core.channel import Channel
from sottovoce.core.domain import Integers, Record, Select
from sottovoce.core.exact import law
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import MAX_EPSILON
from sottovoce.core.question import Distribution, Frequency, Joint
from sottovoce.core.statistic.joint import CountJoint
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.estimate.evidence import Floats
from sottovoce.estimate.frequency.supports import two_rates
from sottovoce.estimate.joint.evidence import from_cells
from sottovoce.estimate.joint.joined import JoinedTables
from sottovoce.estimate.joint.parities import BlockReports, ranks
from sottovoce.estimate.joint.residuals import ContrastVariance, ResidualTables, ViewReading, parts
from sottovoce.estimate.joint.waves import WaveReading, is_wave
from sottovoce.fast.batch import draw
from sottovoce.fast.words import WordStream
from sottovoce.tally.tally import report_cells
from sottovoce.testing import distribution, frequency
from sottovoce.testing.codes import require
from sottovoce.testing.statistics import check_rate


def instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """A table of two attributes, or of one where the number of codes has no factors, through a small channel."""
    if isinstance(mechanism.statistic, CountSeeds):
        return _block_instance(mechanism, channel)
    if isinstance(mechanism.statistic, CountJoint):
        return _joined_instance(mechanism, channel)
    factors = [] if is_wave(mechanism) else [one for one in range(2, channel.inputs) if channel.inputs % one == 0]
    rows = factors[0] if factors else channel.inputs
    sizes = [rows, channel.inputs // rows] if rows < channel.inputs else [rows]
    record = Record({f"part {place}": Integers(0, size - 1) for place, size in enumerate(sizes)})
    names = tuple(name for name, _ in record.fields)
    question, domain = Joint(record, tables=[names]), Select(record, names)
    most = Decimal(MAX_EPSILON)
    return Mechanism(mechanism.name, question, channel, most, mechanism.statistic, domain)


def _block_instance(mechanism: Mechanism, channel: Any) -> Mechanism:
    """All tables of as many yes/no attributes as a small public block has at most, through a small channel."""
    record = Record({f"part {place}": Integers(0, 1) for place in range(channel.map.attributes)})
    domain = Select(record, [name for name, _ in record.fields])
    question = Joint(record, channel.map.size)
    return Mechanism(mechanism.name, question, channel, Decimal(MAX_EPSILON), mechanism.statistic, domain)


def _joined_instance(mechanism: Mechanism, channel: Channel) -> Mechanism:
    """A table of as many attributes as there are channels side by side."""
    record = Record({f"part {place}": Integers(0, part.inputs - 1) for place, part in enumerate(channel.parts)})
    question = Joint(record, len(channel.parts))
    return Mechanism(mechanism.name, question, channel, Decimal(MAX_EPSILON), mechanism.statistic)


def _check_joined(mechanism: Mechanism) -> None:
    """Mean and covariance of the table of all attributes agree with the enumerated law."""
    question: Joint = mechanism.question  # type: ignore[assignment]
    (names,) = question.tables
    shape = [question.sizes[name] for name in names]
    empty = JoinedTables.of(mechanism, np.zeros(mechanism.cells, np.int64))
    for code in product(*map(range, shape)):
        chances = np.zeros(mechanism.cells)
        for (words, report), probability in law(mechanism.channel, code).items():
            chances += float(probability) * report_cells(mechanism, report, words)
        exact = replace(empty, counts=chances.reshape(empty.counts.shape))
        truth = np.zeros(shape)
        truth[code] = 1
        require(float(np.abs(exact.values(names) - truth).max()) < 1e-6, f"A table is biased for code {code}.")
        readers = empty.readers[0]
        for reader in empty.readers[1:]:
            readers = np.einsum("ay,bz->abyz", readers, reader).reshape(len(readers) * len(reader), -1)
        second = (readers * chances) @ readers.T - np.outer(truth, truth)
        cells = int(truth.size)
        covariance = exact.covariance([(names, np.eye(cells).reshape(cells, *shape))])
        require(bool(np.allclose(covariance, second, rtol=1e-6, atol=1e-6)), f"A covariance differs for code {code}.")
        require(bool(np.allclose(exact.variances(names).ravel(), np.diag(second), rtol=1e-6, atol=1e-6)), "Variances.")


def _check_drawn_joined(mechanism: Mechanism, seed: int, reports: int) -> None:
    """The likeliest report of the first attribute is drawn as often as the law says."""
    channel: Any = mechanism.channel
    code = tuple(part.inputs - 1 for part in channel.parts)
    tally = mechanism.tally(draw(mechanism, np.tile(np.array(code, np.uint32), (reports, 1)), _stream(mechanism, seed)))
    tables = JoinedTables.of(mechanism, tally.cells)
    seen, expected = tables.seen(tables.names[:1]), tables.laws[0][code[0]]
    likeliest = int(expected.argmax())
    check_rate("likeliest reports", int(seen[likeliest]), reports, float(expected[likeliest]))


def _stream(mechanism: Mechanism, seed: int) -> WordStream:
    return WordStream.seeded(mechanism.words, seed)


def _check_blocks(mechanism: Mechanism) -> None:
    """Parities of one report have the mean and the covariance of the law, for every set that a block tells."""
    channel: Any = mechanism.channel
    attributes, size = channel.map.attributes, channel.map.size
    reading = BlockReports.of(mechanism, np.zeros(mechanism.cells, np.int64))
    gap, seeds = reading.gap, channel.map.seeds
    sets = [one for order in range(1, size + 1) for one in combinations(range(attributes), order)]
    for code in range(channel.inputs):
        ones = [code >> (attributes - 1 - place) & 1 for place in range(attributes)]
        sign = {one: (-1) ** sum(ones[place] for place in one) for one in sets}
        for seed in range(seeds):
            told = _told(channel.map, channel.map.block(seed), sets)
            mean, square = np.zeros(len(told)), np.zeros((len(told), len(told)))
            for report in range(channel.map.outputs):
                inner = channel.inner.likelihood(report, channel.map.value(seed, code))
                cells = np.zeros((seeds, channel.map.outputs), np.int64)
                cells[seed, report] = 1
                one = BlockReports(channel.map, gap, reading.least, cells)
                scores = np.array(
                    [one.sums(len(names))[ranks(np.array([names]), attributes)[0]] / gap for names in told]
                )
                mean += float(inner) * scores
                square += float(inner) * np.outer(scores, scores)
            truth = np.array([sign[names] for names in told])
            require(bool(np.abs(mean - truth).max() < 1e-9), f"A parity is biased for code {code}.")
            law = np.outer(truth, truth) * (np.eye(len(told)) * (1 / gap**2 - 1 / gap) + 1 / gap)
            require(bool(np.abs(square - law).max() < 1e-9 / gap**2), f"A covariance differs for code {code}.")


def _told(chosen: Any, block: tuple[int, ...], sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """The sets whose parities a report about a block tells."""
    if chosen.form == "parity":
        return [block]
    inside = [one for one in sets if {*one} <= {*block}]
    return inside if chosen.form == "cells" else [one for one in inside if len(one) % 2 == 0]


def check_small(mechanism: Mechanism) -> None:
    """Mean and variance of one report agree with the enumerated law, for every table of the view."""
    if isinstance(mechanism.statistic, CountSeeds):
        _check_blocks(mechanism)
        return
    if isinstance(mechanism.statistic, CountJoint):
        _check_joined(mechanism)
        return
    question: Joint = mechanism.question  # type: ignore[assignment]
    (names,) = question.tables
    shape = [question.sizes[name] for name in names]
    for code in range(mechanism.channel.inputs):
        truth = np.eye(mechanism.channel.inputs)[code].reshape(shape)
        for table in parts(names):
            _check_table(mechanism, code, table, truth)
        drawn = mechanism.variance(truth.ravel(), 1, target="sample")
        require(drawn.min() > 0, "The predicted variance of the noise is not positive.")


def _check_table(mechanism: Mechanism, code: int, table: tuple[str, ...], truth: Floats) -> None:
    question: Joint = mechanism.question  # type: ignore[assignment]
    (names,) = question.tables
    expected = truth.sum(tuple(i for i, name in enumerate(names) if name not in table)).ravel()
    mean, square = np.zeros(len(expected)), np.zeros((len(expected), len(expected)))
    for (words, report), probability in law(mechanism.channel, code).items():
        values = from_cells(mechanism, 1, report_cells(mechanism, report, words)).table(table).values()
        mean += float(probability) * values
        square += float(probability) * np.outer(values, values)
    scale = float(square.max())
    require(float(np.abs(mean - expected).max()) < 1e-9 * scale**0.5, f"A table is biased for code {code}.")
    view: Any = ViewReading(names, truth, 1, ContrastVariance.of(mechanism.channel)) if not is_wave(mechanism) else None
    view = view or WaveReading.expected(mechanism, truth.ravel(), 1)
    exact = ResidualTables(question.sizes, (view,))
    shape = [question.sizes[name] for name in table]
    covariance = exact.covariance([(table, np.eye(len(expected)).reshape(-1, *shape))])
    error = float(np.abs(square - np.outer(mean, mean) - covariance).max())
    require(error < 1e-9 * scale, f"The predicted covariance differs from the law for code {code}.")
    error = float(np.abs(exact.variances(table).ravel() - np.diag(covariance)).max())
    require(error < 1e-9 * scale, "The variances of cells differ from the diagonal of their covariance.")


def check_drawn(mechanism: Mechanism, seed: int, reports: int) -> None:
    """The reports are those of a frequency oracle on the cells of the view."""
    if isinstance(mechanism.statistic, CountSeeds):
        _check_drawn_blocks(mechanism, seed, reports)
        return
    if isinstance(mechanism.statistic, CountJoint):
        _check_drawn_joined(mechanism, seed, reports)
        return
    if is_wave(mechanism):
        buckets = Integers(0, mechanism.channel.inputs - 1)
        distribution.check_drawn(replace(mechanism, question=Distribution(buckets), domain=buckets), seed, reports)
        return
    frequency.check_drawn(replace(mechanism, question=Frequency(mechanism.domain)), seed, reports)


def _check_drawn_blocks(mechanism: Mechanism, seed: int, reports: int) -> None:
    """Every block is drawn equally often, and a report is the value of the code as often as the law says."""
    channel: Any = mechanism.channel
    code = channel.inputs // 3
    batch = draw(mechanism, np.full(reports, code, np.uint32), WordStream.seeded(mechanism.words, seed))
    counts = mechanism.tally(batch).cells.reshape(channel.map.seeds, -1)
    values = [channel.map.value(number, code) for number in range(channel.map.seeds)]
    kept = int(counts[np.arange(channel.map.seeds), values].sum())
    check_rate("kept values", kept, reports, two_rates(channel.inner)[0])
    half = int(counts[: channel.map.seeds // 2].sum())
    if channel.map.seeds > 1:
        check_rate("first half of the blocks", half, reports, (channel.map.seeds // 2) / channel.map.seeds)
