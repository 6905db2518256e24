"""Before a survey: the power of a comparison of two groups, and the participants it needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from sottovoce.core.channel.facets import Supporting, need
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people, reject
from sottovoce.estimate.evidence import Ints, deviate
from sottovoce.estimate.group_mean.contrasts import check_difference, mean_covariances, power_at
from sottovoce.estimate.group_mean.truth import Crowd, keyed_channel
from sottovoce.estimate.request import Target, check_level


def power_of_difference(
    mechanism: Mechanism,
    difference: Any,
    *,
    n: int,
    shares: Any = None,
    priors: Any = None,
    groups: tuple[object, object] | None = None,
    level: float = 0.95,
) -> float:
    """The probability that n participants show a difference of this size of two groups, by default the first two."""
    count = check_people("n", "power_of_difference", n)
    check_level(level)
    gap = check_difference(difference, "power_of_difference")
    variance, _ = _one_report(mechanism, *_planned(mechanism, shares, priors, groups))
    return power_at(gap / math.sqrt(variance / count), level)


def order_probability(
    mechanism: Mechanism,
    difference: Any,
    *,
    n: int,
    shares: Any = None,
    priors: Any = None,
    groups: tuple[object, object] | None = None,
) -> float:
    """The probability that n participants show two means in their right order, if they differ by this much."""
    count = check_people("n", "order_probability", n)
    gap = check_difference(difference, "order_probability")
    variance, _ = _one_report(mechanism, *_planned(mechanism, shares, priors, groups))
    return float(ndtr(gap / math.sqrt(variance / count)))


def participants_for_order(
    mechanism: Mechanism,
    difference: Any,
    *,
    probability: float = 0.95,
    shares: Any = None,
    priors: Any = None,
    groups: tuple[object, object] | None = None,
) -> int:
    """How many participants show two means that differ by this much in their right order with this probability."""
    if isinstance(probability, bool) or not isinstance(probability, (int, float)) or not 0.5 < probability < 1:
        raise reject("probability", "participants_for_order", "a number in (0.5, 1)", probability)
    gap = check_difference(difference, "participants_for_order")
    variance, least = _one_report(mechanism, *_planned(mechanism, shares, priors, groups))
    return max(2, math.ceil((float(ndtri(probability)) / gap) ** 2 * variance), math.ceil(least))


def least_gap(mechanism: Mechanism, crowd: Crowd, pair: Ints, n: int, *, probability: float = 0.95) -> float:
    """The least difference of two means that n participants show in their right order with this probability."""
    variance, _ = _one_report(mechanism, crowd, pair)
    return float(ndtri(probability)) * math.sqrt(variance / n)


def group_error_ratio(mechanism: Mechanism) -> Fraction:
    """The share of reports that do not support the true group, exactly: with randomized response, of wrong groups.

    Reference: Raab, Bohr, Klede, Gmeiner, Eskofier, PoPETs 2025(4), section 5.2.
    """
    return 1 - need(keyed_channel(mechanism).key, Supporting).rates().own  # type: ignore[union-attr]  # keys have rates


@dataclass(frozen=True, slots=True)
class Needed:
    """The participants that a difference needs, and the assumptions."""

    participants: int
    difference: float
    power: float
    level: float
    compared: tuple[object, object]
    shares: tuple[float, ...]  # of all groups, in their order
    equal_shares: bool  # no shares were given
    even_values: bool  # no priors were given

    def __int__(self) -> int:
        return self.participants

    def explain(self) -> str:
        """The number and its assumptions in words."""
        one, two = self.compared
        shares = "all groups are equally large (no shares were given)"
        if not self.equal_shares:
            shares = f"the shares of the groups are {', '.join(f'{share:.3g}' for share in self.shares)}"
        values = (
            "are spread evenly over the range (no priors were given)" if self.even_values else "are as the priors say"
        )
        return (
            f"{self.participants:,} participants show a difference of {self.difference:g} between the means of groups"
            f" {one!r} and {two!r} with probability {self.power:g}, at the level {self.level:g}. This assumes that"
            f" {shares}, and that the values of each group {values}. Smaller groups take more participants."
        )


def participants_for(
    mechanism: Mechanism,
    difference: Any,
    *,
    power: float = 0.8,
    shares: Any = None,
    priors: Any = None,
    groups: tuple[object, object] | None = None,
    level: float = 0.95,
) -> Needed:
    """How many participants show a difference of this size with this probability, with both groups estimable.

    `shares` of the groups are equal unless given, `priors` of the values spread evenly: the result says so.
    """
    check_level(level)
    if isinstance(power, bool) or not isinstance(power, (int, float)) or not 1 - level < power < 1:
        raise reject("power", "participants_for", f"a number in ({1 - level:g}, 1)", power)
    gap = check_difference(difference, "participants_for")
    crowd, pair = _planned(mechanism, shares, priors, groups)
    variance, least = _one_report(mechanism, crowd, pair)
    # The far side adds to the power only if both are tiny; without it n is never too small.
    needed = (deviate(level) + float(ndtri(power))) ** 2
    labels = list(mechanism.domain.group.labels())  # type: ignore[attr-defined]
    return Needed(
        max(2, math.ceil(needed * variance / gap**2), math.ceil(least)),
        gap,
        power,
        level,
        (labels[pair[0]], labels[pair[1]]),
        tuple(crowd.shares.tolist()),
        shares is None,
        priors is None,
    )


def _planned(
    mechanism: Mechanism, shares: Any, priors: Any, groups: tuple[object, object] | None
) -> tuple[Crowd, Ints]:
    """The expected groups, and the two that are compared."""
    keyed_channel(mechanism)
    crowd = Crowd.of(mechanism.domain, shares, priors)  # type: ignore[arg-type]
    labels = list(mechanism.domain.group.labels())  # type: ignore[attr-defined]
    chosen = tuple(labels[:2]) if groups is None else tuple(groups)
    if len(chosen) != 2 or chosen[0] == chosen[1] or any(label not in labels for label in chosen):
        raise reject("groups", "a difference", "two different groups of the domain", groups)
    return crowd, np.array([labels.index(label) for label in chosen])


def _one_report(mechanism: Mechanism, crowd: Crowd, pair: Ints) -> tuple[float, float]:
    """n times the variance of the difference, and the n from which on both groups are estimable."""
    totals = crowd.totals(mechanism, 1.0)
    blocks = totals.covariance(Target.POPULATION)
    spread = mean_covariances(totals, blocks, pair[:, None], pair[None, :])
    least = crowd.needed(mechanism)[pair].max()
    return float(spread[0, 0] + spread[1, 1] - 2 * spread[0, 1]), float(least)
