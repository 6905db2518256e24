"""Masks: a random subset of the items that is likelier if it contains any item of the person."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, cast

from sottovoce.core.arithmetic.rational import odds
from sottovoce.core.channel.finite.hitting import MAX_MOST, Hitting, hit_units
from sottovoce.core.domain import Domain
from sottovoce.core.domain.itemsets import SetDomain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon, check_integer, shown
from sottovoce.core.question import SetShares
from sottovoce.core.statistic.items import CountItems


def build(domain: Domain, *, epsilon: Any, picked: int | None = None) -> Mechanism:
    """A random subset of the items, likelier if it contains any item of the person: for "tick all that apply".

    Law: m fillers join the d items, and a person who holds fewer than m items also holds the first fillers. A report is
        a w-subset of the n = d + m elements, e**epsilon times as likely if it contains an element held. With u = 1 -
        C(n - m, w) / C(n, w) and Z = 1 + (e**epsilon - 1) u it contains an element held with P = e**epsilon w / (n Z),
        another one with q = (e**epsilon w / n - (e**epsilon - 1) (1 - u) w / (n - m)) / Z.
    Privacy: every report has one of two probabilities, whose ratio is e**epsilon.
    Estimator: (count / n - q) / (P - q) for the share of each item. Filler number t is held by those with fewer than
        m - t items, so that fillers give the distribution of the number of items.
    Cost: n bits. By default w has the least variance of a rare item, q (1 - q) / (P - q)**2; it grows with m, where
        that of padding and sampling grows with m**2.
    Reference: Wang, Huang, Nie, Wang, Xu, Yang, "PrivSet: set-valued data analyses with local differential privacy",
        INFOCOM 2018.
    """
    return masked("mask", domain, epsilon, picked)


def padding_sampling(domain: Domain, *, epsilon: Any) -> Mechanism:
    """Padding and sampling: one of the items of a person, padded to m, through randomized response.

    Law: as `mask` with w = 1: each element held is reported with e**epsilon / (e**epsilon m + n - m), every other one
        with a probability that is e**epsilon times smaller.
    Privacy: e**epsilon. Sampling is taken into account: randomized response after it spends ln(m (e**epsilon - 1) + 1).
    Estimator: (count / n - q) / (P - q) for the share of each item.
    Cost: an index. The variance of a rare item grows with d.
    Reference: Wang, Li, Jha, "Locally differentially private frequent itemset mining", IEEE S&P 2018.
    """
    return masked("padding-sampling", domain, epsilon, 1)


def masked(name: str, domain: Domain, epsilon: Any, picked: int | None) -> Mechanism:
    """The mechanism with subsets of so many elements; None for those of the least variance."""
    budget = check_epsilon(name, epsilon)
    sets = checked_sets(name, domain)
    items, most, ratio = len(sets.labels()), sets.most, odds(budget)
    if most > MAX_MOST:
        raise ParameterError(
            f"The 'domain' parameter of {name} must have at most {MAX_MOST} items in an answer.", str(most)
        )
    size = best_size(items, most, ratio) if picked is None else check_integer("picked", name, picked, 1, items)
    channel = Hitting(items, most, size, hit_units(items + most, most, size, ratio))
    return Mechanism(name, SetShares(sets), channel, budget, CountItems())


def checked_sets(name: str, domain: Domain) -> SetDomain:
    """The domain as sets of items; another one is refused."""
    if domain.listed is None:
        sentence = f"The 'domain' parameter of {name} must have sets of items as answers, such as Sets([...], most=3)."
        raise ParameterError(sentence, shown(domain), parameter="domain")
    return cast(SetDomain, domain)


def best_size(items: int, most: int, ratio: Fraction, *, spread: bool = False) -> int:
    """The number of elements of a report with the least variance of a rare item, by its closed form."""
    return least_variance(items, most, ratio, spread=spread)[1]


def least_variance(items: int, most: int, ratio: Fraction, *, spread: bool = False) -> tuple[float, int]:
    """The least n times variance of a rare item, and its number of elements of a report.

    With `spread`, these items are cells, and the cell of a rare item may be one that a person holds.
    """
    n, e = items + most, float(ratio)
    shared = 1 - (1 - 1 / items) ** most if spread else 0.0
    least, size, missed = float("inf"), 1, 1.0
    for w in range(1, items + 1):
        missed *= (items - w + 1) / (n - w + 1)
        hits = 1 + (e - 1) * (1 - missed)
        own = e * w / n / hits
        other = (e * w / n - (e - 1) * missed * w / items) / hits
        other += shared * (own - other)
        variance = other * (1 - other) / (own - other) ** 2 if own > other else float("inf")
        if variance < least:
            least, size = variance, w
        if variance > 2 * least:  # it falls once and then rises
            break
    return least, size
