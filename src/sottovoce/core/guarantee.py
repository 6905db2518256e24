"""Guarantees: what a mechanism claims, and the check of its channel against that definition."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from sottovoce.core.arithmetic.rational import float_up, loss, odds, within
from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.closed_forms import MAX_SUMMED, delta
from sottovoce.core.channel.facets import Guarded, facet, outputs_of, stages_of
from sottovoce.core.errors import PrivacyError, SpecError
from sottovoce.core.params import MAX_DIGITS

GUARANTEES = ("pure", "approximate", "utility_optimised", "idealised")


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The guarantee that a text names.

    pure: no report is more than e**epsilon times as likely under one code as under another. approximate(delta): the
    same, up to a probability of delta; without a delta it is 0. utility_optimised(codes): the sensitive codes; every
    report keeps the ratio of a pure guarantee, except those that only one code, a non-sensitive one, can send.
    Without codes all of them are sensitive. idealised: pure in the arithmetic of real numbers.
    """

    kind: str
    delta: Decimal | None = None
    sensitive: frozenset[int] | None = None

    @classmethod
    def read(cls, text: object) -> Guarantee:
        """The guarantee of a text; each has one canonical text."""
        if isinstance(text, str):
            kind, _, rest = text.partition("(")
            inside = rest.removesuffix(")")
            if text in GUARANTEES:
                return cls(text)
            if kind == "metric":
                raise SpecError("A metric guarantee cannot be checked by this version, so it is refused.")
            if kind == "approximate" and inside != rest and _is_delta(inside):
                return cls(kind, delta=Decimal(inside))
            if kind == "utility_optimised" and inside != rest and (codes := _codes(inside)):
                return cls(kind, sensitive=frozenset(codes))
        raise SpecError(
            f"A guarantee is one of {', '.join(GUARANTEES)}, or approximate with its delta, such as"
            " 'approximate(0.000001)', or utility_optimised with the sensitive codes in rising order, such as"
            " 'utility_optimised(0,3)'."
        )

    def ratio(self, channel: Channel) -> Fraction:
        """The likelihood ratio that the guarantee bounds, exactly."""
        if self.sensitive is None:
            return channel.ratio()
        if max(self.sensitive) >= channel.inputs:
            raise SpecError(f"The sensitive codes of this {channel.kind} channel lie below {channel.inputs}.")
        found = self._guarded(channel)
        if found is None:
            raise PrivacyError(
                "A protected report can come from one value and not from another: the ratio is infinite."
            )
        return found

    def _guarded(self, channel: Channel) -> Fraction | None:
        """By the closed form of a node that has one, else report by report."""
        sensitive, known = self.sensitive or frozenset(), facet(channel, Guarded)
        if known is not None:
            return known.guarded_ratio(sensitive)
        outputs = outputs_of(channel)
        if (
            outputs is None
            or channel.publics
            or stages_of(channel)
            or not channel.codes_are_indices
            or outputs * channel.inputs > MAX_SUMMED
        ):
            raise SpecError(
                f"A utility-optimised guarantee is checked report by report; this {channel.kind} channel is too large"
                " for that, or its codes and reports are not numbered."
            )
        reports = filter(channel.contains, range(outputs))
        columns = ([channel.likelihood(report, code) for code in channel.codes()] for report in reports)
        return guarded_ratio(columns, sensitive)

    def broken_by(self, channel: Channel, epsilon: Decimal) -> str | None:
        """The loss of the channel, as text, if it exceeds this epsilon; None if the guarantee holds."""
        if self.delta is not None:
            found = delta(channel, odds(epsilon))
            kept = found <= Fraction(self.delta)
            return None if kept else f"delta {float(found):.6g} at epsilon {epsilon}, more than the {self.delta}"
        ratio = self.ratio(channel)
        return None if within(ratio, epsilon) else f"epsilon {float_up(loss(ratio)):.6g}, more than the {epsilon}"


def guarded_ratio(columns: Iterable[Sequence[Fraction]], sensitive: frozenset[int]) -> Fraction | None:
    """The worst ratio over all protected reports; None if infinite.

    A column holds the likelihoods of one report, code by code. (Murakami and Kawamoto 2019, Definition 2: reports
    that only one code, a non-sensitive one, can send are invertible; all others are protected, between any two codes.)
    """
    worst = Fraction(1)
    for column in columns:
        senders = [code for code, likelihood in enumerate(column) if likelihood]
        if not senders or (len(senders) == 1 and senders[0] not in sensitive):
            continue
        if len(senders) < len(column):
            return None
        worst = max(worst, max(column) / min(column))
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
