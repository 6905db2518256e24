"""Channels for a distribution, designed for what it is wanted for: tables of sets, and coded waves."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.channel import Block, ListedSets, ShiftSets
from sottovoce.core.channel.finite.block import PublicSets
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError, SottovoceError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Distribution
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.workload import Workload
from sottovoce.design.bound import bound
from sottovoce.design.coded import coded_bits
from sottovoce.design.descent import Cost
from sottovoce.design.listed import listed_bits
from sottovoce.design.stored import stored
from sottovoce.estimate.distribution.buckets import coded_buckets
from sottovoce.estimate.distribution.queries import Floats, Queries, queries
from sottovoce.estimate.distribution.readings.transition import transition_of
from sottovoce.estimate.prior import Prior
from sottovoce.mechanisms.distribution.common import check_domain, coded

BUCKETS = 64
MOST_TABLE, MOST_WAVE = 256, 1 << 12  # buckets: beyond, a search of tables takes minutes
MAX_OUTPUTS = 1 << 12
FEWEST_OUTPUTS = 32
OUTPUTS_EACH = 4  # outputs of a table for each bucket; more lower the variance by less than a hundredth
BITS = 400  # of the patterns of a wave, as far as two of them need no more
FEWEST_PATTERNS = 4
AS_ON_CIRCLE = frozenset({"ranges", "histogram"})  # workloads for which no cells beyond the buckets are wanted
LARGE = 3  # budgets from which on a wave wants fewer cells
PLACES = 9  # digits of a prior's shares, in the key of a design


@dataclass(frozen=True, eq=False)
class DistributionDesign:
    """A designed channel and its variance per query and participant, averaged over the prior."""

    channel: Block
    wanted: Queries
    prior: Floats
    epsilon: float

    @cached_property
    def bound(self) -> float:
        """A lower bound on the variance of any channel of this budget."""
        even = np.ptp(self.prior) == 0
        return bound(self.wanted, self.epsilon, None if even else self.prior)

    @cached_property
    def variance(self) -> float:
        """Variance per query of the least-variance unbiased decoder of the channel that is shipped."""
        law = transition_of(self.channel, self.wanted.bins).matrix
        information = (law / (law @ self.prior)[:, None]).T @ law
        total = np.trace(np.linalg.solve(information, self.wanted.gram)) - self.prior @ np.diag(self.wanted.gram)
        return float(total) / self.wanted.count


def build(
    domain: Domain,
    *,
    epsilon: Any,
    buckets: Any = None,
    workload: str = "cdf",
    outputs: Any = None,
    prior: Prior | None = None,
) -> Mechanism:
    """The table of reports that makes the errors of a workload least, found by projected gradient descent.

    Law: each bucket has a set of outputs, all sets of one size; with probability e**epsilon size / (e**epsilon size +
        outputs - size) a uniform one of them, else a uniform one of all others. The sets minimise
        tr[(Q' D**-1 Q)**-1 W'W], Q the law, W the workload, D the probabilities of reports under the prior.
    Privacy: an output is likelier by e**epsilon for the buckets whose sets it is in.
    Estimator: the least-variance unbiased linear decoder (Q' D**-1 Q)**-1 Q' D**-1; likelihoods work too.
    Cost: one or two bytes; the sets are part of the specification, a bit for each bucket and output. Found in one to
        three seconds for 64 buckets.
    Reference: McKenna, Maity, Mazumdar, Miklau, "A workload-adaptive mechanism for linear queries under local
        differential privacy", VLDB 2020; the restriction to sets of one size is ours.
    """
    name = "designed-distribution"
    budget = check_epsilon(name, epsilon)
    question, view, size, around = _asked(name, domain, buckets, workload, MOST_TABLE)
    usual = max(FEWEST_OUTPUTS, OUTPUTS_EACH * size)
    count = usual if outputs is None else check_integer("outputs", name, outputs, size, MAX_OUTPUTS)
    shares = None if prior is None else _shares(name, prior, view)
    design = table_design(budget, size, question.workload.name, circular=around, outputs=count, prior=shares)
    return Mechanism(name, question, design.channel, budget, CountOutputs(), domain=view)


def build_coded(
    domain: Domain, *, epsilon: Any, buckets: Any = None, workload: str = "cdf", patterns: Any = None, cells: Any = None
) -> Mechanism:
    """A wave of bit patterns: likelier reports are shifts of a few patterns that have a 1 at the answer.

    Law: patterns of bits lie on a circle of `cells` cells: a fourth more than there are buckets, or as many for ranges
        and histograms and around a circle. A report is a pattern and a shift. With probability
        e**epsilon ones / (e**epsilon ones + zeros) it moves a uniform one of all ones to the bucket of the answer, else
        a uniform one of all zeros.
    Privacy: a shifted pattern is likelier by e**epsilon where it has a 1.
    Estimator: as for a designed table; products with the law by the fast Fourier transform.
    Cost: two bytes; the patterns are part of the specification, four bits for each cell, and 400 bits where that is
        more. Found in seconds for up to 4,096 buckets.
    Reference: ours; the square wave is the pattern of one block of ones.
    """
    return coded_wave("coded-wave", domain, epsilon, buckets, workload, patterns, cells)


def coded_wave(
    name: str,
    domain: Domain,
    epsilon: Any,
    buckets: Any,
    workload: Workload | str,
    patterns: Any = None,
    cells: Any = None,
    most: int = MOST_WAVE,
) -> Mechanism:
    """The mechanism of `build_coded`, under the name of whatever is built of it, with so many buckets at most."""
    budget = check_epsilon(name, epsilon)
    question, view, size, around = _asked(name, domain, buckets, workload, most)
    width = usual_cells(size, budget, question.workload, circular=around)
    if cells is not None:
        width = check_integer("cells", name, cells, size, size if around else 4 * size)
    number = usual_patterns(width)
    if patterns is not None:
        number = check_integer("patterns", name, patterns, 1, 16)
    design = wave_design(budget, size, question.workload.name, circular=around, cells=width, patterns=number)
    return Mechanism(name, question, design.channel, budget, CountOutputs(), domain=view)


def usual_cells(bins: int, budget: Decimal, workload: Workload | str = "cdf", *, circular: bool = False) -> int:
    """Cells of a wave: shifts that overlap both ends of a line say more about cumulative shares.

    Ranges and single buckets are as good as arcs of a circle on which the last bucket is next to the first.
    """
    if circular or str(workload) in AS_ON_CIRCLE:
        return max(3, bins)
    return max(3, math.ceil(bins * (9 / 8 if budget >= LARGE else 5 / 4)))


def usual_patterns(cells: int) -> int:
    """The default number of patterns: as many as 400 bits allow, and at least four."""
    return min(8, max(FEWEST_PATTERNS, BITS // cells))


def table_design(
    epsilon: Any,
    bins: int,
    workload: str = "cdf",
    *,
    circular: bool = False,
    outputs: int,
    prior: tuple[float, ...] | None = None,
) -> DistributionDesign:
    """The table of `build` and its variance beside the bound."""
    return _designed(
        check_epsilon("designed-distribution", epsilon), bins, workload, circular, prior, _table, (outputs,)
    )


def wave_design(
    epsilon: Any, bins: int, workload: str = "cdf", *, circular: bool = False, cells: int, patterns: int
) -> DistributionDesign:
    """The wave of `build_coded` and its variance beside the bound."""
    return _designed(check_epsilon("coded-wave", epsilon), bins, workload, circular, None, _wave, (cells, patterns))


@lru_cache(maxsize=64)
def _designed(
    budget: Decimal,
    bins: int,
    name: str,
    circular: bool,
    prior: tuple[float, ...] | None,
    search: Callable[..., list[str]],
    sizes: tuple[int, ...],
) -> DistributionDesign:
    wanted, e = queries(name, bins, circular=circular), odds(budget)
    shares = np.full(bins, 1 / bins) if prior is None else np.array(prior)
    asked = {"epsilon": str(budget), "bins": bins, "workload": name, "circular": circular, "prior": prior}
    sets = stored(
        search.__name__.strip("_"),
        {**asked, "sizes": sizes},
        lambda: search(Cost(wanted, float(e), shares), *sizes),
        lambda texts: _sets(search, bins, sizes, texts),
    )
    channel = Block(sets, floor_unit(e * sets.size / (e * sets.size + sets.outputs - sets.size)))
    return DistributionDesign(channel, wanted, shares, float(budget))


def _sets(search: Callable[..., list[str]], bins: int, sizes: tuple[int, ...], texts: Any) -> PublicSets:
    """The sets of what was found, which must be as large as was asked."""
    shape = (len(texts), *{len(row) for row in texts})
    if shape != ((*sizes, bins) if search is _table else sizes[::-1]):
        raise SottovoceError("A design has another size than was asked for.")
    return ListedSets(texts) if search is _table else ShiftSets(bins, texts)


def _table(price: Cost, outputs: int) -> list[str]:
    even = np.abs(price.prior - price.prior[::-1]).max() < 10.0**-PLACES
    bits = listed_bits(price, outputs, mirrored=bool(even) and outputs % 2 == 0)
    return list(map(_text, bits))


def _wave(price: Cost, cells: int, patterns: int) -> list[str]:
    return list(map(_text, coded_bits(price, cells, patterns)))


def _text(bits: Floats) -> str:
    return "".join("01"[int(bit)] for bit in bits)


def _asked(
    name: str, domain: Domain, buckets: Any, wanted: object, most: int
) -> tuple[Distribution, Domain, int, bool]:
    """The question, the view of the domain with one code for each bucket, their number, and whether it is a circle."""
    size = check_domain(name, domain).points
    if buckets is not None:
        buckets = check_integer("buckets", name, buckets, 2, most)
    question = Distribution(domain, wanted, buckets)
    view = coded(name, domain, BUCKETS if buckets is None and (size is None or size > most) else buckets)
    return question, view, view.size or BUCKETS, view.root.circular


def _shares(name: str, prior: Any, view: Domain) -> tuple[float, ...]:
    """The prior's share of each bucket, in round numbers."""
    if not isinstance(prior, Prior):
        raise reject("prior", name, "a Prior, such as Prior.normal(5, 1, 0, 10)", prior)
    edges = coded_buckets(view).edges
    values = np.asarray(prior.values)
    if values.min() < edges[0] or values.max() > edges[-1]:
        raise ParameterError(f"The prior of {name} has values outside the domain.")
    places = np.searchsorted(edges[1:-1], values, side="right")
    shares = np.bincount(places, prior.weights, minlength=len(edges) - 1)
    return tuple(round(float(share), PLACES) for share in shares / shares.sum())
