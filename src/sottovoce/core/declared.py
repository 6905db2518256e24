"""Kinds that are declared once, by their fields: checks, specifications and the table of all kinds follow.

    @declared
    class Subset(Channel):
        kind: ClassVar[str] = "subset"
        k: int = integer(2, 1 << 32)
        keep: int = in_units()

Each field has a form, which converts an argument of the constructor, writes it in plain data and reads it again.
Relations between fields are checked by `check_fields`, after all of them were converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple, Self, TypeVar, cast, dataclass_transform

from sottovoce.core import specs
from sottovoce.core.arithmetic.rational import UNIT
from sottovoce.core.errors import SpecError
from sottovoce.core.late import load
from sottovoce.core.params import check_decimal, check_index, check_integer, decimal_text, reject
from sottovoce.core.specs import Spec, take

T = TypeVar("T")
Check = Callable[[str, str, Any], Any]


def unchecked(name: str, owner: str, value: Any) -> Any:
    """The check of a field that `check_fields` checks, or that needs none."""
    return value


class Form(NamedTuple):
    """The type of a field.

    Attributes:
        name: what the table of kinds calls it.
        read: from plain data, the kind and the name of the field, an argument of the constructor.
        plain: the value in plain data; None if it is plain already.
        check: from the name of the field, the kind and an argument of the constructor, the value that is kept.
        optional: whether the value may be None, which specifications leave out.
    """

    name: str
    read: Check
    plain: Callable[[Any], Any] | None = None
    check: Check = unchecked
    optional: bool = False


INTEGER = Form("integer", specs.integer)


def delegated(path: str) -> Any:
    """A member that is one of a part: after `words = delegated("inner.words")`, `words` is `self.inner.words`.

    The part may have a property or a method there.
    """
    return property(attrgetter(path))


def of_form(form: Form, *, default: Any = MISSING) -> Any:
    """A field of a form."""
    return field(default=default, metadata={"form": form})


def integer(low: int | None = None, high: int | None = None, *, default: Any = MISSING) -> Any:
    """An integer; without bounds where these follow from other fields, so that `check_fields` knows them."""
    return of_form(Form("integer", specs.integer, check=_bounded(low, high)), default=default)


def in_units() -> Any:
    """A probability in units of 2**-53 that is neither 0 nor 1: a sure event would have an infinite ratio."""
    return integer(1, UNIT - 1)


def integers(low: int, high: int) -> Any:
    """A list of integers with the same bounds."""
    return of_form(Form("integers", specs.integers, list, _all(_bounded(low, high))))


def text(*choices: str, default: Any = MISSING) -> Any:
    """One of several texts."""
    return of_form(Form("text", specs.text, check=_one_of(choices)), default=default)


def texts() -> Any:
    """A list of texts."""
    return of_form(Form("texts", list_of(specs.text), list, _all(unchecked)))


def decimal(*, optional: bool = False) -> Any:
    """A decimal number, written as a text."""
    form = Form("decimal", specs.text, decimal_text, check_decimal, optional)
    return of_form(form, default=None if optional else MISSING)


def decimals() -> Any:
    """A list of decimal numbers, written as texts."""
    return of_form(
        Form("decimals", list_of(specs.text), lambda value: [*map(decimal_text, value)], _all(check_decimal))
    )


def part(name: str, read: Callable[[Any], Any], check: Check = unchecked) -> Any:
    """Something that has a specification of its own."""
    return of_form(Form(name, lambda plain, owner, field: read(plain), lambda value: value.spec(), check))


def parts(name: str, read: Callable[[Any], Any]) -> Any:
    """A list of things that have specifications of their own."""
    read_all = list_of(lambda plain, owner, field: read(plain))
    return of_form(Form(name, read_all, lambda values: [value.spec() for value in values], _all(unchecked)))


def list_of(read: Check) -> Check:
    """How a list of a specification is read, whose items are read one by one."""

    def read_all(value: object, owner: str, name: str) -> tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise SpecError(f"The {name!r} of {owner} in a specification must be a list, not a {type(value).__name__}.")
        return tuple(read(item, owner, name) for item in value)

    return read_all


def _bounded(low: int | None, high: int | None) -> Check:
    if low is None or high is None:
        return check_index
    return lambda name, owner, value: check_integer(name, owner, value, low, high)


def _all(check: Check) -> Check:
    return lambda name, owner, values: tuple(check(name, owner, value) for value in values)


def _one_of(choices: Iterable[str]) -> Check:
    def check(name: str, owner: str, value: Any) -> Any:
        if value not in choices:
            raise reject(name, owner, f"one of {', '.join(choices)}", value)
        return value

    return check


class Declared:
    """What has a kind and a specification. Subclasses are decorated with `declared`."""

    kind: ClassVar[str]
    tag: ClassVar[str] = "kind"  # the key of a specification that holds the kind
    derived: ClassVar[Mapping[str, Form]] = {}  # keys of a specification that are properties, no fields
    forms: ClassVar[Mapping[str, Form]] = {}  # of the fields; set by `declared`
    __slots__ = ()

    def __post_init__(self) -> None:
        for name, form in self.forms.items():
            value = getattr(self, name)
            if value is None and form.optional:
                continue
            checked = form.check(name, self.kind, value)
            if checked is not value:
                object.__setattr__(self, name, checked)
        self.check_fields()

    def hold(self, *values: object) -> None:
        """Keep, convert and check the values of all fields: for constructors that take more types than they keep."""
        for name, value in zip(self.forms, values, strict=True):
            object.__setattr__(self, name, value)
        Declared.__post_init__(self)

    def check_fields(self) -> None:
        """Refuse fields that do not fit each other, and keep what follows from them."""

    def spec(self) -> Spec:
        """The kind and all fields in plain data."""
        plain: Spec = {self.tag: self.kind}
        for name, form in {**self.forms, **self.derived}.items():
            value = getattr(self, name)
            if not form.optional or value is not None:
                plain[name] = value if form.plain is None else form.plain(value)
        return plain

    @classmethod
    def from_fields(cls, fields: Spec) -> Self:
        """The object whose fields a specification describes; its kind was read before."""
        forms = {**cls.forms, **cls.derived}
        names = tuple(name for name, form in forms.items() if not form.optional or name in fields)
        plain = zip(names, take(fields, cls.kind, names), strict=True)
        return cls.from_values({name: forms[name].read(value, cls.kind, name) for name, value in plain})

    @classmethod
    def from_values(cls, values: Mapping[str, Any]) -> Self:
        """The object with these values, which may hold derived ones: a reader of specifications compares them."""
        return cls(**{name: value for name, value in values.items() if name in cls.forms})


@dataclass_transform(
    frozen_default=True,
    field_specifiers=(
        field, of_form, integer, in_units, integers, text, texts, decimal, decimals,
        part, parts,
    ),
)  # fmt: skip
def declared(cls: type[T]) -> type[T]:
    """A frozen dataclass with slots whose fields, those that have forms, make its specification."""
    slotted: Any = dataclass(frozen=True, slots=True)(cls)
    fields = slotted.__dataclass_fields__.items()
    slotted.forms = {name: field.metadata["form"] for name, field in fields if "form" in field.metadata}
    return cast(type[T], slotted)


def from_kinds(kinds: Mapping[str, str], spec: object, refusal: str, tag: str = "kind") -> Any:
    """The object that a specification describes; `kinds` says where the class of each kind lives."""
    kind = spec.get(tag) if isinstance(spec, dict) else None
    if not isinstance(spec, dict) or not isinstance(kind, str) or kind not in kinds:
        raise SpecError(f"{refusal} among {', '.join(kinds)}.")
    return load(kinds[kind]).from_fields({key: value for key, value in spec.items() if key != tag})
