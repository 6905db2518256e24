"""Many numbers to positions on the grid of a channel that rounds, exactly as the scalar sampler reads each of them.

A float stands for the shortest decimal that prints it, which lies within half a unit of its last place. So the position
is computed twice as accurately as a float holds it, beside a bound of the error; where the bound leaves more than one
whole number, as at most a few in a thousand usually do, the decimal itself is read and everything is done in integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial, singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sottovoce.core.channel import Channel, Rounding
from sottovoce.core.channel.facets import Coordinates, Rounded, Slotted, facet, need, rounding_of, slots_of
from sottovoce.core.channel.numeric.rounding import PLACES
from sottovoce.core.channel.shapes import Grouped, each_of, keyed_of
from sottovoce.core.domain import (
    Ball,
    Circle,
    Clamp,
    Domain,
    Fields,
    HeldCount,
    Integers,
    Interval,
    Itemsets,
    KeyValue,
    Pair,
    Powers,
    Ranking,
    Record,
    Sets,
    Sparse,
    Square,
    VectorPart,
)
from sottovoce.core.errors import DomainError, NoBatchError
from sottovoce.core.mechanism import Mechanism
from sottovoce.fast.arrow import check_arrow
from sottovoce.fast.balls import ball_codes
from sottovoce.fast.clamped import clamped_positions
from sottovoce.fast.compiled import compiled
from sottovoce.fast.digits import first_float
from sottovoce.fast.double_double import HALF_ULP, WHOLE, Positions, halves, located, two
from sottovoce.fast.encode import column, encode, in_python, is_frame, one_by_one, refuse
from sottovoce.fast.item_sets import held_itemsets, set_codes
from sottovoce.fast.kernels.compose.mix import positions
from sottovoce.fast.key_values import key_value_codes
from sottovoce.fast.slots import slot_code, slot_codes
from sottovoce.fast.square_positions import square_positions
from sottovoce.fast.threads import run
from sottovoce.fast.vectors import rectangle, rows_of, vector_positions

_CHUNK = 1 << 17
_SLOTTED = {Sparse.kind: slot_codes, KeyValue.kind: key_value_codes}


def batch_codes(mechanism: Mechanism, values: Any, *, threads: int | None = None) -> NDArray[Any]:
    """The codes of many values as kernels read them: indices, positions, or a column of these for each field."""
    check_arrow(values)
    return _codes(mechanism.domain, mechanism.channel, values, threads)


@singledispatch
def _codes(domain: Domain, channel: Channel, values: Any, threads: int | None) -> NDArray[Any]:
    """The codes of answers of a domain; `sottovoce.core.fits` says which channels take it."""
    if each_of(channel) is not None:
        raise NoBatchError(f"There are no batches of several parts for a domain of kind {domain.kind}.")
    if facet(channel, Coordinates) is not None:
        return vector_positions(domain, channel, values, partial(encode_numbers, threads=threads))
    rounding = rounding_of(channel)
    if rounding is None:
        return encode(domain, values, threads=threads)
    return encode_numbers(domain, rounding, values, threads=threads)


@_codes.register(KeyValue)
@_codes.register(Sparse)
def _(domain: KeyValue | Sparse, channel: Channel, values: Any, threads: int | None) -> NDArray[Any]:
    coded: Any = _SLOTTED[domain.kind]
    rows: NDArray[Any] = coded(
        domain, need(channel, Slotted).slots.grid, values, partial(encode_numbers, threads=threads)
    )
    return rows


@_codes.register(Ranking)
@_codes.register(Sets)
def _(domain: Sets | Ranking, channel: Channel, values: Any, threads: int | None) -> NDArray[Any]:
    return set_codes(domain, values)


@_codes.register
def _(domain: Itemsets, channel: Channel, values: Any, threads: int | None) -> NDArray[Any]:
    return held_itemsets(domain, _codes(domain.of, channel, values, threads))


@_codes.register
def _(domain: HeldCount, channel: Channel, values: Any, threads: int | None) -> NDArray[Any]:
    return np.asarray(np.bitwise_count(_codes(domain.of, channel, values, threads)).sum(axis=1), np.uint32)


@_codes.register
def _(domain: Ball, channel: Channel, values: Any, threads: int | None) -> NDArray[Any]:
    return ball_codes(domain, values)


def encode_numbers(domain: Domain, rounding: Rounding, values: Any, *, threads: int | None = None) -> Positions:
    """The position of each value; if any lies outside, none is encoded and the error says how many and which first."""
    return _positions(domain, rounding, values, threads)


@singledispatch
def _positions(domain: Domain, rounding: Rounding, values: Any, threads: int | None) -> Positions:
    return _each_position(domain, rounding, column(domain, values))


def _each_position(domain: Domain, rounding: Rounding, array: NDArray[Any] | Iterable[Any]) -> Positions:
    """The position of each value, one by one."""
    listed = in_python(array)
    codes = one_by_one(domain, listed)
    return np.fromiter((rounding.position(code) for code in codes), np.uint64, len(listed))


def _floats_of(domain: Domain, values: Any) -> NDArray[Any] | list[Any]:
    """Answers as an array, also where they come as a list of floats; else as a list."""
    array = column(domain, values)
    if isinstance(array, np.ndarray):
        return array
    listed = list(array)
    if not all(type(value) is float for value in listed):
        return listed
    floats = np.array(listed, np.float64)
    column(domain, floats)  # checks the step of an interval
    return floats


@_positions.register
def _(domain: Integers, rounding: Rounding, values: Any, threads: int | None) -> Positions:
    return _shared(lambda codes: positions(rounding, codes), encode(domain, values, threads=threads), threads)


@_positions.register
def _(domain: Clamp, rounding: Rounding, values: Any, threads: int | None) -> Positions:
    array, inside = _floats_of(domain, values), partial(encode_numbers, threads=threads)
    clamped = clamped_positions(domain, rounding, array, inside) if isinstance(array, np.ndarray) else None
    return _each_position(domain, rounding, array) if clamped is None else clamped


@_positions.register
def _(domain: Square, rounding: Rounding, values: Any, threads: int | None) -> Positions:
    array = _floats_of(domain, values)
    squares = square_positions(domain, rounding, array, threads)
    return _each_position(domain, rounding, array) if squares is None else squares


@_positions.register(Circle)
@_positions.register(Interval)
def _(domain: Circle | Interval, rounding: Rounding, values: Any, threads: int | None) -> Positions:
    """The end of a circle keeps a position of its own, from which reports are those of its start."""
    array = _floats_of(domain, values)
    if isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        return _floats(domain, rounding, array, threads)  # longer floats are not Python floats
    if isinstance(array, np.ndarray) and array.dtype.kind in "iu":
        return _whole_numbers(domain, rounding, array, threads)
    return _each_position(domain, rounding, array)


@_codes.register
def _(domain: Pair, channel: Channel, values: Any, threads: int | None) -> NDArray[np.uint64]:
    """A row for each pair. Two columns come as a tuple or as a table; else each answer is a pair of its own."""
    values = _two_columns(domain, values)
    if isinstance(values, tuple) and len(values) == 2 and all(isinstance(part, tuple) for part in values):
        raise DomainError("Two tuples are ambiguous, two pairs or two columns: use lists.", domain=domain)
    if not (isinstance(values, tuple) and len(values) == 2):
        if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
            raise DomainError("Answers come as a list of pairs, or as two columns.", domain=domain)
        listed = list(values)
        wrong = np.array([not isinstance(one, (tuple, list)) or len(one) != 2 for one in listed], bool)
        refuse(domain, listed, wrong)
        values = ([one[0] for one in listed], [one[1] for one in listed])
    groups = encode(domain.group, values[0], threads=threads)
    rounding = rounding_of(need(channel, Grouped).keyed.inner)
    numbers = (
        encode(domain.value, values[1], threads=threads)
        if rounding is None
        else encode_numbers(domain.value, rounding, values[1], threads=threads)
    )
    if len(groups) != len(numbers):
        raise DomainError(
            f"Groups and values come in pairs. Got {len(groups)} groups and {len(numbers)} values.",
            domain=domain,
        )
    return np.column_stack([groups.astype(np.uint64), numbers.astype(np.uint64)])


def _two_columns(domain: Pair, values: Any) -> Any:
    """A table as its columns of groups and of values: by these names, else in this order; anything else as it is."""
    if is_frame(values):
        names, columns = list(map(str, values.columns)), [values.iloc[:, place] for place in range(values.shape[1])]
    elif hasattr(values, "column_names") and hasattr(values, "columns"):  # a table of Arrow
        names, columns = values.column_names, values.columns
    else:
        return values
    if len(columns) != 2:
        raise DomainError(
            f"Pairs come as a table of two columns, the group first. Got {len(columns)} columns: choose two of them,"
            " such as table[[group, value]].",
            domain=domain,
        )
    return tuple(columns[::-1] if names == ["value", "group"] else columns)


@_codes.register
def _(domain: Powers, channel: Channel, values: Any, threads: int | None) -> NDArray[np.uint64]:
    """A row for each number: its own position, or its code where it is not rounded, and that of its square."""
    listed = values if hasattr(values, "__len__") else list(values)  # read twice
    columns: list[NDArray[np.uint64]] = []
    for own, part in zip(domain.parts, channel.parts, strict=True):
        grid = rounding_of(part)
        coded = (
            encode(own, listed, threads=threads) if grid is None else encode_numbers(own, grid, listed, threads=threads)
        )
        columns.append(coded.astype(np.uint64, copy=False))
    return np.column_stack(columns)


@_codes.register
def _(domain: VectorPart, channel: Channel, values: Any, threads: int | None) -> NDArray[np.uint64]:
    """A row for each vector: the position of each chosen number. All numbers of a vector must lie in its range."""
    grids, box = [need(part, Rounded).rounding for part in channel.parts], domain.of
    array = rectangle(box, values)
    if array is None or any(Fraction(float(end)) != end for end in (box.low, box.high)):
        codes = one_by_one(domain, list(values))
        return np.array(
            [[grid.position(own) for grid, own in zip(grids, code, strict=True)] for code in codes], np.uint64
        ).reshape(-1, len(grids))
    rows_of(box, grids[0], array, partial(encode_numbers, threads=threads))  # refuses numbers at other places too
    columns = (
        encode_numbers(box.side, grid, array[:, place], threads=threads)
        for grid, place in zip(grids, domain.places, strict=True)
    )
    return np.column_stack(list(columns))


@_codes.register(Fields)
@_codes.register(Record)
def _(domain: Fields | Record, channel: Channel, values: Any, threads: int | None) -> NDArray[np.uint64]:
    """A row for each record: the position or the index of each field."""
    if each_of(channel) is None:
        return vector_positions(domain, channel, values, partial(encode_numbers, threads=threads))
    codes = one_by_one(domain, in_python(column(domain, values)))
    grids = [rounding_of(part) for part in channel.parts]
    rows = [
        [own if grid is None else grid.position(own) for grid, own in zip(grids, code, strict=True)] for code in codes
    ]
    return np.array(rows, np.uint64).reshape(len(rows), len(grids))


def scalar_code(channel: Channel, code: Any) -> Any:
    """The code of a batch as the scalar sampler takes it."""
    slots = slots_of(channel)
    if slots is not None:
        return slot_code(slots.grid, code)
    if each_of(channel) is not None:
        return tuple(scalar_code(part, own) for part, own in zip(channel.parts, code, strict=True))
    if not channel.exact:
        return tuple(code.tolist())
    coordinates = facet(channel, Coordinates)
    if coordinates is not None:
        return tuple(grid.number(int(own)) for grid, own in zip(coordinates.roundings, code, strict=True))
    keyed = keyed_of(channel)
    if keyed is not None:
        return int(code[0]), scalar_code(keyed.inner, code[1])
    rounding = rounding_of(channel)
    if rounding is not None:
        return rounding.number(int(code))
    return int(code) if np.ndim(code) == 0 else int.from_bytes(code.astype("<u8").tobytes(), "little")


# --- the filter: floats with a bound of their error --------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _GridFilter:
    """What the kernel knows of a grid: sums of two floats stand for `low` and for the positions per unit."""

    first: float  # the least float whose decimal is not below the range
    last: float
    low: tuple[float, float]
    scale: tuple[float, float]
    of_value: float  # error of a position, per unit of the value: its own half unit in the last place
    fixed: float  # and whatever the value is: of computing with two floats


@lru_cache(maxsize=16)
def _filter(rounding: Rounding) -> _GridFilter:
    low, high = Fraction(rounding.low), Fraction(rounding.high)
    scale = (1 << PLACES) / rounding.step
    ends = (first_float(low), -first_float(-high))
    # All operations together err by far less than 2**-95 of the largest terms, and by the last place of a number below
    # one. Where that is too much, or positions exceed the floats that become integers, nothing is certain.
    size = (abs(low) + abs(high)) * scale
    fixed = float(size) * 2.0**-90 + 2.0**-50 if size < 1 << 80 and rounding.steps < 1 << 30 else 1.0
    return _GridFilter(*ends, two(low), two(scale), float(scale) * HALF_ULP * 1.000001, fixed)


@compiled
def _locate(values, first, last, low, low_rest, scale, scale_rest, of_value, fixed, out, doubtful):
    """Positions of floats, and which of them are not certain; returns how many lie outside and how many are doubtful.

    The difference and the product are exact as sums of two floats (Knuth; Dekker), so that what remains uncertain is
    what the decimal leaves open.
    """
    scale_high, scale_low = halves(scale)
    outside = 0
    count = 0
    for i in range(values.shape[0]):
        value = values[i]
        inside = value >= first and value <= last
        outside += not inside
        x = value if inside else first
        d = x - low
        back = d - x
        e = (x - (d - back)) - (low + back) - low_rest
        product = d * scale
        d_high, d_low = halves(d)
        rest = ((d_high * scale_high - product) + d_high * scale_low + d_low * scale_high) + d_low * scale_low
        rest += d * scale_rest + e * scale
        nearest = np.rint(product)
        rest += product - nearest
        more = np.rint(rest)
        bound = fixed if np.rint(x) == x and abs(x) <= WHOLE else fixed + of_value * abs(x)
        doubt = not abs(rest - more) < 0.5 - bound
        doubtful[i] = doubt
        count += doubt
        out[i] = np.uint64(np.int64(nearest) + np.int64(more))
    return outside, count


def _floats(domain: Circle | Interval, rounding: Rounding, array: NDArray[Any], threads: int | None) -> Positions:
    known = _filter(rounding)
    numbers = (known.first, known.last, *known.low, *known.scale, known.of_value, known.fixed)

    def kernel(values: Any, out: Any, doubtful: Any) -> tuple[int, int]:
        counts: tuple[int, int] = _locate(values, *numbers, out, doubtful)
        return counts

    return located(domain, array, (known.first, known.last), kernel, partial(_exactly, rounding), threads)


def _whole_numbers(
    domain: Circle | Interval, rounding: Rounding, array: NDArray[Any], threads: int | None
) -> Positions:
    """Integers, as floats where these are the same numbers."""
    low, high = Fraction(domain.low), Fraction(domain.high)
    least, most = (int(array.min()), int(array.max())) if len(array) else (0, 0)
    if len(array) and not low <= least <= most <= high:
        refuse(domain, array, _outside(array, -(-low // 1), high // 1))
    if max(-least, most) <= WHOLE:
        return _floats(domain, rounding, array, threads)
    different, places = np.unique(array, return_inverse=True)
    return np.array([rounding.position(number) for number in different.tolist()], np.uint64)[places]


def _outside(array: NDArray[Any], low: int, high: int) -> NDArray[np.bool_]:
    """Which integers lie outside; NumPy refuses to compare with ends beyond the type of the array, so they are cut."""
    kind = np.iinfo(array.dtype)
    if high < kind.min or low > kind.max:
        return np.ones(len(array), bool)
    return (array < max(low, kind.min)) | (array > min(high, kind.max))


# --- the exact way -----------------------------------------------------------------------------------------------
def _exactly(rounding: Rounding, values: NDArray[np.float64]) -> Positions:
    """`rounding.position` of each decimal, in plain integers; equal values are read once."""
    different, places = np.unique(values, return_inverse=True)
    ends = (rounding.low, rounding.high)
    end_places = max(0, *(-int(end.as_tuple().exponent) for end in ends))
    low, high = (int(Fraction(end) * 10**end_places) for end in ends)
    factor = (rounding.steps << PLACES) * 10**end_places
    exact_places = np.empty(len(different), np.uint64)
    for place, value in enumerate(different.tolist()):
        number, number_places = _decimal(repr(value))
        shared = max(number_places, end_places)
        above = number * 10 ** (shared - number_places) - low * 10 ** (shared - end_places)
        exact_places[place] = _nearest(above * factor, (high - low) * 10**shared)
    return exact_places[places]


def _decimal(text: str) -> tuple[int, int]:
    """A printed float as an integer and the number of its decimal places, which may be negative."""
    digits, _, power = text.partition("e")
    integer_part, _, part = digits.partition(".")
    number, places = int(integer_part + part), len(part) - (int(power) if power else 0)
    return (number, places) if places >= 0 else (number * 10**-places, 0)


def _nearest(numerator: int, denominator: int) -> int:
    """The nearest integer to a quotient, ties to even."""
    quotient, rest = divmod(numerator, denominator)
    return quotient + (2 * rest > denominator or (2 * rest == denominator and quotient & 1))


def _shared(work: Any, codes: NDArray[Any], threads: int | None) -> Positions:
    """A function of codes on all cores."""
    places = np.empty(len(codes), np.uint64)

    def fill(start: int, stop: int) -> None:
        places[start:stop] = work(codes[start:stop])

    run(fill, len(codes), _CHUNK, threads)
    return places
