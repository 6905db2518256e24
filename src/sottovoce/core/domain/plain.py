"""Domains of raw answers: one of a list, a whole number, a number in a range, a record of several."""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from fractions import Fraction
from math import isfinite
from numbers import Rational, Real
from typing import Any, ClassVar

from sottovoce.core.declared import Form, decimal, declared, delegated, integer, list_of, of_form
from sottovoce.core.domain.base import Domain, Numbers, domain_from_spec
from sottovoce.core.domain.written import written_integer, written_number
from sottovoce.core.errors import ParameterError
from sottovoce.core.params import MAX_DIGITS, decimal_text, reject
from sottovoce.core.specs import MAX_INTEGER, take

MAX_TEXT = 1000  # characters of a category; normalising long runs of accents takes quadratic time
SHOWN = 20  # categories that an error lists
Number = int | float | str | Decimal
MAX_CODES = 1 << 32  # the hash family is exactly pairwise independent below this


def _check_values(name: str, owner: str, values: object) -> tuple[Any, ...]:
    """The categories as plain texts or integers."""
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes, bytearray)):
        raise reject(name, owner, 'a list of texts or of integers, such as ["yes", "no"]', values)
    listed = tuple(values)
    if any(isinstance(value, str) for value in listed) and not all(isinstance(value, str) for value in listed):
        raise reject(name, owner, "texts only, or integers only", listed)
    texts = all(isinstance(value, str) for value in listed)
    if texts:
        plain: tuple[Any, ...] = tuple(str.__str__(value) for value in listed)  # the text of an enumeration
        if max(map(len, plain), default=0) > MAX_TEXT:
            raise ParameterError(f"The texts of categories have at most {MAX_TEXT} characters.")
        normal = {unicodedata.normalize("NFC", value) for value in plain}
        encodable = all(is_utf8(value) for value in plain)
    else:
        plain = tuple(number for number in map(_whole, listed) if number is not None)
        if len(plain) < len(listed) or any(abs(number) > MAX_INTEGER for number in plain):
            raise reject(name, owner, "texts only, or integers of at most 2**53 only", listed)
        normal = set(plain)
        encodable = True
    if len(plain) < 2 or len(plain) > MAX_CODES or len(normal) != len(plain) or not encodable:
        raise reject(name, owner, "at least two distinct texts, or two distinct integers", listed)
    return plain


VALUES = Form("values", list_of(lambda value, owner, name: value), list, _check_values)


@declared
class Categories(Domain):
    """Describe an answer as one of a list of texts, or one of a list of integers.

    Types count: `True` is not 1, and "1" is not 1. The code of a value is its place in the list.

    Args:
        values: The possible answers, at least two, without repetition. Their order is that of all results.

    Raises:
        ParameterError: The list is too short, repeats a value, or mixes texts and integers.

    Examples:
        >>> theme = sv.Categories(["dark", "light", "system"])
        >>> theme.size, theme.encode("light")
        (3, 1)

    See also:
        `Integers` for numbers in a range, `Text` for answers without a list, `Frequency` for their shares.
    """

    kind: ClassVar[str] = "categories"
    values: tuple[str, ...] | tuple[int, ...] = of_form(VALUES)
    _codes: dict[object, int] = field(init=False, repr=False, compare=False)

    def __init__(self, values: Iterable[str] | Iterable[int]) -> None:
        self.hold(values)

    def check_fields(self) -> None:
        object.__setattr__(self, "_codes", {value: code for code, value in enumerate(self.values)})

    def __repr__(self) -> str:
        shown = ", ".join(repr(value) for value in self.values[:4])
        return f"Categories([{shown}{', ...' if len(self.values) > 4 else ''}])"

    def __reduce__(self) -> tuple[type[Categories], tuple[tuple[Any, ...]]]:
        return Categories, (self.values,)

    @property
    def size(self) -> int:
        return len(self.values)

    def encode(self, value: object) -> int:
        key = value
        if not isinstance(value, str):
            key = _whole(value)
        code: int | None = self._codes.get(key) if key is not None else None
        if code is None:
            raise self.refuse(value, f"one of the {len(self.values)} categories", listed=self._listed())
        return code

    def _listed(self) -> str:
        """The categories as an error lists them: the first ones, shortened."""
        shown = ", ".join(text if len(text) <= 40 else text[:37] + "..." for text in map(repr, self.values[:SHOWN]))
        return shown + (f" and {len(self.values) - SHOWN} more" if len(self.values) > SHOWN else "")

    @property
    def choices(self) -> Sequence[object]:
        return self.values

    @property
    def holds_texts(self) -> bool:
        return isinstance(self.values[0], str)

    def typed(self, value: object) -> object:
        if isinstance(value, bool):
            said = [label for label in self.values if str(label).lower() == str(value).lower()]
            plain = int(value) if set(self.values) == {0, 1} else value
            return said[0] if len(said) == 1 else plain
        if self.holds_texts:
            return str(value) if type(value) is int else value
        return written_integer(value, zeros=False)

    def labels(self) -> Sequence[object]:
        return self.values

    def foreign(self) -> list[object]:
        first = self.values[0]
        swapped: object = 0 if isinstance(first, str) else str(first)
        return [*Domain.foreign(self), swapped, True, 0.5, max(map(str, self.values)) + "x"]


