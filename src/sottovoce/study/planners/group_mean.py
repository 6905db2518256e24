"""Plans for means by group: which method, which key, how the budget is split, and which groups are estimable."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel import Channel
from sottovoce.core.channel.compose.keyed import neutral_law, odds_left
from sottovoce.core.channel.facets import outputs_of
from sottovoce.core.domain import Pair
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange import codec
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.registry import builder
from sottovoce.estimate.group_mean.law import GroupLaw, Totals, key_law, reading_law
from sottovoce.estimate.group_mean.power import least_gap
from sottovoce.estimate.group_mean.ratio import Ratios
from sottovoce.estimate.group_mean.truth import Crowd, value_numbers
from sottovoce.estimate.request import Target
from sottovoce.mechanisms.group.common import KEYS, NOTHING_LEFT, group_key
from sottovoce.study.planners.base import OWNER, Expectation, Option, Planner, Request, RootWays, no_method

Floats = NDArray[np.float64]
METHODS = ("group-laplace", "group-bernoulli", "group-nprr", "group-piecewise", "group-designed")
LEVELS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32)
# Shares of the budget for the value: first these, then steps to either side of the best so far. Programs take longer.
SPLITS = tuple(Decimal(place) / 20 for place in (3, 5, 7, 9, 11, 13, 15, 17, 19, 20))
FINER = (Decimal(1) / 20, Decimal(1) / 40)
FEW_SPLITS = tuple(Decimal(place) / 20 for place in (6, 10, 14, 17, 20))
FEW_FINER = (Decimal(1) / 10, Decimal(1) / 20)
CLOSE = 1.005  # variances this near to the least count as equal: the smaller report comes first
_LEAST_PART = Decimal("0.01")


@dataclass(frozen=True)
class Inner:
    """An inner channel with everything that its variance for groups depends on, except the key."""

    method: str
    part: Decimal  # of epsilon, for the value
    options: tuple[tuple[str, Any], ...]
    channel: Channel
    left: Fraction  # odds that remain for the key
    law: tuple[Fraction, Floats, tuple[float, ...]]
    moments: tuple[Floats, Floats, Floats]

    def totals(self, crowd: Crowd, key: str, n: float) -> Totals:
        """The expected sums of n participants with one of the keys."""
        law = GroupLaw(key_law(group_key(len(crowd.shares), self.left, key)), *self.law)
        sizes = n * crowd.shares
        gap, read, square = self.moments
        return Totals(law, n, sizes, sizes * gap, sizes * read, sizes * square)


@dataclass(frozen=True)
class GroupCandidate:
    """An inner channel behind a key, with the exact variances of sizes and means of one report."""

    inner: Inner
    key: str
    ratios: Ratios

    @cached_property
    def variances(self) -> Floats:
        """n times the variance of each group's mean."""
        return self.ratios.variances_at_truth()

    @cached_property
    def average(self) -> float:
        """Average of the variances over the groups."""
        return float(self.variances.mean())

    @property
    def method(self) -> str:
        """Name of the option, with the parameters that differ from others of the same mechanism."""
        options = "".join(f", {name}={value}" for name, value in self.inner.options if name != "prior")
        return f"{self.inner.method} ({self.key} key, {self.inner.part.normalize():f} for the value{options})"

    def build(self, domain: Pair, epsilon: Decimal) -> Mechanism:
        """The mechanism itself."""
        options = dict(self.inner.options)
        build = builder(self.inner.method)
        return build(domain, epsilon=epsilon, value_epsilon=self.inner.part, key=self.key, **options)


