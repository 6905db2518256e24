"""Shares of items from a tally of sets, and their exact predicted variance."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, cast

import numpy as np

from sottovoce.core.channel.facets import need
from sottovoce.core.channel.shapes import Itemised
from sottovoce.core.declared import delegated
from sottovoce.core.domain import Domain
from sottovoce.core.domain.itemsets import SetDomain
from sottovoce.core.errors import ParameterError, TooLargeError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_people, reject
from sottovoce.core.question import Question, SetShares
from sottovoce.core.statistic.asked import CountAsked, asked_bits
from sottovoce.core.statistic.items import CountItems
from sottovoce.estimate.axes import Axes
from sottovoce.estimate.candidates import CandidateCodes, candidate_codes
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Counted, Evidence, Floats, Functional, Ints, Offer
from sottovoce.estimate.frequency import asked
from sottovoce.estimate.frequency.asked import AskedEvidence, asked_rates
from sottovoce.estimate.frequency.base import MAX_COVARIANCE, SharesEvidence
from sottovoce.estimate.frequency.supports import BitsEvidence, SupportsEvidence
from sottovoce.estimate.reading import CodeReading
from sottovoce.estimate.request import Target
from sottovoce.estimate.set_shares.pairs import PairScores
from sottovoce.estimate.set_shares.rankings import METHODS, PlacesEvidence, in_order
from sottovoce.estimate.set_shares.sizes import SizesEvidence
from sottovoce.tally.tally import Tally

READS = (CountItems, CountAsked)
MANY = 1 << 30  # people of an expected tally: so many that each pair is asked about


class SetEstimate(Estimate):
    """Shares of items; `sizes` says how many items people hold."""

    __slots__ = ()

    @property
    def sizes(self) -> Estimate:
        """Return the share of people who hold 0, 1, 2, ... items, from the same reports."""
        evidence: Any = self.evidence
        sizes = getattr(evidence, "sizes", None)
        if sizes is None:
            raise ParameterError("The numbers of items are read from one tally with all items.")
        return Estimate.of(self.question, sizes, self.sources, simulated=self.simulated)

    @property
    def places(self) -> Estimate:
        """Return the mean place of each item of a ranking, 1 for the best, with intervals."""
        evidence = PlacesEvidence(self.evidence, self._ranked(), cast(SetShares, self.question))
        return Estimate.of(self.question, evidence, self.sources, simulated=self.simulated)

    def order(self, *, method: str = "borda", seed: int = 0) -> list[object]:
        """Return the items of a ranking in the order that the crowd prefers, the best one first.

        Args:
            method: "borda" orders items by their mean place. "kwiksort" sorts them around random pivots, as
                LDPKwikSort does.
            seed: Draws the pivots of "kwiksort".

        Returns:
            The items. Neighbours whose places differ by less than their errors may be in the wrong order.

        Raises:
            ParameterError: The answers are not rankings, or there is no such method.
        """
        ranked = self._ranked()
        if method not in METHODS:
            raise reject("method", "order", " or ".join(map(repr, METHODS)), method)
        return [ranked[item] for item in in_order(len(ranked), self.evidence.values(), method, seed)]

    def _ranked(self) -> tuple[object, ...]:
        """The items of a ranking whose pairs are all estimated."""
        domain = None if self.question is None else self.question.domain
        ranked = None if domain is None else domain.ranked
        if domain is None or ranked is None or len(self.evidence.values()) != len(domain.labels()):
            raise ParameterError("Only rankings, estimated with all of their pairs, have an order of items.")
        return tuple(ranked.labels())


class ItemShares(BitsEvidence):
    """Shares of items, each read from the reports that contain it; people may hold several."""

    estimate_class: ClassVar[type[Estimate]] = SetEstimate
    offers: ClassVar[frozenset[Offer]] = frozenset({Offer.RANGE, Offer.NULL_ERRORS, Offer.COVARIANCE})
    __slots__ = ()

    @property
    def axes(self) -> Axes:
        if self.counted is not None and self.counted.codes is None:
            return Axes.of("item", self.counted.mechanism.domain.labels())
        return SharesEvidence.axes.fget(self)  # type: ignore[attr-defined, no-any-return]

    def likelihood(self) -> Any:
        raise ParameterError("Reports about sets of items have no likelihood of shares alone.")

    @cached_property
    def pairs(self) -> PairScores:
        """The products of the scores of two items."""
        if self.counted is None:
            raise ParameterError("The covariance of shares needs the tally that they were read from.")
        if len(self.counts) > MAX_COVARIANCE:
            raise TooLargeError(f"The covariance of {len(self.counts)} shares is given up to {MAX_COVARIANCE}.")
        return PairScores.of(self.counted.mechanism)

    def covariance(self, target: Target) -> Floats:
        """The covariance where as many people hold two items together as halfway between the fewest and the most
        possible. How many do is not known; it matters little, since a report is as likely to contain both items if
        one of them is held."""
        result = self._covariance(target, 0.5)
        np.fill_diagonal(result, self.variances(target))
        return result

    def functional(self, weights: Floats, target: Target = Target.POPULATION) -> Functional:
        """Weighted sums. Their variances allow for any number of people who hold two items together."""
        rows = np.atleast_2d(weights)
        used = np.flatnonzero(rows.any(axis=0))
        rows = rows[:, used]
        values, variances = self.values()[used], self.variances(target)[used]
        covariances = [self._covariance(target, part)[np.ix_(used, used)] for part in (0.0, 0.5, 1.0)]
        for one in covariances:
            np.fill_diagonal(one, variances)
        middle = rows @ covariances[1] @ rows.T
        largest = np.maximum(covariances[0], covariances[2]), np.minimum(covariances[0], covariances[2])
        signs = rows[:, :, None] * rows[:, None, :]
        np.fill_diagonal(middle, (np.maximum(signs, 0) * largest[0] + np.minimum(signs, 0) * largest[1]).sum((1, 2)))
        return Functional(rows @ values, middle)

    def _covariance(self, target: Target, part: float) -> Floats:
        shares = np.clip(self.values(), 0, 1)
        fewest = np.maximum(0, shares[:, None] + shares - 1)
        both = fewest + part * (np.minimum(shares[:, None], shares) - fewest)
        return np.asarray(self.pairs.covariance(shares, both, target) / self.reports_of_pairs)

    @property
    @abstractmethod
    def reports_of_pairs(self) -> Any:
        """The number of reports by which the covariance of one of them is divided, for each two items."""

    @property
    def sizes(self) -> SizesEvidence | None:
        """The evidence about the number of items, where reports tell it."""
        return None

    def about(self, wanted: CandidateCodes) -> Self:
        """The evidence about some items only."""
        return cast(Self, self.restricted(*wanted))


@dataclass(frozen=True)
class SetSharesEvidence(ItemShares, SupportsEvidence):
    """counts[v] of n reports contain item v; the last cells of the tally are those of fillers."""

    reports_of_pairs = delegated("n")

    @property
    def sizes(self) -> SizesEvidence | None:
        """The evidence about the number of items, from the fillers of one tally."""
        if self.counted is None or self.counted.codes is not None:
            return None
        return SizesEvidence(self.counted.mechanism, self.n, self.counted.cells[len(self.counts) :])


@dataclass(frozen=True)
class OptionShares(ItemShares, AskedEvidence):
    """Of n reports asked[v] are about item v, and counts[v] of these say that it is held."""

    @property
    def reports_of_pairs(self) -> Floats:
        """n_u n_v over how many are expected to be asked about both."""
        counted = cast(Counted, self.counted)
        window = asked_bits(counted.mechanism.channel)[0]
        places = np.arange(window.k) if counted.codes is None else counted.codes
        steps = np.abs(places[:, None] - places)
        around = np.minimum(steps, window.k - steps)
        shared = np.maximum(window.asked - steps, 0) + np.where(around < steps, np.maximum(window.asked - around, 0), 0)
        with np.errstate(divide="ignore"):
            return np.asarray(np.outer(self.reports, self.reports) * window.k / (self.n * shared))


def evidence(mechanism: Mechanism, tally: Tally, candidates: Iterable[object] | None = None) -> ItemShares:
    """The evidence of a tally, about all items or some of them."""
    shares = from_cells(mechanism, tally.n, tally.cells)
    return shares if candidates is None else shares.about(candidate_codes(mechanism.question.choices, candidates))


def from_cells(mechanism: Mechanism, n: int, cells: Ints) -> ItemShares:
    """The evidence of cells."""
    if isinstance(mechanism.statistic, CountAsked):
        counts, trials = cells.reshape(2, -1)
        return OptionShares(counts, trials, n, *asked_rates(mechanism), Counted(mechanism, n, cells))
    items = need(mechanism.channel, Itemised).items
    own, other = map(float, need(mechanism.channel, Itemised).item_rates())
    return SetSharesEvidence(cells[:items], n, own, other, Counted(mechanism, n, cells))


def answer(source: Evidence, question: Question) -> Evidence | None:
    """Shares of items are read from their own reports only."""
    return None


def predicted_variance(mechanism: Mechanism, shares: Any, n: int, *, target: Target = Target.POPULATION) -> Floats:
    """The exact variance of the share of each item, for these true shares."""
    check_people("n", "variance", n)
    truth = check_shares(mechanism, shares)
    if isinstance(mechanism.statistic, CountAsked):
        return asked.predicted_variance(mechanism, truth, n, target)
    return CodeReading.of_rates(*map(float, need(mechanism.channel, Itemised).item_rates())).at(truth, target) / n


def expected_cells(mechanism: Mechanism, shares: Floats, n: int) -> Floats:
    """The cells of a tally of n reports on average, for these true shares; those of fillers are left at zero."""
    if isinstance(mechanism.statistic, CountAsked):
        own, other, part = asked_rates(mechanism)
        asked_about = np.full(len(shares), n * part)
        return np.concatenate([asked_about * (other + shares * (own - other)), asked_about])
    known = need(mechanism.channel, Itemised)
    own, other = map(float, known.item_rates())
    return np.concatenate([n * (other + shares * (own - other)), np.zeros(known.elements - known.items)])


def predicted_places(mechanism: Mechanism, before: Floats, target: Target = Target.POPULATION) -> Floats:
    """The variance of the mean place of each item, times the number of people, for these shares of pairs."""
    cells: Any = expected_cells(mechanism, before, MANY)
    domain = cast(SetDomain, mechanism.domain)
    ranked = cast(Domain, domain.ranked).labels()
    places = PlacesEvidence(from_cells(mechanism, MANY, cells), tuple(ranked), mechanism.question)
    return places.variances(target) * MANY


def check_shares(mechanism: Mechanism, shares: Any) -> Floats:
    """Shares of items, each from 0 to 1, of which people hold at most as many as they may."""
    domain = cast(SetDomain, mechanism.domain)
    try:
        truth = np.asarray(shares, float)
    except (TypeError, ValueError):
        truth = np.empty(0)
    items = len(domain.labels())
    if truth.shape != (items,) or not (truth.min() >= 0 and truth.max() <= 1):
        raise ParameterError(f"The 'shares' parameter of variance must be {items} shares from 0 to 1.")
    if truth.sum() > domain.most + 1e-9:
        raise ParameterError(
            f"The 'shares' parameter of variance must sum to at most {domain.most}, items of a person."
        )
    return truth
