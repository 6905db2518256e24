"""Guarantees: what a mechanism claims, one class per kind, and the losses that add up.

Each guarantee checks a channel against its own definition, and states the loss of a report.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import ClassVar

from sottovoce.core.arithmetic.rational import float_up, loss, odds, within
from sottovoce.core.channel import closed_forms
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.closed_forms import Guarded
from sottovoce.core.channel.facets import facet, outputs_of, stages_of
from sottovoce.core.errors import PrivacyError, SpecError
from sottovoce.core.params import MAX_DIGITS, check_decimal, check_epsilon, decimal_text, reject
from sottovoce.core.spec_cost import effort, steps

LATER = {"metric": "A metric", "edge": "An edge"}  # kinds that have a name and no check
EPSILON, COMPOSITION = "epsilon", "composition"
_loss = lru_cache(maxsize=256)(loss)  # logarithms of many digits; a device has few mechanisms


@dataclass(frozen=True, slots=True)
class Loss:
    """An epsilon with its delta. A guarantee makes it (`Guarantee.loss`).

    `unit` is what epsilon is measured in, and `caveats` say under which conditions the loss holds. A sum keeps the
    caveats of all its parts, and losses in different units have no sum.
    """

    epsilon: Decimal
    delta: Decimal = Decimal(0)
    unit: str = EPSILON
    caveats: tuple[str, ...] = ()

    @classmethod
    def of(cls, epsilon: object, delta: object = 0) -> Loss:
        """A loss from an epsilon and a delta; both are checked."""
        failing = check_decimal("delta", COMPOSITION, delta)
        if not 0 <= failing < 1:
            raise reject("delta", COMPOSITION, "a number in [0, 1)", delta)
        return cls(check_epsilon(COMPOSITION, epsilon), failing)

    @property
    def is_pure(self) -> bool:
        """Whether epsilon alone bounds the ratio of all reports."""
        return not self.delta and not self.caveats and self.unit == EPSILON

    def __add__(self, other: Loss) -> Loss:
        """The loss of one person from two reports: epsilons and deltas add up."""
        return self._with(other, self.epsilon + other.epsilon, self.delta + other.delta)

    def worst(self, other: Loss) -> Loss:
        """The loss of a person who gives only one of two reports, whichever it is."""
        return self._with(other, max(self.epsilon, other.epsilon), max(self.delta, other.delta))

    def _with(self, other: Loss, epsilon: Decimal, delta: Decimal) -> Loss:
        if self.unit != other.unit:
            raise PrivacyError(
                f"A loss in {self.unit} and a loss in {other.unit} have no sum: account for them separately."
            )
        return Loss(epsilon, delta, self.unit, tuple(dict.fromkeys((*self.caveats, *other.caveats))))

    def __str__(self) -> str:
        also = f" with delta {float(self.delta):.3g}" if self.delta else ""
        conditions = f" ({'; '.join(self.caveats)})" if self.caveats else ""
        return f"{self.unit} {decimal_text(self.epsilon)}{also}{conditions}"


NOTHING = Loss(Decimal(0))


def sequential(losses: Sequence[Loss]) -> Loss:
    """The loss of one person from several reports: epsilons and deltas add up."""
    first, *others = losses or [NOTHING]
    for one in others:
        first += one
    return first


def parallel(losses: Sequence[Loss]) -> Loss:
    """The loss of people of whom none answers twice: the largest."""
    first, *others = losses or [NOTHING]
    for one in others:
        first = first.worst(one)
    return first


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a mechanism claims: by default that no report is more than e**epsilon times as likely under any other code.

    `str` is the canonical text of specifications. Accounts and a device's ledger add up the `loss` that it states.
    """

    kind: ClassVar[str]
    unit: ClassVar[str] = EPSILON  # losses in different units have no sum
    is_pure: ClassVar[bool] = False  # the bound holds for all reports, in exact arithmetic
    allows_floats: ClassVar[bool] = False  # channels may compute with floats; devices and audits check the claim

    @staticmethod
    def read(text: object) -> Guarantee:
        """The guarantee of a canonical text."""
        if isinstance(text, str):
            kind, bracket, rest = text.partition("(")
            if kind in LATER:
                raise SpecError(f"{LATER[kind]} guarantee cannot be checked by this version, so it is refused.")
            if kind in KINDS and (not bracket or rest.endswith(")")):
                guarantee = KINDS[kind].of(rest[:-1] if bracket else None)
                if guarantee is not None:
                    return guarantee
        raise SpecError(
            f"A guarantee is one of {', '.join(KINDS)}, or approximate with its delta, such as"
            " 'approximate(0.000001)', or utility_optimised with the sensitive codes in rising order, such as"
            " 'utility_optimised(0,3)'."
        )

    @classmethod
    def of(cls, inside: str | None) -> Guarantee | None:
        """The guarantee with this text in its brackets (None: without brackets); None if there is no such guarantee."""
        return cls() if inside is None else None

    def __str__(self) -> str:
        return self.kind

    @property
    def delta(self) -> Decimal | None:
        """The probability by which the ratio may fail; None if it never does."""
        return None

    @property
    def protects_all(self) -> bool:
        """Whether all reports and all pairs of codes count in the ratio."""
        return True

    # --- who accepts it, and its words ---------------------------------------------------------------
    def accepted_by(self, accept: Collection[str] = ()) -> bool:
        """Whether a device accepts it that names these kinds or texts; a pure guarantee needs no name."""
        return self.is_pure or self.kind in accept or str(self) in accept

    @property
    def remark(self) -> str:
        """What people are told beside an epsilon; nothing of a pure guarantee."""
        return "" if self.is_pure else str(self)

    def loss_text(self, epsilon: float, claimed: Decimal, delta: Fraction | None = None) -> str:
        """The loss that an audit computed, beside the claim."""
        return f"{self.unit} {epsilon:.9g} of {claimed} claimed"

    # --- the ratio that it bounds --------------------------------------------------------------------
    def ratio(self, channel: Channel) -> Fraction:
        """The largest likelihood ratio of a report that the guarantee protects, exactly."""
        return channel.ratio()

    def pair_ratio(self, channel: Channel, one: int, other: int) -> Fraction | None:
        """The largest likelihood ratio of a protected report between two codes, exactly; None if infinite."""
        return _largest([column[one], column[other]] for column in self.protected(_columns(channel)))

    def worst_ratio(self, columns: Iterable[Sequence[Fraction]]) -> Fraction | None:
        """The largest ratio of protected reports, each given by its likelihoods code by code; None if infinite."""
        return _largest(self.protected(columns))

    def protected(self, columns: Iterable[Sequence[Fraction]]) -> Iterable[Sequence[Fraction]]:
        """The reports whose likelihoods the guarantee bounds."""
        return columns

    def among(self, codes: Sequence[object]) -> Guarantee:
        """This guarantee for some codes, numbered by their places."""
        return self

    # --- the check -----------------------------------------------------------------------------------
    def broken_by(self, channel: Channel, epsilon: Decimal) -> str | None:
        """The loss of the channel, as text, if it exceeds this epsilon; None if the guarantee holds."""
        ratio = self.ratio(channel)
        if within(ratio, epsilon):
            return None
        return f"{self.unit} {float_up(loss(ratio)):.6g}, more than the {epsilon}"

    def is_within(self, limit: Decimal, channel: Channel, claimed: Decimal) -> bool:
        """Whether one report of a channel with this claim stays below the limit of a device."""
        return self.broken_by(channel, limit) is None

    # --- what adds up ----------------------------------------------------------------------------------
    @property
    def caveat(self) -> str:
        """What a sum of losses must say if this guarantee is among them; nothing of pure and approximate ones."""
        return ""

    def loss(self, epsilon: Decimal) -> Loss:
        """What one report loses by this claim."""
        return Loss(epsilon, self.delta or Decimal(0), self.unit, (self.caveat,) if self.caveat else ())

    def charge(self, ratio: Fraction) -> Loss:
        """What a device's ledger adds up for a report of this ratio, which never fails: there is no delta."""
        return replace(self.loss(_loss(ratio)), delta=Decimal(0))

    def effort(self, channel: Channel) -> int:
        """Steps of exact arithmetic that the check takes, bounded from sizes alone."""
        return effort(channel).ratio