@dataclass(frozen=True, slots=True)
class GroupPlanner(Planner):
    """Methods, keys and splits of the budget, ranked by the exact variance of a group's mean, averaged over the groups.

    Without a prior, groups are assumed to have equal shares and values to be spread evenly.
    """

    measure: ClassVar[str] = "a group's mean, root mean square over the groups"

    domain: Pair
    crowd: Crowd
    informed: bool  # of the values
    methods: tuple[str, ...]
    target: Target

    @property
    def subject(self) -> str:
        return f"Means of {len(self.crowd.shares)} groups"

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates = search(self.domain, epsilon, self.crowd, self.methods, informed=self.informed, target=self.target)
        ranked = rank(candidates)
        if not ranked:
            raise no_method(epsilon, self.methods)
        least = min(one.average for one in ranked)
        options: list[Option] = []
        for one in ranked:
            mechanism = one.build(self.domain, epsilon)
            size = codec.payload_bytes(mechanism.channel)
            ratio = math.sqrt(one.average / least)
            reason = "no method has a smaller error." if ratio == 1 else f"{ratio:.4g} times the smallest error."
            expected = () if options else self._expected(one, mechanism)
            options.append(Option(one.method, mechanism, math.sqrt(one.average), size, reason, expected=expected))
        return RootWays(tuple(options), math.sqrt(least))

    def _expected(self, first: GroupCandidate, mechanism: Mechanism) -> tuple[Expectation, ...]:
        """The error of each group with one participant, and the participants from which on it is estimable."""
        groups = zip(self.domain.group.labels(), first.variances, self.crowd.needed(mechanism), strict=True)
        return tuple(Expectation(label, math.sqrt(variance), math.ceil(count)) for label, variance, count in groups)

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterator[str]:
        errors = [one.std_error for one in best.expected]
        least, most = f"{min(errors):.4g}", f"{max(errors):.4g}"
        if least == most:
            yield f"The standard error of each group is {most}."
        else:
            yield f"Standard errors of the groups are from {least} to {most}."
        if len(errors) > 1:
            pair = np.sort(np.argsort(errors, kind="stable")[-2:])
            gap = least_gap(best.mechanism, self.crowd, pair, participants)
            one, two = (best.expected[place].label for place in pair)
            yield (
                f"The means of groups {one!r} and {two!r} appear in their right order with a probability of 95 % if"
                f" they differ by {gap:.4g}."
            )
        small = [one.label for one in best.expected if one.needed > participants]
        if not small:
            yield "All groups are estimable."
            return
        named = ", ".join(map(repr, small[:8])) + (" and more" if len(small) > 8 else "")
        needed = max(one.needed for one in best.expected)
        yield (
            f"{len(small)} of {len(errors)} groups are not estimable ({named}): that takes {needed:,} participants or a"
            " larger epsilon."
        )


def planner(request: Request) -> GroupPlanner:
    """Checks the request; the prior is a pair of the shares of the groups and the priors of their values.

    Either may be None. Priors: one for all groups (a `Prior`, or answers of earlier days), or a mapping or list with
    one for each.
    """
    request.refuse_mechanism()
    domain = request.question.domain
    if not isinstance(domain, Pair):
        raise reject("question", OWNER, "about a Pair of groups and numbers", domain)
    prior = (None, None) if request.prior is None else request.prior
    if not isinstance(prior, tuple) or len(prior) != 2:
        raise reject("prior", OWNER, "a pair of the shares of the groups and the priors of their values", prior)
    shares, priors = prior
    crowd = Crowd.of(domain, shares, priors, OWNER)
    return GroupPlanner(domain, crowd, priors is not None, tuple(request.listed(list(METHODS))), request.target)


def search(
    domain: Pair,
    budget: Decimal,
    crowd: Crowd,
    methods: Sequence[str],
    *,
    informed: bool = False,
    target: Target = Target.POPULATION,
) -> list[GroupCandidate]:
    """The best split of each method with each key."""
    candidates: list[GroupCandidate] = []
    for method in methods:
        for options in _variants(method, crowd, informed):
            best = _best_splits(domain, budget, crowd, method, options, target)
            candidates += best.values()
    least: dict[tuple[str, str], GroupCandidate] = {}
    for one in sorted(candidates, key=lambda one: one.average):
        least.setdefault((one.inner.method, one.key), one)
    return list(least.values())


