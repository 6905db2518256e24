"""Which domains fit which channels: one line for each pair of kinds.

Every answer has a code that the channel takes. A value without a code would be revealed by its missing report.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sottovoce.core.channel.base import Channel
from sottovoce.core.channel.facets import Coordinates, Facet, Rounded, facet, need, slots_of
from sottovoce.core.domain.base import Domain
from sottovoce.core.errors import MismatchError
from sottovoce.core.params import count_text, decimal_text

if TYPE_CHECKING:
    from sottovoce.core.channel.compose.each import Each
    from sottovoce.core.channel.compose.keyed import Keyed
    from sottovoce.core.channel.compose.options import AskedOptions
    from sottovoce.core.channel.compose.spread import Spread
    from sottovoce.core.channel.finite.hitting import Hitting
    from sottovoce.core.channel.numeric.rounding import Rounding
    from sottovoce.core.channel.vector.projected import Projected
    from sottovoce.core.channel.vector.sphere import Cap
    from sottovoce.core.domain.ball import Ball
    from sottovoce.core.domain.circle import Circle
    from sottovoce.core.domain.fields import VectorPart
    from sottovoce.core.domain.itemsets import SetDomain
    from sottovoce.core.domain.key_value import KeyValue
    from sottovoce.core.domain.pair import Pair
    from sottovoce.core.domain.plain import Record
    from sottovoce.core.domain.powers import Powers
    from sottovoce.core.domain.sparse import Sparse


def check_fits(domain: Domain, channel: Channel) -> None:
    """Refuse a channel that does not take exactly the codes of a domain: the first line that matches both decides."""
    for kind, node, check in PAIRS:
        if kind in (None, domain.kind) and _is(channel, node):
            check(domain, channel)
            return


def _is(channel: Channel, node: str | type[Facet] | None) -> bool:
    """Whether a channel is of a kind, or has a facet."""
    return node is None or (channel.kind == node if isinstance(node, str) else facet(channel, node) is not None)


def _fields(domain: Record, channel: Each) -> None:
    if len(domain.fields) != len(channel.channels):
        raise MismatchError(
            f"A record of {len(domain.fields)} fields does not fit {len(channel.channels)} channels side by side."
        )
    _side_by_side([field for _, field in domain.fields], channel)


def _parts(domain: Powers | VectorPart, channel: Each) -> None:
    if len(domain.parts) != len(channel.channels):
        raise MismatchError(f"{len(domain.parts)} numbers do not fit {len(channel.channels)} channels side by side.")
    _side_by_side(domain.parts, channel)


def _side_by_side(domains: Sequence[Domain], channel: Each) -> None:
    for own, part in zip(domains, channel.channels, strict=True):
        check_fits(own, part)


def _group_and_value(domain: Pair, channel: Keyed) -> None:
    check_fits(domain.group, channel.key)
    check_fits(domain.value, channel.inner)


def _sparse(domain: Sparse, channel: Channel) -> None:
    slots = slots_of(channel)
    if slots is None or slots.vectors != domain:
        taken = "no sparse vectors"
        if slots is not None:
            numbers = count_text(slots.dimensions), count_text(slots.most), decimal_text(slots.bound)
            taken = "{} dimensions with at most {} numbers up to {}".format(*numbers)
        raise MismatchError(f"A {channel.kind} channel for {taken} does not fit this domain of sparse vectors.")


def _key_value(domain: KeyValue, channel: Channel) -> None:
    known = slots_of(channel)
    shape = (len(domain.keys), domain.most, 1)
    if known is None or (known.dimensions, known.most, int(known.bound)) != shape:
        raise MismatchError(
            f"This {channel.kind} channel does not fit keys with numbers: at most {domain.most} of {len(domain.keys)}"
            " keys."
        )


def _sets(domain: SetDomain, channel: Hitting | Spread | AskedOptions) -> None:
    items = len(domain.labels())
    if (channel.items, channel.most) != (items, domain.most):
        raise MismatchError(
            f"A channel for at most {channel.most} of {channel.items} items does not fit sets of at most {domain.most}"
            f" of {items} items."
        )


def _ball(domain: Ball, channel: Cap | Projected) -> None:
    if domain.dimensions != channel.dimensions:
        raise MismatchError(
            f"A {channel.kind} channel for vectors of {channel.dimensions} numbers does not fit a ball of"
            f" {domain.dimensions} dimensions."
        )


def _coordinates(domain: Domain, channel: Channel) -> None:
    """A vector has a number for each grid, of the same range."""
    parts, known = domain.coordinates, need(channel, Coordinates)
    if parts is None or len(parts) != known.dimensions:
        raise MismatchError(
            f"A {channel.kind} channel for vectors of {known.dimensions} numbers does not fit this domain of kind"
            f" {domain.kind}."
        )
    alike: set[tuple[int, int]] = set()  # pairs that were compared: most coordinates share one
    for place, (part, grid) in enumerate(zip(parts, known.roundings, strict=True)):
        if (id(part), id(grid)) in alike:
            continue
        alike.add((id(part), id(grid)))
        if not _same_range(part, grid):
            raise MismatchError(
                f"The grid of coordinate {place}, from {decimal_text(grid.low)} to {decimal_text(grid.high)}, does not"
                f" fit its domain of kind {part.kind}."
            )


def _numbers(domain: Domain, channel: Channel) -> None:
    grid = need(channel, Rounded).rounding
    if not _same_range(domain, grid):
        raise MismatchError(
            f"A channel that rounds numbers from {decimal_text(grid.low)} to {decimal_text(grid.high)} does"
            f" not fit this domain of kind {domain.kind}."
        )


def _around(domain: Circle, channel: Channel) -> None:
    grid = need(channel, Rounded).rounding
    if (grid.low, grid.high) != (domain.low, domain.high):
        raise MismatchError(
            f"A channel that rounds numbers from {decimal_text(grid.low)} to {decimal_text(grid.high)} does not fit a"
            f" circle with the period {decimal_text(domain.period)}."
        )


def _same_range(domain: Domain, grid: Rounding) -> bool:
    """Whether a grid covers exactly the codes of a domain of numbers."""
    return domain.numbers is not None and domain.numbers[:2] == (Fraction(grid.low), Fraction(grid.high))


def _indices(domain: Domain, channel: Channel) -> None:
    if domain.size != channel.inputs or not channel.codes_are_indices:
        codes = "a continuum of" if domain.size is None else count_text(domain.size)
        taken = "" if channel.codes_are_indices else "not all of "
        raise MismatchError(
            f"A domain of {codes} codes does not fit a {channel.kind} channel, which takes"
            f" {taken}{count_text(channel.inputs)} codes."
        )


SET_KINDS = ("sets", "ranking", "itemsets")
# The kind of a domain, the kind of a channel or a facet of it, and the check; None stands for all others.
PAIRS: tuple[tuple[str | None, str | type[Facet] | None, Callable[[Any, Any], None]], ...] = (
    ("record", "each", _fields),
    ("record", "fakes", _fields),
    ("fields", "each", _fields),
    ("fields", "fakes", _fields),
    ("powers", "each", _parts),
    ("vector-part", "each", _parts),
    ("pair", "keyed", _group_and_value),
    ("sparse", None, _sparse),
    *(("key-value", node, _key_value) for node in ("key-ends", "asked-key", "sampled-key")),
    *((kind, node, _sets) for kind in SET_KINDS for node in ("drawn-item", "hitting", "spread", "options", "wheel")),
    ("ball", "cap", _ball),
    ("ball", "projected", _ball),
    (None, Coordinates, _coordinates),
    ("circle", Rounded, _around),
    (None, Rounded, _numbers),
    (None, None, _indices),
)
