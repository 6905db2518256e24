"""Plans for "tick all that apply": methods for sets of items, ranked by the exact error of a share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel.compose.options import MAX_ASKED
from sottovoce.core.domain.itemsets import SetDomain
from sottovoce.core.domain.ranking import Ranking
from sottovoce.core.domain.sets import Sets
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import reject
from sottovoce.core.question import SetShares
from sottovoce.core.registry import mechanism as build
from sottovoce.estimate.request import Target
from sottovoce.estimate.set_shares.evidence import predicted_places
from sottovoce.study.detect import smallest_share
from sottovoce.study.planners.base import (
    FOUND,
    OWNER,
    Option,
    Planner,
    Request,
    RootWays,
    TriedMechanism,
    found_sentence,
    no_method,
    shortest_first,
)

RARE = "rare"
OPTIONS = "options"
FEW_PAIRS = 500  # up to which all numbers of pairs asked are tried
_LESS = 0.995  # of a margin: less is not worth a remark


@dataclass(frozen=True, slots=True)
class SetSharesPlanner(Planner):
    """Without a prior people are assumed to hold half of the items that they may, all equally common; with the prior
    "rare" the error is that of an item that nobody holds."""

    domain: SetDomain
    truth: NDArray[np.float64]
    is_rare: bool
    methods: tuple[str, ...]
    target: Target

    @property
    def subject(self) -> str:
        return f"Shares of {len(self.domain.labels())} items, of which a person holds at most {self.domain.most}"

    @property
    def measure(self) -> str:
        return "the share of an item that nobody holds" if self.is_rare else "a share, root mean square over all items"

    def ways(self, epsilon: Decimal) -> RootWays:
        candidates: list[TriedMechanism] = []
        for name, options in self.tried():
            try:
                mechanism = build(name, self.domain, epsilon=epsilon, **options)
            except ParameterError:
                continue
            if any(mechanism.channel == other.mechanism.channel for other in candidates):
                continue  # the same reports under another name
            error = math.sqrt(float(np.mean(self.variances(mechanism))))
            shown = f"{name} ({options['asked']} at a time)" if options else name
            candidates.append(TriedMechanism(error, mechanism, shown))
        if not candidates:
            raise no_method(epsilon, self.methods)
        return shortest_first(candidates)

    def tried(self) -> Iterable[tuple[str, dict[str, Any]]]:
        """The methods with their options."""
        return ((name, {}) for name in self.methods)

    def variances(self, mechanism: Mechanism) -> NDArray[np.float64]:
        """Variances of the numbers that are asked for, times the number of people."""
        return np.asarray(mechanism.variance(self.truth, 1, target=self.target))

    def remarks(self, best: Option, epsilon: Decimal, participants: int) -> Iterable[str]:
        if self.domain.root is self.domain and self.domain.ranked is None and self.domain.most > 1:
            items = cast(Sets, self.domain).items
            fewer = build(best.method, Sets(items, self.domain.most - 1), epsilon=epsilon)
            rare = np.zeros(len(items))
            ratio = math.sqrt(float(fewer.variance(rare, 1)[0] / best.mechanism.variance(rare, 1)[0]))
            if ratio < _LESS:
                yield (
                    f"With at most {plural(self.domain.most - 1, 'item')} in an answer the margin of a rare item would"
                    f" shrink by {100 * (1 - ratio):.0f} %."
                )
        if self.domain.ranked is None:
            size = len(self.domain.labels())
            found = smallest_share(best.mechanism, participants, power=FOUND, among=size)
            if found is not None:
                yield found_sentence("An item", found, f"{size:,} items")


class MeanPlacesPlanner(SetSharesPlanner):
    """The prior has the share of people who put the first item of each pair before the second; without one, half."""

    measure: ClassVar[str] = "a mean place, root mean square over all items"
    __slots__ = ()

    @property
    def subject(self) -> str:
        return f"Mean places of {len(cast(Ranking, self.domain).items)} items"

    def tried(self) -> Iterable[tuple[str, dict[str, Any]]]:
        """Fewer pairs may be better than for shares: pairs that are asked together have an item in common."""
        for name in self.methods:
            yield name, {}
            if name == OPTIONS and len(self.truth) <= FEW_PAIRS:
                yield from ((name, {"asked": asked}) for asked in range(1, min(MAX_ASKED, len(self.truth)) + 1))

    def variances(self, mechanism: Mechanism) -> NDArray[np.float64]:
        return predicted_places(mechanism, self.truth, self.target)


def planner(request: Request) -> SetSharesPlanner:
    """Checks the request; the prior is the expected share of each item, or of each pair of a ranking."""
    request.refuse_mechanism()
    domain: Any = request.question.domain
    methods, size = tuple(request.registered(SetShares)), len(domain.labels())
    if not request.question.is_share:  # of pairs: the mean places of items
        pairs = np.full(size, 0.5) if request.prior is None else _shares(request.prior, domain)
        return MeanPlacesPlanner(domain, pairs, False, methods, request.target)
    is_rare = isinstance(request.prior, str) and request.prior == RARE
    if is_rare:
        truth = np.zeros(size)
    elif request.prior is None:
        truth = np.full(size, domain.most / (2 * size))
    else:
        truth = _shares(request.prior, domain)
    return SetSharesPlanner(domain, truth, is_rare, methods, request.target)


def _shares(prior: Any, domain: SetDomain) -> NDArray[np.float64]:
    try:
        shares = np.asarray(prior, float)
    except (TypeError, ValueError):
        shares = np.empty(0)
    size = len(domain.labels())
    inside = shares.shape == (size,) and shares.min() >= 0 and shares.max() <= 1
    if not inside or shares.sum() > domain.most + 1e-9:
        raise reject("prior", OWNER, f"{size} shares that sum to at most {domain.most}, or {RARE!r}", prior)
    return shares
