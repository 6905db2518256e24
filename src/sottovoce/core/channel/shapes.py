"""Facets that give the node by which a channel is read and counted, and what follows from support rates.

A statistic, a kernel or a check that works for one shape of channel asks for its facet; a composition answers with the
node inside it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.channel.base import NO_WORDS, Channel, Words, nested
from sottovoce.core.channel.facets import Contrast, Facet, Numbered, Rates, Supporting, facet, rates_of, rounding_of

if TYPE_CHECKING:
    from sottovoce.core.channel.compose.each import Each
    from sottovoce.core.channel.compose.histogram import Histogram
    from sottovoce.core.channel.compose.keyed import Keyed
    from sottovoce.core.channel.compose.maps import AskedMap
    from sottovoce.core.channel.finite.block import Block
    from sottovoce.core.channel.vector.key_values import AskedKey, KeyEnds
    from sottovoce.core.channel.vector.sphere import Cap, SummandScale


class Indexed(Channel, Numbered):
    """A channel whose report is the index of one of its outputs."""

    __slots__ = ()

    @property
    def payload_bits(self) -> int:
        return (self.outputs - 1).bit_length()

    def contains(self, report: int) -> bool:
        return 0 <= report < self.outputs


class Bundled(Facet):
    """A code holds a code of each of several channels, and a report holds their reports side by side."""

    lacking = "are not those of channels side by side"
    __slots__ = ()

    @property
    @abstractmethod
    def bundle(self) -> Each:
        """The node that holds the channels."""


class Grouped(Facet):
    """A code is a group and a value; the group is randomized first."""

    lacking = "are not those of groups and values"
    __slots__ = ()

    @property
    @abstractmethod
    def keyed(self) -> Keyed:
        """The node that randomizes the group."""


class Binwise(Facet):
    """A report holds a number for each bin of a histogram, and a tally adds up the numbers of each bin."""

    lacking = "are not those of the bins of a histogram"
    __slots__ = ()

    @property
    @abstractmethod
    def histogram(self) -> Histogram:
        """The node that holds the bins."""


class Asking(Facet):
    """Public words choose some codes, and a report has a bit for each of them."""

    lacking = "are not bits of codes that public words choose"
    __slots__ = ()

    @property
    @abstractmethod
    def asked(self) -> tuple[AskedMap, Rates]:
        """The public choice of codes, and the rates of the bits of those that are asked about."""


class Capped(Facet):
    """A report is a vector that lies near the answer with a known probability."""

    lacking = "are not vectors near the answer"
    __slots__ = ()

    @property
    @abstractmethod
    def cap(self) -> Cap:
        """The node that draws the vector."""

    @abstractmethod
    def reading(self) -> SummandScale:
        """How the summands of a tally are read."""

    @abstractmethod
    def zero_squares(self) -> Sequence[float]:
        """The squared cosines of the axis to which a zero vector is moved."""


class Mixed(Facet):
    """A public coin, which does not depend on the answer, chooses one of several channels; a report shows which."""

    lacking = "do not show which of several channels was chosen"
    __slots__ = ()

    @property
    @abstractmethod
    def alternatives(self) -> tuple[tuple[int, Channel], ...]:
        """The channels, each with its weight; the weights sum to 2**53."""


class Blocked(Facet):
    """A report lies in the public set of its code with a known probability, and is uniform inside and outside."""

    lacking = "do not lie in public sets"
    __slots__ = ()

    @property
    @abstractmethod
    def block(self) -> Block:
        """The node that holds the sets."""


class PairRates(NamedTuple):
    """How often a report contains two given elements: both are held, one is, neither is."""

    both: Fraction
    one: Fraction
    neither: Fraction


class Naming(Facet):
    """An answer is a set of items, and a report names some items."""

    lacking = "name no items"
    __slots__ = ()

    items: int
    most: int  # items that a person may hold

    @abstractmethod
    def holds(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        """Whether a report contains an item, or a filler."""

    def denies(self, report: int, element: int, public: Words = NO_WORDS) -> bool:
        """Whether a report says of an item that it is not held."""
        return False

    @abstractmethod
    def item_rates(self) -> Rates:
        """How often a report about an element contains it: where the person holds it, and where not."""

    @abstractmethod
    def pair_rates(self) -> PairRates:
        """How often a report about two given elements contains both."""


class Itemised(Naming):
    """A report contains some elements: items, and fillers of those who hold few. With them all hold as many."""

    lacking = "are not sets of items"
    __slots__ = ()

    picked: int  # elements of a report

    @property
    @abstractmethod
    def elements(self) -> int:
        """How many elements there are: the items first, then the fillers."""


class ByEnds(Facet):
    """An answer is keys with numbers, and a report is about the keys held or about the ends of their numbers."""

    lacking = "are not about keys and ends"
    __slots__ = ()

    @property
    @abstractmethod
    def by_ends(self) -> KeyEnds:
        """The node that chooses between keys and ends."""


class ByState(Facet):
    """An answer is keys with numbers, and a report is about the state of one key that public words choose."""

    lacking = "are not about one key"
    __slots__ = ()

    @property
    @abstractmethod
    def by_state(self) -> AskedKey:
        """The node that randomizes the state."""


class Clamped(Facet):
    """Reports are clamped to a range, which biases their mean by a little."""

    lacking = "are not clamped"
    __slots__ = ()


def each_of(channel: Channel) -> Each | None:
    """The node that holds several channels side by side, where there is one."""
    bundled = facet(channel, Bundled)
    return None if bundled is None else bundled.bundle


def keyed_of(channel: Channel) -> Keyed | None:
    """The node that randomizes the group of an answer, where there is one."""
    grouped = facet(channel, Grouped)
    return None if grouped is None else grouped.keyed


def histogram_of(channel: Channel) -> Histogram | None:
    """The node that holds the bins of a histogram, where there is one."""
    binwise = facet(channel, Binwise)
    return None if binwise is None else binwise.histogram


def alternatives_of(channel: Channel) -> tuple[tuple[int, Channel], ...]:
    """The channels of which a public coin chooses one, with their weights; the channel itself where there is none."""
    mixed = facet(channel, Mixed)
    return ((UNIT, channel),) if mixed is None else mixed.alternatives


def block_of(channel: Channel) -> Block | None:
    """The node whose reports lie in public sets, where there is one."""
    blocked = facet(channel, Blocked)
    return None if blocked is None else blocked.block


def is_clamped(channel: Channel) -> bool:
    """Whether some part of a channel clamps its reports."""
    return any(facet(part, Clamped) is not None for part in (channel, *nested(channel)))


def after_rounding(channel: Channel) -> Channel | None:
    """The channel of a grid point, where a number is rounded and then randomized."""
    rounding, parts = rounding_of(channel), channel.parts
    return parts[1] if rounding is not None and len(parts) == 2 and parts[0] is rounding else None


def support_rates(channel: Channel, code: int = 0) -> Rates | None:
    """How often reports support a code; None where they are contrasts, or do not support it."""
    rates = rates_of(channel, code)
    return rates if isinstance(rates, Rates) else None


def shared_rates(channel: Channel) -> Rates | None:
    """The two support rates that all codes share; None where they vary."""
    supporting = facet(channel, Supporting)
    return None if supporting is None or supporting.rates_vary else support_rates(channel)


def contrast_of(channel: Channel, code: int = 0) -> Contrast | None:
    """How often reports count for and against a code; None where they do not lie in groups."""
    rates = rates_of(channel, code)
    return rates if isinstance(rates, Contrast) else None
