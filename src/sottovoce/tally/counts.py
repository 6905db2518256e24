"""Tallies drawn directly from their law: ten million participants in milliseconds, for simulation only.

Given how many participants hold each code, cells are sums of binomials and multinomials. Most channels are a
mixture of "uniform over everything" and "uniform over what supports the code"; the first part pools all
participants, so that the work does not grow with their number.

Where the law of one cell is exact but that of all cells together is not tractable (local hashing, large
subsets), `joint=False` draws each cell from its own law, independently of the others.
"""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Bits, Block, Channel, PoolMap, Public, Rates, Subset, Table
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.field import dot
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.rational import UNIT
from sottovoce.tally.tally import Tally

Ints = NDArray[np.int64]
MAX_STEPS = 1 << 22


def simulate_counts(mechanism: Mechanism, histogram: Any, *, seed: int, joint: bool = True) -> Tally:
    """The tally of a crowd in which histogram[code] participants hold each code."""
    cells = simulate_cells(mechanism, histogram, runs=1, seed=seed, joint=joint)
    return Tally(mechanism, int(np.sum(histogram)), cells[0])


def simulate_cells(mechanism: Mechanism, histogram: Any, *, runs: int, seed: int, joint: bool = True) -> Ints:
    """The cells of many independent tallies of the same crowd, one row each."""
    held = np.asarray(histogram)
    if held.shape != (mechanism.channel.inputs,) or held.dtype.kind not in "iu" or held.min() < 0:
        raise ParameterError(
            f"The 'histogram' parameter of simulate_counts must hold {mechanism.channel.inputs} non-negative integers."
        )
    check_integer("runs", "simulate_cells", runs, 1, 1 << 24)
    rng = np.random.default_rng(check_integer("seed", "simulate_counts", seed, 0, 1 << 256))
    if not joint and mechanism.statistic != "supports":
        raise ParameterError("Only counts of supports can be drawn cell by cell; leave joint=True.")
    if not joint:
        return _each_cell(mechanism.channel, held.astype(np.int64), runs, rng)
    return _draw(mechanism.channel, held.astype(np.int64), runs, rng)


def _each_cell(channel: Channel, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    """Each cell from its own law: Bin(n_v, p) + Bin(n - n_v, q)."""
    rates = channel.rates()
    if not isinstance(rates, Rates) or channel.rates_vary:
        raise ParameterError("Cells can be drawn one by one only where all codes have the same two support rates.")
    shape = (runs, len(held))
    return rng.binomial(held, float(rates.own), shape) + rng.binomial(held.sum() - held, float(rates.other), shape)


@singledispatch
def _draw(channel: Channel, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    raise ParameterError(
        f"The joint law of the tally cells of a {channel.kind} channel is not tractable;"
        " joint=False draws each cell from its own exact law."
    )


@_draw.register
def _(channel: Bits, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    if channel.encoding != "onehot":
        raise ParameterError("Counts of bits can be drawn directly for one-hot encodings only.")
    p, q = (np.asarray(value, np.float64) / UNIT for value in (channel.p, channel.q))
    shape = (runs, channel.k)
    return rng.binomial(held, p, shape) + rng.binomial(held.sum() - held, q, shape)


@_draw.register
def _(channel: Subset, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    # keep >= w/k, so a report is uniform over all w-subsets with this probability, else contains its code.
    uniform = (UNIT - channel.keep) * channel.k / (UNIT * (channel.k - channel.w))
    pooled = rng.binomial(held, min(1.0, uniform), (runs, channel.k))
    total = pooled.sum(axis=1)
    sure = held - pooled
    if channel.w == 1:
        return sure + rng.multinomial(total, np.full(channel.k, 1 / channel.k))
    holders = np.flatnonzero(held)
    if channel.k * channel.w * (len(holders) + 1) > MAX_STEPS:
        raise TooLargeError("Subsets this large are drawn report by report, or cell by cell with joint=False.")
    cells = sure + _uniform_subsets(total, channel.k, channel.w, rng)
    for code in holders:
        others = np.arange(channel.k) != code
        cells[:, others] += _uniform_subsets(sure[:, code], channel.k - 1, channel.w - 1, rng)
    return cells


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
def _(channel: Block, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    sets = channel.sets
    uniform = (UNIT - channel.inside) * sets.outputs / (UNIT * (sets.outputs - sets.size))
    pooled = rng.binomial(held, min(1.0, uniform), (runs, sets.codes))
    cells = rng.multinomial(pooled.sum(axis=1), np.full(sets.outputs, 1 / sets.outputs))
    for code in np.flatnonzero(held):
        members = [sets.inside(int(code), index) for index in range(sets.size)]
        cells[:, members] += rng.multinomial(held[code] - pooled[:, code], np.full(sets.size, 1 / sets.size))
    return cells


@_draw.register
def _(channel: Table, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    cells = np.zeros((runs, channel.outputs), np.int64)
    for code in np.flatnonzero(held):
        law = np.array(channel.rows[code], np.float64) / UNIT
        cells += rng.multinomial(held[code], law / law.sum(), runs)
    return cells


def _draw_pool(chosen: PoolMap, inner: Subset, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    """Pairs of map and value: uniform over all of them, or a uniform map with the value it gives the code."""
    uniform = (UNIT - inner.keep) * inner.k / (UNIT * (inner.k - 1))
    pooled = rng.binomial(held, min(1.0, uniform), (runs, chosen.k))
    pairs = chosen.seeds * chosen.g
    cells = rng.multinomial(pooled.sum(axis=1), np.full(pairs, 1 / pairs))
    seeds = np.arange(chosen.seeds)
    for code in np.flatnonzero(held):
        values = np.array([dot(int(seed), int(code), chosen.g, chosen.digits) for seed in seeds])
        sure = rng.multinomial(held[code] - pooled[:, code], np.full(chosen.seeds, 1 / chosen.seeds))
        cells[:, seeds * chosen.g + values] += sure
    return cells


@_draw.register
def _(channel: Public, held: Ints, runs: int, rng: np.random.Generator) -> Ints:
    if isinstance(channel.map, PoolMap) and isinstance(channel.inner, Subset) and channel.inner.w == 1:
        return _draw_pool(channel.map, channel.inner, held, runs, rng)
    raise ParameterError(
        "Hashed reports are only pairwise independent, so the joint law of their cells is not known;"
        " joint=False draws each cell from its own exact law."
    )
