"""Lists of codes that are too long to hold: each code is computed from its place."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import comb, prod
from typing import TYPE_CHECKING, Any, overload

if TYPE_CHECKING:
    from sottovoce.core.channel.base import Channel


class CodeList(Sequence[Any]):
    """`total` codes, which may be more than `len` can say."""

    __slots__ = ("_at", "total")

    def __init__(self, total: int, at: Callable[[int], Any]) -> None:
        self.total = total
        self._at = at

    def __len__(self) -> int:
        return self.total

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: int | slice) -> Any:
        if isinstance(place, slice):
            return [self._at(one) for one in range(self.total)[place]]
        return self._at(range(self.total)[place])

    def __iter__(self) -> Iterator[Any]:
        return map(self._at, range(self.total))


def listed(channel: Channel) -> CodeList | None:
    """List the codes of a channel in order, or None if they can only be computed one after another."""
    codes = channel.codes()
    if isinstance(codes, CodeList):
        return codes
    return CodeList(channel.inputs, codes.__getitem__) if isinstance(codes, Sequence) else None


def product_codes(channels: Iterable[Channel]) -> CodeList:
    """Every tuple of codes, one of each channel, the last one fastest."""
    lists = [listed(channel) or _held(channel) for channel in channels]

    def at(place: int) -> tuple[Any, ...]:
        digits = []
        for codes in reversed(lists):
            place, rest = divmod(place, codes.total)
            digits.append(codes[rest])
        return tuple(reversed(digits))

    return CodeList(prod(codes.total for codes in lists), at)


def _held(channel: Channel) -> CodeList:
    codes = list(channel.codes())
    return CodeList(len(codes), codes.__getitem__)


def combination(size: int, chosen: int, place: int) -> list[int]:
    """The place-th set of `chosen` numbers below `size`, largest number first; sets rise as their masks do."""
    numbers = []
    for left in range(chosen, 0, -1):
        number = bisect_right(range(size), place, key=lambda top, left=left: comb(top, left)) - 1  # type: ignore[misc]
        numbers.append(number)
        place -= comb(number, left)
        size = number
    return numbers
