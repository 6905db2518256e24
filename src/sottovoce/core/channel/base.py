"""The contract of a channel: a sampler over coins, and what is known of its law in closed form.

A report is a non-negative integer of `payload_bits` bits, so its type, order and length are the same for
every participant: an index, a bit mask, or several of them side by side. `sample` is the definition and what
ships; everything else here is proven equal to it by enumeration (`sottovoce.core.exact`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from sottovoce.core.coins import Coins
from sottovoce.core.errors import ParameterError, SpecError, TooLargeError
from sottovoce.core.late import load
from sottovoce.core.params import check_integer
from sottovoce.core.rational import UNIT
from sottovoce.core.specs import Spec
from sottovoce.core.work import Effort, steps

if TYPE_CHECKING:
    from sottovoce.core.channel.numeric.rounding import Rounding

Words = tuple[int, int]  # the two public words of a report: its id
NO_WORDS: Words = (0, 0)
MAX_SUMMED = 1 << 18  # entries of a law that are gone through one by one
MAX_PAIRED = 1 << 20  # of the laws of all pairs of codes

NODES = {
    "bits": "core.channel.finite.bits:Bits",
    "block": "core.channel.finite.block:Block",
    "cap": "core.channel.vector.sphere:Cap",
    "chain": "core.channel.compose.stages:Chain",
    "cohorts": "core.channel.compose.cohorts:Cohorts",
    "each": "core.channel.compose.each:Each",
    "half-space": "core.channel.vector.half_space:HalfSpace",
    "hints": "core.channel.vector.hints:Hints",
    "keyed": "core.channel.compose.keyed:Keyed",
    "mix": "core.channel.compose.mix:Mix",
    "noise": "core.channel.numeric.noise:Noise",
    "place": "core.channel.vector.place:Place",
    "projected": "core.channel.vector.projected:Projected",
    "public": "core.channel.compose.public:Public",
    "rounding": "core.channel.numeric.rounding:Rounding",
    "signs": "core.channel.vector.signs:Signs",
    "some": "core.channel.vector.sampled:Some",
    "subset": "core.channel.finite.subset:Subset",
    "table": "core.channel.finite.table:Table",
    "then": "core.channel.compose.stages:Then",
    "window": "core.channel.numeric.window:Window",
}


class Rates(NamedTuple):
    """How often a report supports its own code, and any one other code."""

    own: Fraction
    other: Fraction


class Contrast(NamedTuple):
    """Where supports of two codes may be disjoint: codes lie in groups, and a report *hits* one group.

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


class Scale(NamedTuple):
    """How a report is read as a number: from the output `first` on, a report y speaks for (y - origin) / slope.

    The mean of what is read is the code itself, so that the mean of many is an unbiased estimate.
    """

    first: int
    origin: Fraction
    slope: Fraction

    def read(self, report: int) -> Fraction:
        """The number that a report speaks for."""
        return (report - self.origin) / self.slope