@dataclass(frozen=True, slots=True)
class Pure(Guarantee):
    """Every report, in exact arithmetic."""

    kind: ClassVar[str] = "pure"
    is_pure: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Approximate(Guarantee):
    """A pure guarantee up to a probability of delta; without a delta it is 0.

    A delta belongs to the claimed epsilon, and a limit bounds that epsilon.
    """

    kind: ClassVar[str] = "approximate"
    delta: Decimal | None = None

    def __post_init__(self) -> None:
        if self.delta is not None and not (isinstance(self.delta, Decimal) and _is_delta(decimal_text(self.delta))):
            raise SpecError("The delta of an approximate guarantee is a decimal number between 0 and 1.")

    @classmethod
    def of(cls, inside: str | None) -> Approximate | None:
        if inside is None:
            return cls()
        return cls(Decimal(inside)) if _is_delta(inside) else None

    def __str__(self) -> str:
        return self.kind if self.delta is None else f"{self.kind}({decimal_text(self.delta)})"

    def loss_text(self, epsilon: float, claimed: Decimal, delta: Fraction | None = None) -> str:
        if delta is None:
            return Guarantee.loss_text(self, epsilon, claimed)
        return f"{self.unit} {claimed} with delta {float(delta):.9g}"

    def broken_by(self, channel: Channel, epsilon: Decimal) -> str | None:
        if self.delta is None:
            return Guarantee.broken_by(self, channel, epsilon)
        exact = closed_forms.delta(channel, odds(epsilon))
        if exact <= Fraction(self.delta):
            return None
        return f"delta {float(exact):.6g} at epsilon {epsilon}, more than the {self.delta}"

    def is_within(self, limit: Decimal, channel: Channel, claimed: Decimal) -> bool:
        if self.delta is None:
            return Guarantee.is_within(self, limit, channel, claimed)
        return claimed <= limit and self.broken_by(channel, claimed) is None

    def effort(self, channel: Channel) -> int:
        cost = effort(channel)
        return cost.ratio if self.delta is None else cost.ratio + cost.delta


