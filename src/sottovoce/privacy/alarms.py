"""Signs of fake reports: counts that honest devices do not produce, whatever they answer.

Each check bounds how likely a count is at least so extreme if all reports are honest, for any answers: a cell that
every device hits with a probability between two known ones, the number of bits that unary reports set, how many
codes hashed reports support, and what is uniform in random ids: public functions, arms, first bytes. Together all
checks of a call raise a false alarm with probability at most `ALPHA`. Silence proves nothing: fake reports that look
like those of honest people cannot be distinguished from them, and `what_if` says how far they can move an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import bdtr, bdtrc, gammaln, logsumexp, xlogy

from sottovoce.core.arithmetic.rational import units
from sottovoce.core.channel import Bits, Channel, NumberedMap, PoolMap, Public, Rates
from sottovoce.core.channel.facets import (
    Extremal,
    Numbered,
    Pooled,
    Relaying,
    Supporting,
    facet,
    need,
    rates_of,
    stages_of,
)
from sottovoce.core.channel.shapes import support_rates
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.round import Round
from sottovoce.core.statistic.asked import CountAsked, asked_bits
from sottovoce.core.statistic.cohorts import CountCohorts
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.core.statistic.seeds import CountSeeds
from sottovoce.core.statistic.supports import CountSupports
from sottovoce.privacy.drawn import ALPHA
from sottovoce.tally.tally import Tally

Floats = NDArray[np.float64]
MOST_CELLS = 1 << 16  # of a tally whose cells are checked one by one
STEEPEST = 40.0  # tilts beyond this change no bound
TILTS = np.linspace(0.05, 0.8, 16)  # of the divergence of counts; from 1 on the bound is infinite
FAR = 30.0  # standard deviations of a Poisson count beyond which its tilted terms are below 1e-38


@dataclass(frozen=True, slots=True)
class Check:
    """One check: of what, and an upper bound of the probability of what was seen if all reports are honest."""

    of: str
    probability: float
    where: str = ""

    def text(self, *, alarm: bool) -> str:
        """The check as one line of text."""
        place = f" ({self.where})" if self.where else ""
        said = f"{self.of}{place}: honest reports give this with probability {self.probability:.1g} or less"
        return f"ALARM: {said}" if alarm else said


@dataclass(frozen=True, slots=True)
class Checks:
    """All checks of a study; `raised` are the alarms."""

    checks: tuple[Check, ...]

    @property
    def raised(self) -> tuple[Check, ...]:
        """Those that honest reports give with probability `ALPHA` or less, all of them together."""
        return tuple(one for one in self.checks if one.probability < ALPHA / len(self.checks))

    def text(self) -> str:
        """One line for each check."""
        raised = self.raised
        return "\n".join(one.text(alarm=one in raised) for one in self.checks)

    __str__ = text


def alarms(
    tallies: Sequence[Tally],
    *,
    arms: Round | None = None,
    first_bytes: Sequence[int] | NDArray[np.int64] = (),
) -> Checks:
    """The checks of the tallies of a round, one for each arm where `arms` is given.

    `first_bytes` counts the ids of all reports by their first byte, 256 numbers, where the collector counts them.
    """
    checks = [check for tally in tallies if tally.n for check in of_tally(tally)]
    if arms is not None and len(arms.arms) > 1 and not arms.chosen:
        if len(arms.arms) != len(tallies):
            raise ParameterError("The checks of a round need one tally for each of its arms.")
        weights = np.array([arm.weight for arm in arms.arms], float) / arms.weight
        checks += uniform("arms of a round", [tally.n for tally in tallies], weights)
    if len(first_bytes):
        checks += [
            *uniform("first bytes of ids", first_bytes),
            *spread("first bytes of ids, all together", first_bytes),
        ]
    return Checks(tuple(checks))


def of_tally(tally: Tally) -> Iterator[Check]:
    """The checks that the statistic of a mechanism allows."""
    mechanism, n = tally.mechanism, tally.n
    channel, statistic, cells = mechanism.channel, mechanism.statistic, tally.cells
    if stages_of(channel) is not None:  # a device repeats its memo in each epoch: reports are not independent
        return
    if isinstance(statistic, CountSupports):
        rates = support_rates(channel)
        if rates is None:
            return
        own, other = _rates(channel, rates)
        if len(cells) <= MOST_CELLS:
            yield _within(f"reports that support a value of {mechanism.name}", cells, n, other, own)
        if not need(channel, Supporting).rates_vary:
            yield from _all_supports(channel, rates, mechanism.name, int(cells.sum()), n)
    elif isinstance(statistic, CountAsked):
        chosen, rates = asked_bits(channel)
        counts, asked = cells.reshape(2, -1)
        part = np.array(chosen.asked / chosen.k)
        if chosen.k <= MOST_CELLS:
            yield _within(f"reports that are asked about a value by {mechanism.name}", asked, n, part, part)
            ends = part * float(rates.other), part * float(rates.own)
            yield _within(f"reports that support a value of {mechanism.name}", counts, n, *ends)
    elif isinstance(statistic, CountSeeds):
        table = cells.reshape(need(channel, Pooled).seeds, need(channel, Numbered).outputs)
        yield from uniform(f"public functions of {mechanism.name}", table.sum(axis=1))
        yield from _hash_values(need(channel, Pooled).pool, channel, mechanism.name, table.sum(axis=0))
    elif isinstance(statistic, CountCohorts):
        table = cells.reshape(need(channel, Pooled).seeds, channel.payload_bits + 1)
        yield from uniform(f"public functions of {mechanism.name}", table[:, 0])
    elif isinstance(statistic, CountOutputs) and not channel.publics and len(cells) <= MOST_CELLS:
        extremal = facet(channel, Extremal)
        if extremal is not None:
            # Extremes that take too long to compute give no check: estimates must not depend on alarms.
            with suppress(TooLargeError):
                most, least = (np.array([float(one) for one in side]) for side in extremal.extremes())
                yield _within(f"single reports of {mechanism.name}", cells, n, least, most)


@singledispatch
def _all_supports(channel: Channel, rates: Rates, name: str, total: int, n: int) -> Iterator[Check]:
    """Checks of the number of values that all reports support together, where it varies from report to report."""
    yield from ()


@_all_supports.register
def _(channel: Bits, rates: Rates, name: str, total: int, n: int) -> Iterator[Check]:
    if channel.encoding == "onehot":
        yield Check(f"bits that reports of {name} set", _weight(total, n, channel))


@_all_supports.register
def _(channel: Public, rates: Rates, name: str, total: int, n: int) -> Iterator[Check]:
    """Hoeffding: a report supports from none to all of the values, on average `mean` for every answer."""
    mean = float(rates.own + (channel.inputs - 1) * rates.other)
    away = abs(total / n - mean) / channel.inputs
    likely = min(1.0, 2 * math.exp(-2 * n * away**2))
    yield Check(f"values that hashed reports of {name} support", likely)


@singledispatch
def _hash_values(chosen: NumberedMap, channel: Channel, name: str, counts: NDArray[np.int64]) -> Iterator[Check]:
    """Checks of how often each value of the public functions was reported."""
    yield from ()


@_hash_values.register
def _(chosen: PoolMap, channel: Channel, name: str, counts: NDArray[np.int64]) -> Iterator[Check]:
    """Over all functions of a pool a code has each value equally often, but code 0 always the first."""
    inner, outputs = need(channel, Relaying).last, len(counts)
    supporting = facet(inner, Supporting)
    if supporting is not None and supporting.support_sizes() == (1, 1):  # randomized response
        first = np.array([float(inner.likelihood(0, report)) for report in range(outputs)])
        ends = np.minimum(first, 1 / outputs), np.maximum(first, 1 / outputs)
        yield _within(f"hash values of {name}", counts, int(counts.sum()), *ends)


def uniform(of: str, counts: Sequence[int] | NDArray[np.int64], expected: Floats | None = None) -> Iterator[Check]:
    """Counts of what falls into each place with a known probability, the same for all where none is given."""
    seen = np.asarray(counts)
    known = np.full(len(seen), 1 / len(seen)) if expected is None else expected
    if seen.sum():
        yield _within(of, seen, int(seen.sum()), known, known)


def spread(of: str, counts: Sequence[int] | NDArray[np.int64]) -> Iterator[Check]:
    """Whether counts of what is uniform over k places differ too much as a whole: a chi-square test for every n.

    The statistic is half of the likelihood-ratio chi-square: the sum T of d(x) = x log(x / m) - x + m, with m = n / k.
    Counts of n are independent Poisson counts X of mean m, given that these sum to n, which has the probability
    n**n e**-n / n!. So for any tilt t the mean of exp(t T) is at most n! e**n / n**n times the k-th power of
    E exp(t d(X)), and Chernoff's bound holds without an approximation; that by chi-square with k - 1 degrees of
    freedom does not hold in the far tail.
    """
    seen = np.asarray(counts, float)
    n, k = float(seen.sum()), len(seen)
    if not n:
        return
    mean = n / k
    observed = float(xlogy(seen, seen / mean).sum())
    # Terms that are left out are far smaller than rounding.
    reach = FAR * math.sqrt(mean) + 200
    x = np.arange(max(0.0, math.floor(mean - reach)), min(n, math.ceil(mean + reach)) + 1)
    log_poisson = xlogy(x, mean) - mean - gammaln(x + 1)
    tilted = logsumexp(log_poisson + TILTS[:, None] * (xlogy(x, x / mean) - x + mean), axis=1)
    log_factor = gammaln(n + 1) + n - n * math.log(n)
    exponent = float((log_factor + k * tilted - TILTS * observed).min())
    yield Check(of, min(1.0, math.exp(min(0.0, exponent))))


def _within(of: str, counts: NDArray[np.int64], n: int, least: Floats, most: Floats) -> Check:
    """Counts of events whose probability lies between two numbers for every device.

    A sum of independent events is stochastically largest where all have the largest probability, so the tails of two
    binomials bound its own. All counts together: the sum of both tails of each.
    """
    least, most = np.broadcast_to(least, counts.shape), np.broadcast_to(most, counts.shape)
    high = np.where(counts > 0, bdtrc(counts - 1.0, n, np.clip(most, 0, 1)), 1.0)
    low = np.where(counts < n, bdtr(counts.astype(float), n, np.clip(least, 0, 1)), 1.0)
    tails = np.minimum(high, low)
    worst = int(tails.argmin())
    return Check(of, float(min(1.0, 2 * len(counts) * tails[worst])), f"place {worst}")


def _weight(total: int, n: int, channel: Bits) -> float:
    """How likely so many or so few bits are: one of each report is set with p, the others with q, all independent."""
    own, other = (float(units(int(rate))) for rate in (channel.p, channel.q))  # type: ignore[arg-type]
    parts = ((n, own), (n * (channel.k - 1), other))
    mean = sum(count * rate for count, rate in parts)
    sign = 1.0 if total > mean else -1.0

    def exponent(tilt: float) -> float:
        sums = sum(count * math.log1p(rate * math.expm1(sign * tilt)) for count, rate in parts)
        return sums - sign * tilt * total

    # Chernoff: every tilt gives a bound, so a rough minimum is as valid as the best one.
    best = minimize_scalar(exponent, bounds=(0.0, STEEPEST), method="bounded", options={"xatol": 1e-6})
    return min(1.0, 2 * math.exp(min(0.0, float(best.fun))))


def _rates(channel: Channel, rates: Rates) -> tuple[Floats, Floats]:
    if not need(channel, Supporting).rates_vary:
        return np.array(float(rates.own)), np.array(float(rates.other))
    pairs = [rates_of(channel, code) for code in channel.codes()]
    own, other = zip(*[(float(one[0]), float(one[1])) for one in pairs if one is not None], strict=True)
    return np.array(own), np.array(other)