@declared
class Integers(Domain):
    """Describe an answer as a whole number from `low` to `high`, both included.

    The float 3.0 is the whole number 3. The code of a number is its distance from `low`. A number outside the range is
    refused: nothing is clipped.

    Args:
        low: The smallest possible answer.
        high: The largest possible answer, above `low`.

    Raises:
        ParameterError: `high` is not above `low`, or the range has more than 2**32 numbers.

    Examples:
        >>> age = sv.Integers(18, 99)
        >>> age.size, age.encode(40)
        (82, 22)

    See also:
        `Interval` for numbers that may have decimals, `Categories` for labels.
    """

    kind: ClassVar[str] = "integers"
    spacing: ClassVar[Decimal] = Decimal(1)
    low: int = integer(-MAX_INTEGER, MAX_INTEGER - 1)
    high: int = integer(1 - MAX_INTEGER, MAX_INTEGER)

    def check_fields(self) -> None:
        if not self.low < self.high:
            raise reject("high", self.kind, "larger than 'low'", self.high)
        if not self.high < self.low + MAX_CODES:
            raise reject("high", self.kind, f"at most {MAX_CODES - 1} above 'low'", self.high)

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    @property
    def numbers(self) -> Numbers:
        return Numbers(Fraction(0), Fraction(self.high - self.low), Fraction(self.low))

    @property
    def line(self) -> Integers:
        return self

    @property
    def whole(self) -> Integers:
        return self

    def typed(self, value: object) -> object:
        if isinstance(value, bool):
            return int(value) if (self.low, self.high) == (0, 1) else value
        return written_integer(value, zeros=True)

    def encode(self, value: object) -> int:
        number = _whole(value)
        if number is None:
            number = _whole_float(value)
        if number is None or not self.low <= number <= self.high:
            raise self.refuse(value, f"a whole number in [{self.low}, {self.high}]")
        return number - self.low

    def labels(self) -> Sequence[object]:
        return range(self.low, self.high + 1)

    def foreign(self) -> list[object]:
        return [
            *Domain.foreign(self),
            self.low - 1,
            self.high + 1,
            str(self.low),
            self.low + 0.5,
            float(self.high + 1),
            True,
        ]


@declared
class Interval(Domain):
    """Describe an answer as a number from `low` to `high`, both included.

    The range is public, so choose it without looking at the answers. A number outside is refused: nothing is clipped.
    The code of a number is that number, exactly, as a `Fraction`.

    Args:
        low: The smallest possible answer.
        high: The largest possible answer, above `low`.
        step: The distance of possible answers, such as 0.5 for half hours. Other numbers are then refused, and
            cumulative shares are exact at each possible answer. Default: any number of the range.

    Raises:
        ParameterError: `high` is not above `low`, or the range is not a whole number of steps.

    Examples:
        >>> hours = sv.Interval(0, 24, step=0.5)
        >>> hours.encode(7.5)
        Fraction(15, 2)

    See also:
        `Integers` for whole numbers, `Circle` for times of day, `Mean` and `Distribution` for what to estimate.
    """

    kind: ClassVar[str] = "interval"
    low: Decimal = decimal()
    high: Decimal = decimal()
    step: Decimal | None = decimal(optional=True)
    spacing = delegated("step")

    def __init__(self, low: Number, high: Number, step: Number | None = None) -> None:
        self.hold(low, high, step)

    def check_fields(self) -> None:
        if not self.low < self.high:
            raise reject("high", self.kind, "larger than 'low'", self.high)
        step = self.step
        if step is not None and (step <= 0 or (Fraction(self.high) - Fraction(self.low)) % Fraction(step)):
            raise reject("step", self.kind, "a number above 0 of which high - low is a multiple", step)

    @property
    def numbers(self) -> Numbers:
        return Numbers(Fraction(self.low), Fraction(self.high), Fraction(0))

    @property
    def line(self) -> Interval:
        return self

    def typed(self, value: object) -> object:
        if isinstance(value, bool):
            return int(value) if self.low == 0 and self.high == 1 else value
        return written_number(value)

    @property
    def points(self) -> int | None:
        """How many numbers are possible answers, where there is a step."""
        width = Fraction(self.high) - Fraction(self.low)
        return None if self.step is None else int(width / Fraction(self.step)) + 1

    def encode(self, value: object) -> Fraction:
        number, low = exact_number(value), Fraction(self.low)
        inside = number is not None and low <= number <= Fraction(self.high)
        if number is None or not inside or (self.step is not None and (number - low) % Fraction(self.step)):
            steps = "" if self.step is None else f" in steps of {decimal_text(self.step)}"
            raise self.refuse(value, f"a number in [{decimal_text(self.low)}, {decimal_text(self.high)}]{steps}")
        return number

    def foreign(self) -> list[object]:
        beyond = Fraction(self.high) + 1
        between = [] if self.step is None else [Fraction(self.low) + Fraction(self.step) / 2]
        return [*Domain.foreign(self), beyond, -float("inf"), True, str(self.low), *between]


