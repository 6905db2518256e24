"""`KeyValue`: some of a list of keys, each with a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fractions import Fraction
from itertools import compress
from typing import Any, ClassVar

from sottovoce.core.declared import declared, integer, of_form, part
from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.domain.plain import VALUES, Categories
from sottovoce.core.domain.sparse import Code
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.params import check_integer, reject

MAX_KEYS = 1 << 15
SEPARATOR = ";"  # between the entries of an answer in a cell of a file
EQUALS = "="  # between a key and its number there


@declared
class KeyValue(Domain):
    """Describe an answer as some of a list of keys, each with a number: {key: number}, at most `most` of them.

    The code holds the keys by their place in the list, each with its number on the scale from -1 to 1.

    Args:
        keys: The keys, as texts or as integers; at least two, without repetition.
        value: The range of the numbers: `Interval` or `Integers`.
        most: The largest number of keys in one answer. Default: all of them.

    Raises:
        ParameterError: The list is too short, repeats a key, or `most` exceeds it.

    Examples:
        >>> ratings = sv.KeyValue(["bus", "car", "bike"], sv.Integers(1, 5), most=2)
        >>> ratings.encode({"bike": 5, "bus": 3})
        ((0, Fraction(0, 1)), (2, Fraction(1, 1)))

    See also:
        `Sets` for keys without numbers, `Pair` where each person has exactly one group.
    """

    kind: ClassVar[str] = "key-value"
    keys: tuple[str, ...] | tuple[int, ...] = of_form(VALUES)
    value: Domain = part("domain", domain_from_spec)
    most: int = integer()
    _each: Categories = field(init=False, repr=False, compare=False)

    def __init__(self, keys: Iterable[str] | Iterable[int], value: Domain, most: int | None = None) -> None:
        listed = tuple(keys) if isinstance(keys, Iterable) and not isinstance(keys, (str, bytes)) else keys
        self.hold(listed, value, len(listed) if most is None and isinstance(listed, tuple) else most)

    def check_fields(self) -> None:
        if len(self.keys) > MAX_KEYS:
            raise ParameterError(f"The 'keys' parameter of key-value must be at most {MAX_KEYS:,} keys.")
        if not isinstance(self.value, Domain) or self.value.line is None or self.value.numbers is None:
            raise reject("value", self.kind, "a range of numbers, such as Interval(0, 10)", self.value)
        check_integer("most", self.kind, self.most, 1, len(self.keys))
        texts = [key for key in self.keys if isinstance(key, str)]
        if any(SEPARATOR in text or EQUALS in text or text != text.strip() or not text for text in texts):
            raise ParameterError(
                "The 'keys' parameter of key-value must be texts without semicolons and equals signs, and without"
                " spaces at their ends."
            )
        object.__setattr__(self, "_each", Categories(self.keys))

    def __repr__(self) -> str:
        shown = ", ".join(repr(key) for key in self.keys[:4])
        return f"KeyValue([{shown}{', ...' if len(self.keys) > 4 else ''}], {self.value!r}, most={self.most})"

    def __reduce__(self) -> tuple[type[KeyValue], tuple[Any, ...]]:
        return KeyValue, (self.keys, self.value, self.most)

    @property
    def keyed(self) -> Categories:
        """The keys as a domain of their own."""
        return self._each

    @property
    def middle(self) -> float:
        """The number whose code is zero."""
        low, high = self._limits
        return (low + high) / 2

    @property
    def half(self) -> float:
        """Half of the range of the numbers."""
        low, high = self._limits
        return (high - low) / 2

    @property
    def _limits(self) -> tuple[float, float]:
        numbers = self.value.numbers
        if numbers is None:
            raise TypeError("A range of numbers has ends.")
        return numbers.ends

    def encode(self, value: object) -> Code:
        entries = list(value.items()) if isinstance(value, Mapping) else value
        entries = list(entries) if isinstance(entries, (list, tuple)) else None
        if entries is None or len(entries) > self.most:
            raise self._outside(value)
        padded = entries + [(self.keys[0], self._filler)] * (self.most - len(entries))  # the time does not tell
        if not all(isinstance(entry, (list, tuple)) and len(entry) == 2 for entry in padded):
            raise self._outside(value)
        try:
            read = [(self._each.encode(key), self._scaled(self.value.encode(number))) for key, number in padded]
        except DomainError:
            raise self._outside(value) from None
        held = sorted(compress(read, [slot < len(entries) for slot in range(self.most)]))
        if len({place for place, _ in held}) < len(entries):
            raise self._outside(value)
        return tuple(held)

    @property
    def _filler(self) -> object:
        return next(iter(self.value.labels())) if self.value.whole is not None else self.middle

    def _scaled(self, code: Any) -> Fraction:
        """A code of the range on the scale from -1 to 1."""
        low, high, _ = self.value.numbers or (Fraction(0), Fraction(1), Fraction(0))
        return (2 * Fraction(code) - low - high) / (high - low)

    def _outside(self, value: object) -> DomainError:
        return self.refuse(
            value,
            f"a mapping from at most {self.most} different keys, of the {len(self.keys)} of the question, to numbers,"
            f" each {self.value.refusal().must_be}",
        )

    def typed(self, value: object) -> object:
        """A text holds entries with semicolons between them, such as "bus = 3; car = 5"; an empty one holds none."""
        if not isinstance(value, str):
            return value
        entries = [entry.partition(EQUALS) for entry in value.split(SEPARATOR) if entry.strip()]
        return [(self._each.typed(key.strip()), self.value.typed(number.strip())) for key, _, number in entries]

    def labels(self) -> Sequence[object]:
        """The keys, each of which has a share and a mean."""
        return self.keys

    def foreign(self) -> list[object]:
        first, inside = self.keys[0], self._filler
        empty: tuple[object, object] = ([], {})  # the answer of people who hold nothing
        crowded = [(key, inside) for key in self.keys[: self.most + 1]]
        if self.most == len(self.keys):
            crowded.append((first, inside))
        return [
            *(value for value in Domain.foreign(self) if value not in empty),
            first,
            {first: None},
            [(first, inside), (first, inside)],
            [(first, inside, 1)],
            crowded,
            *({first: number} for number in self.value.foreign()),
            *([(key, inside)] for key in self._each.foreign()),
        ]
