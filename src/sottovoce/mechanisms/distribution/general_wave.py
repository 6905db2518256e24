"""General waves: reports are the likelier the nearer they are to the answer, in the shape of a trapezoid."""

from __future__ import annotations

from fractions import Fraction
from math import cos, floor, pi
from typing import Any

from sottovoce.core.arithmetic.rational import UNIT, odds, within
from sottovoce.core.channel import Table
from sottovoce.core.domain import Domain
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_fraction, check_integer, reject
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.distribution.common import bandwidth, check_domain, coded

BUCKETS = 32  # where the domain is a continuum and no other number is asked for
MOST_BUCKETS = 1 << 10
_FAINTEST = 1e-3  # of a wave, that a pattern around a circle may leave in the reports


def build(domain: Domain, *, epsilon: Any, shape: Any = "0.5", buckets: Any = None, workload: str = "cdf") -> Mechanism:
    """A trapezoid whose upper side is `shape` times its lower one: 0 is a triangle, 1 the square wave.

    Law: of d buckets, with b as for the discrete square wave, a report at the distance t from the bucket has weight
        1 + (e**epsilon - 1) h(t), where h falls from 1 at distances up to shape b to 0 beyond b, else weight 1; the
        d + 2 b weights are scaled to sum to one. On a circle there are d reports.
    Privacy: the largest and the smallest weight differ by e**epsilon.
    Estimator: as for the square wave.
    Cost: one or two bytes; the table of all probabilities is part of the specification.
    Reference: Li et al., "Estimating numerical distributions under local differential privacy", SIGMOD 2020,
        definition 5.1 and section 6.4; at the same width, lemma 5.5: the square wave separates answers best.
    """
    name = "general-wave"
    budget, upper = check_epsilon(name, epsilon), check_fraction("shape", name, shape)
    if not 0 <= upper <= 1:
        raise reject("shape", name, "a number in [0, 1]", shape)
    size = check_domain(name, domain).points
    wanted = buckets if buckets is not None else (BUCKETS if size is None or size > MOST_BUCKETS else None)
    if wanted is not None:
        wanted = check_integer("buckets", name, wanted, 2, MOST_BUCKETS)
    question = Distribution(domain, workload, wanted)
    view = coded(name, domain, question.buckets)
    codes = view.size or 2
    half = floor(bandwidth(budget) * codes)
    table = trapezoids(codes, half, upper, odds(budget), around=domain.circular)
    if not within(table.ratio(), budget):
        raise reject("epsilon", name, "larger: probabilities of 53 bits cannot express it", epsilon)
    return Mechanism(name, question, table, budget, CountOutputs(), domain=view)


def trapezoids(codes: int, half: int, upper: Fraction, e: Fraction, *, around: bool) -> Table:
    """Every row has the same wave around its code; no weight is below that of the outside, nor above e times it."""
    half = _visible(codes, min(half, (codes - 1) // 2), upper) if around else half
    outputs = codes if around else codes + 2 * half
    heights = _heights(half, upper)
    low = floor(UNIT / (outputs + (e - 1) * sum(heights)))
    wave = [floor(low * (1 + (e - 1) * height)) for height in heights]
    # What rounding leaves goes to the outside, which makes it a little likelier.
    weight_outside, rest = divmod(UNIT - sum(wave), outputs - len(wave))
    rows = []
    for code in range(codes):
        row = [0] * outputs
        for place, weight in enumerate(wave):
            row[(code + place) % outputs] = weight
        outside = ((code + len(wave) + place) % outputs for place in range(outputs - len(wave)))
        for place, output in enumerate(outside):
            row[output] = weight_outside + (place < rest)
        rows.append(row)
    return Table(rows)


def _visible(codes: int, half: int, upper: Fraction) -> int:
    """The largest half-width, up to this one, at which every pattern that repeats around a circle shows in reports."""
    while half:
        heights = [float(height) for height in _heights(half, upper)]
        waves = (
            abs(sum(height * cos(2 * pi * turn * away / codes) for away, height in enumerate(heights, -half)))
            for turn in range(1, codes // 2 + 1)
        )
        if min(waves) > _FAINTEST * sum(heights):
            break
        half -= 1
    return half


def _heights(half: int, upper: Fraction) -> list[Fraction]:
    """Heights of the trapezoid at the outputs from -half to half."""
    return [_height(Fraction(abs(away), half + 1), upper) for away in range(-half, half + 1)]


def _height(away: Fraction, upper: Fraction) -> Fraction:
    """Height of a trapezoid of height 1 that reaches from -1 to 1, with an upper side from -upper to upper."""
    return Fraction(1) if away <= upper else (1 - away) / (1 - upper)