def rank(candidates: Sequence[GroupCandidate]) -> list[GroupCandidate]:
    """Least variance first; among those that count as equal to the first, the smallest reports."""
    least = min((one.average for one in candidates), default=0.0)

    def place(one: GroupCandidate) -> tuple[bool, float, float]:
        bits = (len(one.variances) - 1).bit_length() if one.key == "grr" else len(one.variances)
        close = one.average <= CLOSE * least
        return not close, bits + one.inner.channel.payload_bits if close else 0, one.average

    return sorted(candidates, key=place)


def _variants(method: str, crowd: Crowd, informed: bool) -> Iterator[tuple[tuple[str, Any], ...]]:
    """Options of a method that are compared by their variance."""
    if method == "group-nprr":
        yield from ((("k", k),) for k in LEVELS)
    elif method == "group-designed":
        yield ()
        yield (("objective", "worst-case"),)
        if informed and all(prior is crowd.priors[0] for prior in crowd.priors):
            yield (("objective", "prior"), ("prior", crowd.priors[0]))
    else:
        yield ()


def _best_splits(
    domain: Pair, budget: Decimal, crowd: Crowd, method: str, options: tuple[tuple[str, Any], ...], target: Target
) -> dict[str, GroupCandidate]:
    """For each key the split of least variance: a coarse grid, then finer steps around its best."""
    tried: dict[Decimal, Inner | None] = {}

    def at(part: Decimal) -> Inner | None:
        if part not in tried:
            tried[part] = inner_at(domain, budget, part, crowd, method, options) if 0 < part <= budget else None
        return tried[part]

    def of(key: str, parts: Sequence[Decimal]) -> list[GroupCandidate]:
        built = [inner for inner in map(at, parts) if inner is not None]
        return [
            GroupCandidate(inner, key, ratios)
            for inner in built
            if (ratios := _ratios(inner, crowd, key, target)) is not None
        ]

    best: dict[str, GroupCandidate] = {}
    splits, finer = (FEW_SPLITS, FEW_FINER) if method == "group-designed" else (SPLITS, FINER)
    for key in KEYS:
        listed = of(key, [_round(budget * share, budget) for share in splits])
        for step in finer:
            if listed:
                now = min(listed, key=lambda one: one.average)
                near = [_round(now.inner.part + sign * step * budget, budget) for sign in (-1, 1)]
                listed += of(key, near)
        if listed:
            best[key] = min(listed, key=lambda one: one.average)
    return best


def _round(part: Decimal, budget: Decimal) -> Decimal:
    """To four digits, for readable plans; never above the budget."""
    if part <= 0:
        return Decimal(0)
    digit = Decimal(1).scaleb(part.adjusted() - 3)
    return min(part.quantize(digit), budget)


def inner_at(
    domain: Pair, budget: Decimal, part: Decimal, crowd: Crowd, method: str, options: tuple[tuple[str, Any], ...]
) -> Inner | None:
    """The inner channel of one part of the budget; None if that leaves nothing for the key."""
    if part < _LEAST_PART * budget:
        return None
    try:
        channel = builder(method.removeprefix("group-"))(domain.value, epsilon=part, **dict(options)).channel
    except ParameterError:
        return None
    neutral = neutral_law(channel)
    left = odds_left(odds(budget), channel, neutral)
    if left <= NOTHING_LEFT:
        return None
    low, high, origin = value_numbers(domain)
    law = reading_law(channel, neutral)
    moments = crowd.moments(channel, law[0], (float(low + origin), float(high + origin)))
    return Inner(method, part, options, channel, left, law, moments)


def _ratios(inner: Inner, crowd: Crowd, key: str, target: Target = Target.POPULATION) -> Ratios | None:
    """Sizes and sums of one report, with exact covariances; None if the key is too weak to distinguish groups.

    A subset of one group is randomized response, which is tried separately.
    """
    try:
        chosen = group_key(len(crowd.shares), inner.left, key)
        if key == "subset" and outputs_of(chosen) is not None:
            return None
        totals = inner.totals(crowd, key, 1.0)
    except ParameterError:
        return None
    size, mixed, total = totals.covariance(target).diagonals()
    return Ratios(totals.sums, totals.sizes, total, mixed, size)