class Channel(ABC):
    """The conditional law of a report given a code. Subclasses are frozen dataclasses."""

    kind: ClassVar[str]
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
    def takes_every_code(self) -> bool:
        """Whether the codes are just the numbers below `inputs`: not some of them, no other numbers, no tuples."""
        return True

    @property
    def stages(self) -> tuple[Channel, Channel] | None:
        """The stage that a device draws once per value and keeps, and the fresh one; None where nothing is kept."""
        return None

    @property
    def cohorts(self) -> int:
        """How many cohorts there are, of which a device keeps one; 1 where public words are new in each report."""
        return 1

    def cohort(self, public: Words) -> int:
        """The cohort of an id."""
        return 0

    def mapped_in(self, cohort: int, code: Any) -> Any:
        """The code that a device of this cohort gives to the stage that it keeps."""
        return code

    @property
    def rounding(self) -> Rounding | None:
        """The grid to which a number is rounded first; None where codes are indices rather than numbers."""
        return None

    @property
    def dimensions(self) -> int | None:
        """How many numbers an answer holds, where it is a vector; None where it is one answer."""
        return None

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

    @property
    def outputs(self) -> int | None:
        """How many reports there are, where they are simply numbered from 0."""
        return None

    @property
    def payloads(self) -> int | None:
        """How many payloads there are, where they are numbered from 0, whatever the public words are."""
        return self.outputs

    @abstractmethod
    def contains(self, report: int) -> bool:
        """Whether a number can be a report."""

    @property
    def publics(self) -> int:
        """How many nodes, nested, read public words."""
        return 0

    @property
    def public_bits(self) -> int:
        """Bits of each of the two public words: 64, fewer in tests."""
        return 64

    def accepts(self, public: Words) -> bool:
        """Whether these public words may be an id; a device draws another one, a collector refuses it."""
        return True

    @property
    def tries(self) -> Fraction:
        """How many ids a device draws until one is accepted, in the mean."""
        return Fraction(1)

    @property
    def seeds(self) -> int | None:
        """How many public functions there are, where they are numbered and each is as likely as any other."""
        return None

    def seed(self, public: Words) -> int:
        """The number of the public function that these words choose."""
        raise TypeError(f"A channel of kind {self.kind} has no numbered public functions.")

    # --- the law -----------------------------------------------------------------------------------
    @property
    def exact(self) -> bool:
        """Whether probabilities are rational numbers; where they are floats, a guarantee can only be idealised."""
        return True

    @abstractmethod
    def ratio(self) -> Fraction:
        """The largest likelihood ratio between two codes, over all reports."""

    def delta(self, odds: Fraction) -> Fraction:
        """By how much the probability of a set of reports can exceed `odds` times that of another code, at most.

        It is the delta that belongs to epsilon = ln(odds), where the ratio is larger or infinite.
        """
        if self.outputs is None or self.publics or self.outputs * self.inputs**2 > MAX_PAIRED:
            raise TooLargeError(
                f"A {self.kind} channel has no closed form for its delta, and is too large to go through."
            )
        reports = [report for report in range(self.outputs) if self.contains(report)]
        rows = [[self.likelihood(report, code) for report in reports] for code in self.codes()]
        return max(excess(one, other, odds) for one in rows for other in rows)

    @abstractmethod
    def likelihood(self, report: int, code: Any, public: Words = NO_WORDS) -> Fraction:
        """The probability of a report given the code and the public words."""

    def extremes(self) -> tuple[list[Fraction], list[Fraction]]:
        """For each output its largest and its smallest likelihood over all codes; zero where none can report it."""
        if self.outputs is None or self.publics or self.outputs * self.inputs > MAX_SUMMED:
            raise TooLargeError(
                f"A {self.kind} channel has no closed form for its extremes, and is too large to go through."
            )
        columns = [
            [self.likelihood(y, code) for code in self.codes()] if self.contains(y) else [Fraction(0)]
            for y in range(self.outputs)
        ]
        return [max(column) for column in columns], [min(column) for column in columns]

    def supports(self, report: int, code: int, public: Words = NO_WORDS) -> bool:
        """Whether a report speaks for a code."""
        raise TypeError(f"A channel of kind {self.kind} has no supports.")

    def rates(self, code: int = 0) -> Rates | Contrast | None:
        """Support rates of a code, where they are the same whatever the other code is."""
        return None

    @property
    def rates_vary(self) -> bool:
        """Whether `rates` depends on the code."""
        return False

    def pair(self) -> tuple[Fraction, Fraction] | None:
        """How often a report supports two given codes at once: one of them its own; neither of them."""
        return None

    # --- reports as numbers ------------------------------------------------------------------------
    def scales(self) -> tuple[Scale, ...] | None:
        """How reports are read as codes, for one stretch of outputs after another; None where they are not."""
        return None

    def moments(self, code: Any) -> tuple[Fraction, Fraction]:
        """Mean and mean square of the code read from one report, exactly: here by summing up the whole law."""
        scales, outputs = self.scales(), self.outputs
        if scales is None or outputs is None:
            raise TypeError(f"The reports of a {self.kind} channel are not read as numbers.")
        first = second = Fraction(0)
        for report, read in enumerate(readings(scales, outputs)):
            if self.contains(report):
                weight = self.likelihood(report, code)
                first += weight * read
                second += weight * read**2
        return first, second

    # --- vectors -----------------------------------------------------------------------------------
    @property
    def part_outputs(self) -> int | None:
        """How many reports one coordinate has, where a tally counts each coordinate by itself ("parts")."""
        return None

    @property
    def chosen(self) -> int:
        """How many coordinates one report speaks of."""
        return self.dimensions or 0

    @property
    def roundings(self) -> Sequence[Rounding]:
        """The grid of each coordinate; all have the same number of steps."""
        raise TypeError(f"The reports of a {self.kind} channel are not counted by coordinate.")

    def part_scales(self) -> tuple[Scale, ...] | None:
        """How the report of one coordinate is read, in steps of its grid."""
        return None

    def part_moments(self, point: int) -> tuple[Fraction, Fraction]:
        """Mean and mean square of what is read of one coordinate at a point of its grid, in steps, exactly."""
        raise TypeError(f"The reports of a {self.kind} channel are not counted by coordinate.")

    def parts_of(self, report: int, public: Words = NO_WORDS) -> Iterable[tuple[int, int]]:
        """The coordinates that a report speaks of, each with its own report."""
        raise TypeError(f"The reports of a {self.kind} channel are not counted by coordinate.")

    @property
    def sums(self) -> tuple[int, ...] | None:
        """The largest that one report adds to each sum of a tally, where a tally adds up numbers ("sums")."""
        return None

    def summands(self, report: int, public: Words = NO_WORDS) -> Sequence[int]:
        """What a report adds to each sum."""
        raise TypeError(f"The reports of a {self.kind} channel are not added up.")

    # --- proofs and plain data ---------------------------------------------------------------------
    def effort(self) -> Effort:
        """What the closed forms cost; here of a node whose ratio and likelihood are short formulas."""
        return self.summed(Effort())

    def summed(self, known: Effort) -> Effort:
        """The same with what `extremes` and `delta` of this class cost, which go through the law."""
        if self.outputs is None or self.publics:  # they refuse at once
            return known._replace(extremes=1, delta=1)
        entries = self.inputs * self.outputs
        each, pairs = entries * known.likelihood * steps(known.bits), entries * self.inputs
        return known._replace(
            extremes=1 if entries > MAX_SUMMED else each,
            delta=1 if pairs > MAX_PAIRED else each + pairs * steps(known.bits + 256),
        )

    @abstractmethod
    def miniatures(self) -> tuple[Channel, ...]:
        """Small instances of the same node with the same probabilities, on which closed forms are proven."""

    @abstractmethod
    def fields(self) -> Spec:
        """The parameters in plain data."""

    @classmethod
    @abstractmethod
    def from_fields(cls, fields: Spec) -> Channel:
        """The node with these parameters."""

    def spec(self) -> Spec:
        """The node in plain data."""
        return {"node": self.kind, **self.fields()}