def _check_members(name: str, owner: str, fields: Any) -> tuple[tuple[str, Domain], ...]:
    items = tuple(fields.items() if isinstance(fields, Mapping) else fields)
    names = [name for name, _ in items]
    typed = all(isinstance(name, str) and isinstance(domain, Domain) for name, domain in items)
    if not items or not typed or len(set(names)) != len(names):
        raise ParameterError("The fields of a record must be distinct names with a domain each.")
    return items


def _read_member(plain: object, owner: str, name: str) -> tuple[Any, Domain]:
    member, domain = take(plain, "a record's field", ("name", "domain"))
    return member, domain_from_spec(domain)


_MEMBERS = Form(
    "members",
    list_of(_read_member),
    lambda fields: [{"name": name, "domain": domain.spec()} for name, domain in fields],
    _check_members,
)


@declared
class Record(Domain):
    """Describe an answer with several fields under names, such as smoking and age of one person.

    The code is the tuple of the codes of all fields, in their order.

    Args:
        fields: The domain of each field by its name, as a mapping or as pairs.

    Raises:
        ParameterError: There is no field, or two fields have the same name.

    Examples:
        >>> person = sv.Record({"smokes": sv.Categories(["yes", "no"]), "age": sv.Integers(18, 99)})
        >>> person.encode({"smokes": "no", "age": 40})
        (1, 22)

    See also:
        `SampledAttributes` and `Attributes` estimate each field.
    """

    kind: ClassVar[str] = "record"
    fields: tuple[tuple[str, Domain], ...] = of_form(_MEMBERS)

    def __init__(self, fields: Mapping[str, Domain] | Iterable[tuple[str, Domain]]) -> None:
        self.hold(fields)

    def __repr__(self) -> str:
        return f"Record({dict(self.fields)!r})"

    @property
    def coordinates(self) -> Sequence[Domain]:
        return [domain for _, domain in self.fields]

    def encode(self, value: object) -> tuple[Any, ...]:
        codes = self.held_codes(value, self.labels())
        return tuple(codes[name] for name, _ in self.fields)

    def held_codes(self, value: object, needed: Sequence[str]) -> dict[str, Any]:
        """The codes of the fields that a record holds: the needed ones at least, and no unknown ones."""
        known = {name for name, _ in self.fields}
        if not isinstance(value, Mapping) or not {*needed} <= {*value} <= known:
            raise self.refuse(value, f"a record of {', '.join(sorted(needed))}")
        return {name: domain.encode(value[name]) for name, domain in self.fields if name in value}

    def labels(self) -> Sequence[str]:
        """The names of the fields."""
        return [name for name, _ in self.fields]


def is_utf8(value: str) -> bool:
    """Whether a text has an encoding; half of a surrogate pair has none."""
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _whole(value: object) -> int | None:
    """The integer a value is, or None. Booleans and floats are not integers."""
    if type(value) is int:
        return value
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def _whole_float(value: object) -> int | None:
    """The integer that a float is, also one of NumPy, or None. Decimals and fractions are not floats."""
    if not isinstance(value, Real) or isinstance(value, Rational):
        return None
    number: Any = value  # the abstract class does not say that it has these
    return int(number) if number.is_integer() else None


def exact_number(value: object) -> Fraction | None:
    """The number a value is, exactly, or None. A float is the shortest decimal that prints it, as in parameters."""
    if isinstance(value, float):
        # Through a decimal: parsing the text as a fraction is slower, the more so the longer it is.
        return Fraction(Decimal(float.__repr__(value))) if isfinite(value) else None
    if isinstance(value, Decimal):
        return Fraction(value) if value.is_finite() and (not value or abs(value.adjusted()) <= MAX_DIGITS) else None
    if type(value).__name__ == "timedelta64":  # NumPy registers it as an integer type
        return None
    if isinstance(value, Rational) and not isinstance(value, bool):
        return Fraction(int(value.numerator), int(value.denominator))  # NumPy's integers would overflow inside
    integer_value = _whole(value)
    return None if integer_value is None else Fraction(integer_value)
