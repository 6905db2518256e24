"""`Sparse`: a long vector with few nonzero numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from itertools import compress
from typing import Any, ClassVar

from sottovoce.core.declared import decimal, declared, integer
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Integers, Interval, Number
from sottovoce.core.errors import DomainError
from sottovoce.core.params import check_integer, decimal_text, reject

MAX_DIMENSIONS = 1 << 20
MAX_MOST = 1 << 12

_LONG = 0.7315936251849027
Code = tuple[tuple[int, Fraction], ...]


@declared
class Sparse(Domain):
    """Describe an answer as a long vector with few nonzero numbers: {place: number}, or a list of pairs.

    Explicit zeros are dropped, because they describe the same vector. The code holds the nonzero numbers in the order
    of their places.

    Args:
        dimensions: The length of the vector.
        most: The largest number of nonzero coordinates.
        bound: The largest absolute value of a coordinate.

    Examples:
        >>> sv.Sparse(1000, most=2, bound=1).encode({3: 0.5})
        ((3, Fraction(1, 2)),)

    See also:
        `Box` and `Ball` for vectors with few coordinates, `VectorMean`.
    """

    kind: ClassVar[str] = "sparse"
    dimensions: int = integer(2, MAX_DIMENSIONS)
    most: int = integer()
    bound: Decimal = decimal()

    def __init__(self, dimensions: int, most: int, bound: Number = 1) -> None:
        self.hold(dimensions, most, bound)

    def check_fields(self) -> None:
        check_integer("most", self.kind, self.most, 1, min(self.dimensions, MAX_MOST))
        if self.bound <= 0:
            raise reject("bound", self.kind, "a number above 0", self.bound)

    @property
    def places(self) -> Integers:
        """The domain of places."""
        return Integers(0, self.dimensions - 1)

    @property
    def side(self) -> Interval:
        """The range of each number."""
        return Interval(-self.bound, self.bound)

    @property
    def filler(self) -> float:
        """A number with as many digits as most floats, so that it takes as long to read."""
        return _LONG * float(self.bound)

    def encode(self, value: object) -> Code:
        return self._encode(value, self.most)

    def encode_fast(self, value: object) -> Code:
        """The code of `encode`, in time that depends on the number of entries: for simulations, not for devices."""
        return self._encode(value, 0)

    def _encode(self, value: object, slots: int) -> Code:
        """The code. A filler is read for each empty slot, so that the time does not depend on the number of entries."""
        read_entries = _entries(value)
        entries = read_entries if read_entries is not None else []
        places, side, filler = _parts(self)
        padded = entries + [(0, filler)] * (slots - len(entries))
        if read_entries is None or not all(isinstance(entry, (list, tuple)) and len(entry) == 2 for entry in padded):
            raise self._outside(value)
        try:
            read = [(places.encode(place), side.encode(number)) for place, number in padded]
        except DomainError:
            raise self._outside(value) from None
        filled = [bool(number) & (slot < len(entries)) for slot, (_, number) in enumerate(read)]
        held = sorted(compress(read, filled))
        if len({place for place, _ in read[: len(entries)]}) < len(entries) or len(held) > self.most:
            raise self._outside(value)
        return tuple(held)

    def _outside(self, value: object) -> DomainError:
        end = decimal_text(self.bound)
        return self.refuse(
            value,
            f"a mapping from different places below {self.dimensions} to numbers in [-{end}, {end}], at most"
            f" {self.most} of them nonzero",
        )

    def labels(self) -> Sequence[object]:
        """The places of the numbers."""
        return range(self.dimensions)

    def foreign(self) -> list[object]:
        empty: tuple[object, object] = ([], {})  # the vector of zeros
        beyond = Fraction(self.bound) + 1
        twice = [(0, self.bound), (0, 0)]
        far = [{self.dimensions: 1}, {-1: 1}, {0.5: self.bound}, {"0": self.bound}, {True: self.bound}]
        wrong = [{0: number} for number in self.side.foreign()]
        crowded = [(place, self.bound) for place in range(self.most + 1)]  # or a place out of range
        return [
            *(value for value in Domain.foreign(self) if value not in empty),
            *far,
            *wrong,
            {0: beyond},
            twice,
            crowded,
            [(0, self.bound, 1)],
            {0: None},
        ]


@lru_cache(maxsize=64)
def _parts(domain: Sparse) -> tuple[Integers, Interval, float]:
    """Places, numbers, and the filler for an empty slot, made once for many answers."""
    return domain.places, domain.side, domain.filler


def _entries(value: object) -> list[Any] | None:
    """Pairs of places and numbers; None for any other value."""
    if isinstance(value, Mapping):
        return list(value.items())
    return list(value) if isinstance(value, (list, tuple)) else None
