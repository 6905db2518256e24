"""Facets: what some channels can do beyond the contract of all. They are asked for by `facet`, never inferred.

A node inherits the facets that its class may have, and `has` says which of them this instance has: for a composition
that depends on its parts. Statistics, evidences and kernels ask for the facet that they need.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar, cast

from sottovoce.core.channel.base import NO_WORDS, Channel, Words, nested
from sottovoce.core.errors import ParameterError

if TYPE_CHECKING:
    from sottovoce.core.channel.compose.maps import NumberedMap
    from sottovoce.core.channel.numeric.rounding import Rounding
    from sottovoce.core.channel.vector.place import Slots
    from sottovoce.core.spec_cost import Effort

F = TypeVar("F", bound="Facet")


class Rates(NamedTuple):
    """How often a report supports its own code, and any one other code."""

    own: Fraction
    other: Fraction


class Contrast(NamedTuple):
    """Rates of codes whose supports may be disjoint: codes lie in groups, and a report *hits* one group.

    A report in the group of a code counts +1 (it supports the code) or -1. Any other code gives +1 and -1
    equally often, whether it is of the same group or not; so (plus - minus) / `slope` is unbiased.
    """

    hit_own: Fraction  # a report hits the group of its code
    hit_other: Fraction  # a report hits some other given group
    plus_own: Fraction  # a report supports its own code

    @property
    def slope(self) -> Fraction:
        """Mean of the +1, 0, -1 score of a report for its own code."""
        return 2 * self.plus_own - self.hit_own

    @property
    def groups(self) -> int:
        """How many groups there are: a report hits exactly one."""
        return 1 + int((1 - self.hit_own) / self.hit_other)


class Scale(NamedTuple):
    """How a report is read as a number: from the output `first` on, a report y is read as (y - origin) / slope.

    The expected reading is the code itself, so that the mean of many readings is an unbiased estimate.
    """

    first: int
    origin: Fraction
    slope: Fraction

    def read(self, report: int) -> Fraction:
        """The reading of a report."""
        return (report - self.origin) / self.slope


def readings(scales: tuple[Scale, ...], outputs: int) -> Iterator[Fraction]:
    """The reading of each output."""
    ends = [*(scale.first for scale in scales[1:]), outputs]
    for scale, end in zip(scales, ends, strict=True):
        yield from map(scale.read, range(scale.first, end))


class Facet(ABC):
    """Base of all facets."""

    lacking: ClassVar[str]  # what is said of a channel without the facet
    __slots__ = ()

    def has(self, kind: type[Facet]) -> bool:
        """Whether this instance has a facet that its class inherits."""
        return True


def facet(channel: Channel, kind: type[F]) -> F | None:
    """The channel as one that has a facet, or None."""
    # Trees of thousands of nodes are asked often, and `isinstance` is slow with abstract classes.
    faceted = cast(F, channel) if kind in type(channel).__mro__ else None
    return faceted if faceted is not None and faceted.has(kind) else None


def need(channel: Channel, kind: type[F]) -> F:
    """The channel as one that has a facet; a channel without it is an error."""
    faceted = facet(channel, kind)
    if faceted is None:
        raise TypeError(f"The reports of a {channel.kind} channel {kind.lacking}.")
    return faceted


def trusted(channel: Channel, kind: type[F]) -> F:
    """Cast a channel to a facet without a check. Only for parts that `has` has already checked."""
    return cast(F, channel)


# --- reports ------------------------------------------------------------------------------------------------------
class Numbered(Facet):
    """Reports are numbered from 0, whatever the public words are."""

    lacking = "are not numbered"
    __slots__ = ()

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many reports there are."""


class Relaying(Facet):
    """The report is that of a part, sent unchanged."""

    lacking = "are not those of a part"
    __slots__ = ()

    @property
    @abstractmethod
    def last(self) -> Channel:
        """The part whose report is sent."""


