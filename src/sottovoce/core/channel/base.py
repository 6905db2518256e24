"""The contract of a channel: a sampler over coins, its alphabet, its ratio and likelihood, and its plain data.

A report is a non-negative integer of `payload_bits` bits, so its type, order and length are the same for
every participant: an index, a bit mask, or several of them side by side. `sample` is the definition and what
ships; everything else here is proven equal to it by enumeration (`sottovoce.core.exact`). These members are what a
second implementation writes; what only some channels have are facets (`sottovoce.core.channel.facets`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, ClassVar

from sottovoce.core.channel import NODES
from sottovoce.core.coins import Coins
from sottovoce.core.declared import Declared, from_kinds
from sottovoce.core.errors import ParameterError

Words = tuple[int, int]  # the two public words of a report: its id
NO_WORDS: Words = (0, 0)


class Channel(Declared, ABC):
    """The conditional law of a report given a code. Subclasses are declared by their fields."""

    tag: ClassVar[str] = "node"
    __slots__ = ()

    # --- the sampler -------------------------------------------------------------------------------
    @property
    @abstractmethod
    def inputs(self) -> int:
        """How many codes there are."""

    def codes(self) -> Iterable[Any]:
        """Every code."""
        return range(self.inputs)

    @property
    def codes_are_indices(self) -> bool:
        """Codes are exactly 0 ... inputs - 1."""
        return True

    @property
    @abstractmethod
    def words(self) -> int:
        """How many words the sampler owns."""

    @abstractmethod
    def sample(self, code: Any, coins: Coins, public: Words = NO_WORDS) -> int:
        """One report. `coins` stand at the start of the span of this node."""

    # --- the alphabet ------------------------------------------------------------------------------
    @property
    @abstractmethod
    def payload_bits(self) -> int:
        """Bits of a report."""

    @abstractmethod
    def contains(self, report: int) -> bool:
        """Whether a number can be a report."""

    @property
    def publics(self) -> int:
        """How many nodes, nested, read public words."""
        return 0

    def accepts(self, public: Words) -> bool:
        """Whether these public words may be an id; a device draws another one, a collector refuses it."""
        return True

    # --- the law -----------------------------------------------------------------------------------
    @property
    def exact(self) -> bool:
        """Whether probabilities are rational numbers; with floats a guarantee can only be idealised."""
        return True

    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest likelihood ratio between two codes, over all reports."""

    @abstractmethod
    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        """The probability of a report given the code and the public words."""

    # --- proofs and plain data ---------------------------------------------------------------------
    @property
    def parts(self) -> tuple[Channel, ...]:
        """The channels that it is made of; equal grids of coordinates are listed once."""
        return ()

    @abstractmethod
    def miniatures(self) -> tuple[Channel, ...]:
        """Small instances of the same node with the same probabilities, on which closed forms are proven."""


def channel_from_spec(spec: object) -> Channel:
    """The channel that a specification describes."""
    channel: Channel = from_kinds(NODES, spec, "A channel of a specification has a node", "node")
    return channel


def nested(channel: Channel) -> Iterator[Channel]:
    """All channels that a channel is made of, recursively."""
    for part in channel.parts:
        yield part
        yield from nested(part)


def check_informative(owner: str, own: Fraction, other: Fraction) -> None:
    """An estimator divides by own - other."""
    if own <= other:
        raise ParameterError(
            f"The reports of this {owner} channel are independent of the code: a code must be supported more often"
            f" by its own reports than by others; raise epsilon or lower the number of categories."
        )