@dataclass(frozen=True, slots=True)
class UtilityOptimised(Guarantee):
    """A pure guarantee, except for reports that only one code, a non-sensitive one, can send.

    Without codes all of them are sensitive. (Murakami and Kawamoto 2019, Definition 2: such reports are invertible;
    all others are protected, between any two codes.)
    """

    kind: ClassVar[str] = "utility_optimised"
    sensitive: frozenset[int] | None = None

    def __post_init__(self) -> None:
        if not all(type(code) is int and code >= 0 for code in self.sensitive or ()):
            raise SpecError("The sensitive codes of a utility-optimised guarantee are integers from 0 on.")

    @classmethod
    def of(cls, inside: str | None) -> UtilityOptimised | None:
        if inside is None:
            return cls()
        codes = _codes(inside)
        return cls(frozenset(codes)) if codes else None

    def __str__(self) -> str:
        return self.kind if self.sensitive is None else f"{self.kind}({','.join(map(str, sorted(self.sensitive)))})"

    @property
    def protects_all(self) -> bool:
        return self.sensitive is None

    @property
    def caveat(self) -> str:
        return "" if self.protects_all else "not counting reports that reveal a non-sensitive answer"

    def ratio(self, channel: Channel) -> Fraction:
        if self.sensitive is None:
            return channel.ratio()
        if not self.sensitive or max(self.sensitive) >= channel.inputs:
            raise SpecError(f"One or more sensitive codes of this {channel.kind} channel lie below {channel.inputs}.")
        known = facet(channel, Guarded)
        ratio = self.worst_ratio(_columns(channel)) if known is None else known.guarded_ratio(self.sensitive)
        if ratio is None:
            raise PrivacyError(
                "A protected report can come from one value and not from another: the ratio is infinite."
            )
        return ratio

    def protected(self, columns: Iterable[Sequence[Fraction]]) -> Iterator[Sequence[Fraction]]:
        for column in columns:
            senders = [code for code, likelihood in enumerate(column) if likelihood]
            if self.sensitive is None or len(senders) != 1 or senders[0] in self.sensitive:
                yield column

    def among(self, codes: Sequence[object]) -> UtilityOptimised:
        if self.sensitive is None:
            return self
        return UtilityOptimised(frozenset(place for place, code in enumerate(codes) if code in self.sensitive))

    def effort(self, channel: Channel) -> int:
        cost = effort(channel)
        if self.sensitive is None or facet(channel, Guarded) is not None:
            return cost.ratio
        return cost.ratio + channel.inputs * (outputs_of(channel) or 0) * cost.likelihood * steps(cost.bits)


@dataclass(frozen=True, slots=True)
class Idealised(Guarantee):
    """A pure guarantee in the arithmetic of real numbers; the sampler computes with floats."""

    kind: ClassVar[str] = "idealised"
    allows_floats: ClassVar[bool] = True
    caveat: ClassVar[str] = "in the arithmetic of real numbers"


PURE, IDEALISED = Pure(), Idealised()
KINDS: dict[str, type[Guarantee]] = {one.kind: one for one in (Pure, Approximate, UtilityOptimised, Idealised)}


def _columns(channel: Channel) -> Iterator[list[Fraction]]:
    """The likelihoods of each report, code by code."""
    outputs = outputs_of(channel)
    if (
        outputs is None
        or channel.publics
        or stages_of(channel)
        or not channel.codes_are_indices
        or outputs * channel.inputs > closed_forms.MAX_SUMMED
    ):
        raise SpecError(
            f"This guarantee is checked report by report; this {channel.kind} channel is too large for that, or its"
            " codes and reports are not numbered."
        )
    reports = filter(channel.contains, range(outputs))
    return ([channel.likelihood(report, code) for code in channel.codes()] for report in reports)


def _largest(columns: Iterable[Sequence[Fraction]]) -> Fraction | None:
    """The largest ratio of two likelihoods of one report, at least 1; None if infinite."""
    worst = Fraction(1)
    for column in filter(any, columns):
        low = min(column)
        if not low:
            return None
        worst = max(worst, max(column) / low)
    return worst


def _is_delta(digits: str) -> bool:
    """Whether this is the canonical text of a delta between 0 and 1, of bounded length."""
    plain = digits.startswith("0.") and digits.isascii() and digits[2:].isdecimal()
    return plain and digits[-1] != "0" and len(digits) <= MAX_DIGITS


def _codes(listed: str) -> list[int] | None:
    """Codes in rising order, separated by commas; None for any other text."""
    parts = listed.split(",")
    if not all(part.isascii() and part.isdecimal() and len(part) < 16 for part in parts):
        return None
    codes = [int(part) for part in parts]
    rising = all(low < high for low, high in pairwise(codes))
    return codes if rising and ",".join(map(str, codes)) == listed else None