class Supporting(Facet):
    """A report supports some codes and not others, each with a known rate."""

    lacking = "support no codes"
    __slots__ = ()

    @abstractmethod
    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        """Whether a report supports a code."""

    @abstractmethod
    def rates(self, code: int = 0) -> Rates | Contrast | None:
        """Support rates of a code, the same for every other code; None if no report supports it."""

    @property
    def rates_vary(self) -> bool:
        """Whether `rates` depends on the code."""
        return False

    def pair(self) -> tuple[Fraction, Fraction] | None:
        """How often a report supports two given codes at once: one of them its own; neither of them."""
        return None

    def support_sizes(self) -> tuple[int, int] | None:
        """The fewest and the most codes that one report supports, where that is known."""
        return None


class Masked(Facet):
    """Reports are masks; the code, or the code and the public words, say which bits are likelier to be 1."""

    lacking = "are not masks"
    __slots__ = ()

    @abstractmethod
    def mask(self, code: Any, public: Words = NO_WORDS) -> int:
        """The positions where the encoding of a code has a 1."""

    @abstractmethod
    def bit_rate(self, place: int) -> Rates:
        """How often a bit is set, where the code sets it and where not."""


class Summed(Facet):
    """A tally adds up numbers that are read from reports."""

    lacking = "are not added up"
    __slots__ = ()

    @property
    @abstractmethod
    def sums(self) -> tuple[int, ...]:
        """The largest number that one report adds to each sum."""

    @abstractmethod
    def summands(self, report: int, public: Words = NO_WORDS) -> Sequence[int]:
        """What a report adds to each sum."""


# --- numbers and vectors ------------------------------------------------------------------------------------------
class Rounded(Facet):
    """Codes are numbers, which are rounded to a grid first."""

    lacking = "are not those of rounded numbers"
    __slots__ = ()

    @property
    @abstractmethod
    def rounding(self) -> Rounding:
        """The grid."""


class Numeric(Facet):
    """Reports are read as numbers whose mean is the code."""

    lacking = "are not read as numbers"
    __slots__ = ()

    @abstractmethod
    def scales(self) -> tuple[Scale, ...]:
        """How reports are read as codes, for one interval of outputs after another."""

    @abstractmethod
    def moments(self, code: Any) -> tuple[Fraction, Fraction]:
        """Mean and mean square of the code read from one report, exactly."""

    @property
    def quadratic(self) -> bool:
        """Whether the mean square is a polynomial of degree two in the code, known without computing it."""
        return False


class Vectors(Facet):
    """An answer is a vector."""

    lacking = "are not those of vectors"
    __slots__ = ()

    @property
    @abstractmethod
    def dimensions(self) -> int:
        """How many numbers an answer holds."""


class Slotted(Facet):
    """An answer is a sparse vector, whose entries are put into slots."""

    lacking = "are not those of sparse vectors"
    __slots__ = ()

    @property
    @abstractmethod
    def slots(self) -> Slots:
        """The node that reads the vector."""


