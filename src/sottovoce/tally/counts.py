"""Tallies drawn directly from their law: ten million participants in milliseconds, for simulation only.

Given how many participants hold each code, cells are sums of binomials and multinomials. Most channels are a
mixture of "uniform over everything" and "uniform over what supports the code"; the first part pools all
participants, so that the work does not grow with their number. The number of holders of each code may differ
from run to run, so that channels can be chained or mixed.

Where the law of one cell is exact but that of all cells together is not tractable (local hashing, large
subsets), `joint=False` draws each cell from its own law, independently of the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel import (
    Bits,
    Block,
    Chain,
    Channel,
    Histogram,
    Keyed,
    Mix,
    PoolMap,
    Public,
    Rounding,
    Subset,
    Then,
    Window,
)
from sottovoce.core.channel.facets import Pooled, Supporting, facet, need, outputs_of, rounding_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.shapes import shared_rates
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.statistic import Statistic
from sottovoce.core.statistic.asked import CountAsked, asked_bits
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.keyed import CountKeyed
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.sums import Sums
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.fast.kernels.compose.mix import positions
from sottovoce.tally.laws import law_row
from sottovoce.tally.row_draws import draw_rows
from sottovoce.tally.set_draws import add_members, add_uniform
from sottovoce.tally.tally import Tally

Ints = NDArray[np.int64]
MAX_STEPS = 1 << 22
DRAWN = (
    CountOutputs,
    CountSupports,
    CountSeeds,
    CountCohorts,
    CountKeyed,
    CountAsked,
    Sums,
)  # what is drawn is counted so
BY_CELL = (CountSupports, CountAsked)  # what can be drawn code by code, whatever the joint law is


def simulate_counts(mechanism: Mechanism, histogram: Any, *, seed: int, joint: bool = True) -> Tally:
    """Draw the tally of a simulated crowd directly from a histogram of answers, without single reports.

    The result has the law of a tally of reports, and takes milliseconds for a billion people.

    Args:
        mechanism: The mechanism to simulate.
        histogram: The number of participants who hold each code, or each point of a grid of numbers.
        seed: The seed of the simulation.
        joint: False draws each cell from its own exact law, independently of the others; for mechanisms whose joint
            law is not tractable.

    Returns:
        A `Tally` that is marked as a simulation.

    Raises:
        ParameterError: The histogram does not fit, or counts of this mechanism cannot be drawn.

    Examples:
        >>> m = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)
        >>> sv.simulate_counts(m, [700_000_000, 300_000_000], seed=1)
        Tally(grr a057833cc5b7, n=1000000000, 2 cells, simulation)

    See also:
        `Mechanism.privatize` with a seed simulates single reports.
    """
    cells = simulate_cells(mechanism, histogram, runs=1, seed=seed, joint=joint)
    return Tally(mechanism, int(np.sum(histogram)), cells[0], simulated=True)


def simulate_held(mechanism: Mechanism, holders: Mapping[Any, int], *, seed: int) -> Tally:
    """The tally of a crowd with an open domain: holders[answer] participants hold each answer."""
    codes = np.array([mechanism.domain.encode(answer) for answer in holders], np.int64)
    held = np.array([check_integer("holders", "simulate_held", count, 0, 1 << 40) for count in holders.values()])
    rng = np.random.default_rng(check_integer("seed", "simulate_held", seed, 0, 1 << 256))
    if not isinstance(mechanism.statistic, (CountSeeds, CountCohorts)):
        raise ParameterError("Tallies of open domains are drawn where each public function is counted by itself.")
    return Tally(mechanism, int(held.sum()), draw_rows(mechanism.channel, codes, held, rng, _draw), simulated=True)


def simulate_cells(mechanism: Mechanism, histogram: Any, *, runs: int, seed: int, joint: bool = True) -> Ints:
    """The cells of many independent tallies, one row each, of the same crowd, or each of a row of `histogram`."""
    held = np.asarray(histogram)
    inputs = mechanism.channel.inputs
    if held.shape not in ((inputs,), (runs, inputs)) or held.dtype.kind not in "iu" or held.min() < 0:
        raise ParameterError(
            f"The 'histogram' parameter of simulate_counts must hold {mechanism.channel.inputs} non-negative integers."
        )
    check_integer("runs", "simulate_cells", runs, 1, 1 << 24)
    rng = np.random.default_rng(check_integer("seed", "simulate_counts", seed, 0, 1 << 256))
    if not isinstance(mechanism.statistic, DRAWN):
        known = ", ".join(statistic.kind for statistic in DRAWN)
        raise ParameterError(f"Tallies are drawn for counts of {known}, not of kind {mechanism.statistic.kind}.")
    if not joint and not isinstance(mechanism.statistic, BY_CELL):
        raise ParameterError("Only counts of supports can be drawn cell by cell; leave joint=True.")
    each_run = np.broadcast_to(held.astype(np.int64), (runs, inputs))
    return (
        _draw(mechanism.channel, each_run, rng)
        if joint
        else _each_cell(mechanism.channel, mechanism.statistic, each_run, rng)
    )


def _each_cell(channel: Channel, statistic: Statistic, held: Ints, rng: np.random.Generator) -> Ints:
    """Each cell from its own law: Bin(n_v, p) + Bin(n - n_v, q); where some are asked, among those."""
    if isinstance(statistic, CountAsked):
        chosen, of_a_bit = asked_bits(channel)
        asked = [rng.binomial(some, chosen.asked / chosen.k) for some in (held, _others(held))]
        drawn = [rng.binomial(some, float(rate)) for some, rate in zip(asked, of_a_bit, strict=True)]
        return np.concatenate([drawn[0] + drawn[1], asked[0] + asked[1]], axis=1)
    rates = shared_rates(channel)
    if rates is None:
        raise ParameterError("Cells can be drawn one by one only where all codes have the same two support rates.")
    return rng.binomial(held, float(rates.own)) + rng.binomial(_others(held), float(rates.other))


def _others(held: Ints) -> Ints:
    """How many hold any other code."""
    return np.asarray(held.sum(axis=1, keepdims=True) - held)


@singledispatch
def _draw(channel: Channel, held: Ints, rng: np.random.Generator) -> Ints:
    """The cells of each run; a row of `held` has the number of holders of each code.

    For a node without a version of its own output by output, from its law.
    """
    outputs = outputs_of(channel)
    if outputs is None or channel.publics or not channel.codes_are_indices:
        raise ParameterError(
            f"The joint law of the tally cells of a {channel.kind} channel is not tractable;"
            " joint=False draws each cell from its own exact law."
        )
    cells = np.zeros((len(held), outputs), np.int64)
    for code in _holders(held):
        _add(cells, held[:, code], law_row(channel, int(code)), rng)
    return cells


@_draw.register
def _(channel: Bits, held: Ints, rng: np.random.Generator) -> Ints:
    if channel.encoding != "onehot":
        raise ParameterError("Counts of bits can be drawn directly for one-hot encodings only.")
    p, q = (np.asarray(value, np.float64) / UNIT for value in (channel.p, channel.q))
    return rng.binomial(held, p) + rng.binomial(_others(held), q)


@_draw.register
def _(channel: Subset, held: Ints, rng: np.random.Generator) -> Ints:
    # keep >= w/k, so a report is uniform over all w-subsets with this probability, else contains its code.
    uniform = (UNIT - channel.keep) * channel.k / (UNIT * (channel.k - channel.w))
    pooled = rng.binomial(held, min(1.0, uniform))
    total = pooled.sum(axis=1)
    sure = held - pooled
    if channel.w == 1:
        return sure + rng.multinomial(total, np.full(channel.k, 1 / channel.k))
    holders = _holders(held)
    if channel.k * channel.w * (len(holders) + 1) > MAX_STEPS:
        raise TooLargeError("Subsets this large are drawn report by report, or cell by cell with joint=False.")
    cells = sure + _uniform_subsets(total, channel.k, channel.w, rng)
    for code in holders:
        others = np.arange(channel.k) != code
        cells[:, others] += _uniform_subsets(sure[:, code], channel.k - 1, channel.w - 1, rng)
    return cells


def _holders(held: Ints) -> NDArray[np.intp]:
    """The codes with at least one holder."""
    return np.flatnonzero(held.any(axis=0))


def _uniform_subsets(reports: Ints, k: int, w: int, rng: np.random.Generator) -> Ints:
    """How often each of k elements is in uniform w-subsets, for each run.

    Element by element: a report that still needs r of the m elements left takes the next with r/m, so the reports
    are grouped by r and each group is a binomial.
    """
    needing = np.zeros((w + 1, len(reports)), np.int64)
    needing[w] = reports
    cells = np.zeros((len(reports), k), np.int64)
    for element in range(k):
        left = k - element
        for r in range(1, w + 1):
            taken = rng.binomial(needing[r], min(1.0, r / left))
            needing[r] -= taken
            needing[r - 1] += taken
            cells[:, element] += taken
    return cells


@_draw.register
def _(channel: Block, held: Ints, rng: np.random.Generator) -> Ints:
    sets = channel.sets
    uniform = (UNIT - channel.inside) * sets.outputs / (UNIT * (sets.outputs - sets.size))
    pooled = rng.binomial(held, min(1.0, uniform))
    cells = np.zeros((len(held), sets.outputs), np.int64)
    add_uniform(cells, pooled.sum(axis=1), rng)
    add_members(sets, cells, held - pooled, rng)
    return cells


@_draw.register
def _(channel: Histogram, held: Ints, rng: np.random.Generator) -> Ints:
    """Bins are independent: how often each output was drawn, with a one and without, times the output."""
    cells = np.zeros(held.shape, np.int64)
    for reports, code in ((held, channel.part.inputs - 1), (_others(held), 0)):
        law = law_row(channel.part, code)
        for place in range(channel.k):
            cells[:, place] += rng.multinomial(reports[:, place], law / law.sum()) @ np.arange(len(law))
    return cells


@_draw.register
def _(channel: Window, held: Ints, rng: np.random.Generator) -> Ints:
    # inside >= width / outputs, so a report is uniform over all outputs with this probability, else in the window.
    uniform = (UNIT - channel.inside) * channel.outputs / (UNIT * (channel.outputs - channel.width))
    pooled = rng.binomial(held, min(1.0, uniform))
    cells = rng.multinomial(pooled.sum(axis=1), np.full(channel.outputs, 1 / channel.outputs))
    sure, even = held - pooled, np.full(channel.width, 1 / channel.width)
    for code in _holders(held):
        start = channel.stride * code
        _add(cells[:, start : start + channel.width], sure[:, code], even, rng)
    return cells


def _add(cells: Ints, reports: Ints, law: NDArray[np.float64], rng: np.random.Generator) -> None:
    """Add reports[run] reports of a law to the cells of each run: one by one if there are fewer of them than cells."""
    total = int(reports.sum())
    if total <= cells.size:
        cumulative = np.cumsum(law)
        drawn = rng.random(total) * cumulative[-1]
        places = np.minimum(np.searchsorted(cumulative, drawn, side="right"), len(law) - 1)
        np.add.at(cells, (np.repeat(np.arange(len(reports)), reports), places), 1)
        return
    order = np.argsort(-law)  # once all participants have an output, the less likely ones are not drawn
    cells[:, order] += rng.multinomial(reports, law[order] / law.sum())


@_draw.register
def _(channel: Mix, held: Ints, rng: np.random.Generator) -> Ints:
    weights = np.array(channel.weights, np.float64) / UNIT
    split = rng.multinomial(held, weights / weights.sum())
    parts = []
    for number, branch in enumerate(channel.channels):
        mine, grid = split[:, :, number], rounding_of(branch)
        parts.append(_draw(branch, mine if grid is None else _rounded(grid, mine, rng), rng))
    return np.concatenate(parts, axis=1)


@_draw.register
def _(channel: Keyed, held: Ints, rng: np.random.Generator) -> Ints:
    """`held` lists the values of one group after those of the other."""
    if outputs_of(channel.key) is None:
        raise ParameterError("Counts behind masks are not known from their cells; draw them report by report.")
    groups, runs = channel.key.inputs, len(held)
    members = held.reshape(runs, groups, -1)
    own = float(channel.key.likelihood(0, 0))
    kept = rng.binomial(members, own)
    cells = np.stack([_draw(channel.inner, kept[:, group], rng) for group in range(groups)], axis=1)
    changed = (members - kept).sum(axis=2)
    neutral = np.array(channel.neutral, np.float64) / UNIT
    arrived = np.zeros((runs, groups), np.int64)
    for group in range(groups):
        elsewhere = np.arange(groups) != group
        arrived[:, elsewhere] += rng.multinomial(changed[:, group], np.full(groups - 1, 1 / (groups - 1)))
    cells += rng.multinomial(arrived, neutral / neutral.sum())
    return cells.reshape(runs, -1)


@_draw.register
def _(channel: Rounding, held: Ints, rng: np.random.Generator) -> Ints:
    return held  # a point of the grid stays where it is


def _rounded(rounding: Rounding, held: Ints, rng: np.random.Generator) -> Ints:
    """How many hold each point of a grid, of those who hold whole numbers from 0 to the end of its range."""
    places = positions(rounding, np.arange(held.shape[1], dtype=np.uint32))
    point = (places >> np.uint64(PLACES)).astype(np.int64)
    up = rng.binomial(held, (places & np.uint64((1 << PLACES) - 1)) / (1 << PLACES))
    counts = np.zeros((len(held), rounding.inputs + 1), np.int64)
    rows = np.arange(len(held))[:, None]
    np.add.at(counts, (rows, point), held - up)
    np.add.at(counts, (rows, point + 1), up)
    return counts[:, :-1]  # nobody goes up from the last point


@_draw.register(Then)
@_draw.register(Chain)
def _(channel: Then | Chain, held: Ints, rng: np.random.Generator) -> Ints:
    rates = None if channel.inputs != channel.payload_bits else shared_rates(channel)
    if rates is not None:  # bits stay independent in both stages
        return rng.binomial(held, float(rates.own)) + rng.binomial(_others(held), float(rates.other))
    if outputs_of(channel.first) is None:
        raise ParameterError("Counts behind masks are not known from their cells; draw them report by report.")
    return _draw(channel.second, _draw(channel.first, held, rng), rng)


@_draw.register
def _(channel: Public, held: Ints, rng: np.random.Generator) -> Ints:
    if facet(channel, Pooled) is None:
        raise ParameterError(
            "Hashed reports are only pairwise independent, so the joint law of their cells is not known;"
            " joint=False draws each cell from its own exact law."
        )
    return _draw_mapped(channel.map, channel, held, rng)


@singledispatch
def _draw_mapped(chosen: Any, channel: Public, held: Ints, rng: np.random.Generator) -> Ints:
    """The cells of each run behind numbered public functions, one run after another."""
    codes = np.arange(held.shape[1])
    return np.stack([draw_rows(channel, codes, run, rng, _draw) for run in held])


@_draw_mapped.register
def _(chosen: PoolMap, channel: Public, held: Ints, rng: np.random.Generator) -> Ints:
    """Pairs of map and value: uniform over all of them, or a uniform map with the value it gives the code."""
    rates = shared_rates(channel.inner)
    if rates is None or need(channel.inner, Supporting).support_sizes() != (1, 1):
        return _draw_mapped.dispatch(object)(chosen, channel, held, rng)
    pooled = rng.binomial(held, min(1.0, float(rates.other * channel.inner.inputs)))
    cells = np.zeros((len(held), chosen.seeds * chosen.g), np.int64)
    add_uniform(cells, pooled.sum(axis=1), rng)
    add_members(chosen, cells, held - pooled, rng)
    return cells