def excess(one: Sequence[Fraction], other: Sequence[Fraction], odds: Fraction) -> Fraction:
    """By how much the likelihoods of one code exceed `odds` times those of another, added up where they do."""
    return sum((p - odds * q for p, q in zip(one, other, strict=True) if p > odds * q), Fraction(0))


def readings(scales: tuple[Scale, ...], outputs: int) -> Iterator[Fraction]:
    """What each output speaks for."""
    ends = [*(scale.first for scale in scales[1:]), outputs]
    for scale, end in zip(scales, ends, strict=True):
        yield from map(scale.read, range(scale.first, end))


def channel_from_spec(spec: object) -> Channel:
    """The channel a specification describes."""
    node = spec.get("node") if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(node, str) or node not in NODES:
        raise SpecError(f"A channel of a specification has a node among {', '.join(NODES)}.")
    fields = {key: value for key, value in spec.items() if key != "node"}
    channel: Channel = load(NODES[node]).from_fields(fields)
    return channel


def nested(channel: Channel) -> Iterator[Channel]:
    """The channels that a channel is built from, and those that they are built from."""
    for name in getattr(channel, "__dataclass_fields__", ()):
        held = getattr(channel, name)
        for part in held if isinstance(held, tuple) else (held,):
            if isinstance(part, Channel):
                yield part
                yield from nested(part)


def check_memos(channel: Channel) -> None:
    """Devices keep the memo of a whole channel, or of one directly under a cohort, which they keep as well.

    That of any other part would be redrawn in each report, and its budget spent again.
    """
    kept = channel.inner if channel.cohorts > 1 else channel  # type: ignore[attr-defined]
    if any(part.stages for part in nested(kept)):
        raise ParameterError(f"A {channel.kind} channel cannot contain one that keeps a memo: it would be redrawn.")


def check_units(name: str, owner: str, value: int) -> int:
    """A probability in units that is neither 0 nor 1: a sure event would have an infinite ratio."""
    return check_integer(name, owner, value, 1, UNIT - 1)


def check_informative(owner: str, own: Fraction, other: Fraction) -> None:
    """An estimator divides by own - other."""
    if own <= other:
        raise ParameterError(
            f"The reports of this {owner} channel say nothing about the code: a code must be supported more often"
            f" by its own reports than by others; raise epsilon or lower the number of categories."
        )