class Coordinates(Vectors):
    """A tally counts the reports of each coordinate by itself."""

    lacking = "are not counted by coordinate"
    __slots__ = ()

    @property
    @abstractmethod
    def part_outputs(self) -> int:
        """How many reports one coordinate has."""

    @property
    def chosen(self) -> int:
        """How many coordinates one report contains."""
        return self.dimensions

    @property
    @abstractmethod
    def roundings(self) -> Sequence[Rounding]:
        """The grid of each coordinate; all have the same number of steps."""

    @abstractmethod
    def part_scales(self) -> tuple[Scale, ...] | None:
        """How the report of one coordinate is read, in steps of its grid; None if it is not read as a number."""

    @abstractmethod
    def part_moments(self, point: int) -> tuple[Fraction, Fraction]:
        """Mean and mean square of the reading of one coordinate at a point of its grid, in steps, exactly."""

    @abstractmethod
    def parts_of(self, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        """The coordinates that a report contains, each with its own report."""


# --- public words and memos ---------------------------------------------------------------------------------------
class PublicCoins(Facet):
    """The node itself reads public words; what its parts read is theirs."""

    lacking = "have no public words"
    __slots__ = ()

    @property
    def public_bits(self) -> int:
        """Bits of each of the two words that it reads: 64, fewer in tests."""
        return 64

    @property
    def tries(self) -> Fraction:
        """The mean number of ids that a device draws until the node accepts one."""
        return Fraction(1)


class Pooled(Facet):
    """Public words choose one of many functions, uniformly."""

    lacking = "have no numbered public functions"
    __slots__ = ()

    @property
    @abstractmethod
    def pool(self) -> NumberedMap:
        """The functions."""

    @property
    @abstractmethod
    def seeds(self) -> int:
        """How many functions there are."""

    @abstractmethod
    def seed(self, public: Words) -> int:
        """The number of the function that these words choose."""


class Memoised(Facet):
    """A device draws a first stage once for each value and keeps it."""

    lacking = "are not drawn from a memo"
    __slots__ = ()

    @property
    @abstractmethod
    def stages(self) -> tuple[Channel, Channel]:
        """The stage that is kept, and the fresh one."""

    @property
    def cohorts(self) -> int:
        """How many cohorts there are; a device keeps one. 1 if public words are new in each report."""
        return 1

    def cohort(self, public: Words) -> int:
        """The cohort of an id."""
        return 0

    @property
    def kept(self) -> Channel:
        """The channel from an answer to its memo."""
        return self.stages[0]

    @property
    def holds_chain(self) -> bool:
        """Whether the memo is that of a part, below something else that a device keeps: a cohort, or a rounding."""
        return False

    def mapped_in(self, cohort: int, code: Any) -> Any:
        """The code that a device of this cohort gives to the stage that it keeps."""
        return code


# --- closed forms in place of enumerations of the law (`sottovoce.core.channel.closed_forms`) -----------------------
class Extremal(Facet):
    """The largest and smallest likelihoods of outputs have a closed form."""

    lacking = "have no closed form for their extremes"
    __slots__ = ()

    @abstractmethod
    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        """For each output its largest and its smallest likelihood over all codes; zero where no code can report it."""


class Divergent(Facet):
    """The hockey-stick divergence has a closed form."""

    lacking = "have no closed form for their divergence"
    __slots__ = ()

    @abstractmethod
    def delta(self, odds: Fraction) -> Fraction:
        """Hockey-stick divergence at `odds`."""


class Costed(Facet):
    """The closed forms take longer than short formulas."""

    lacking = "have short formulas"
    __slots__ = ()

    @abstractmethod
    def effort(self) -> Effort:
        """Bounds of the cost of the closed forms."""


# --- one member, or None ------------------------------------------------------------------------------------------
def outputs_of(channel: Channel) -> int | None:
    """How many reports there are, where they are numbered."""
    numbered = facet(channel, Numbered)
    return None if numbered is None else numbered.outputs


def rounding_of(channel: Channel) -> Rounding | None:
    """The grid to which a number is rounded first; None where codes are not numbers."""
    rounded = facet(channel, Rounded)
    return None if rounded is None else rounded.rounding


def dimensions_of(channel: Channel) -> int | None:
    """How many numbers an answer holds, where it is a vector."""
    vectors = facet(channel, Vectors)
    return None if vectors is None else vectors.dimensions


def slots_of(channel: Channel) -> Slots | None:
    """The node that reads a sparse vector, where a channel starts with one."""
    slotted = facet(channel, Slotted)
    return None if slotted is None else slotted.slots


def stages_of(channel: Channel) -> tuple[Channel, Channel] | None:
    """The stage that a device draws once for each value and keeps, and the fresh one; None if nothing is kept."""
    memoised = facet(channel, Memoised)
    return None if memoised is None else memoised.stages


def rates_of(channel: Channel, code: int = 0) -> Rates | Contrast | None:
    """Support rates of a code; None if reports do not support this code."""
    supporting = facet(channel, Supporting)
    return None if supporting is None else supporting.rates(code)


def scales_of(channel: Channel) -> tuple[Scale, ...] | None:
    """How reports are read as codes; None where they are not."""
    numeric = facet(channel, Numeric)
    return None if numeric is None else numeric.scales()


def check_memos(channel: Channel) -> None:
    """Devices keep the memo of a whole channel, or of one directly under a cohort or a rounding that they keep as well.

    A memo of any other part would be redrawn in each report, which would spend its budget again.
    """
    memoised = facet(channel, Memoised)
    tops = channel.parts if memoised is not None and memoised.holds_chain else (channel,)
    if any(stages_of(part) for top in tops for part in nested(top)):
        raise ParameterError(f"A {channel.kind} channel cannot contain one that keeps a memo: it would be redrawn.")
