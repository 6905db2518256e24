"""Contingency tables of the fields of a record."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Any, ClassVar

from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import Categories, Record
from sottovoce.core.domain.reasons import MOST_LISTED, with_categories
from sottovoce.core.errors import DomainError, ParameterError
from sottovoce.core.params import check_integer, reject
from sottovoce.core.question.base import Question
from sottovoce.core.specs import Spec, take

MOST_CELLS = 4096  # of one table: a report has a bit for each cell
MOST_NAMED = 512  # tables that are listed by name
MOST_TABLES = 5000  # all tables of so many ways: 3 of 32 fields have 4,960

Tables = tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True, init=False)
class Joint(Question):
    """Ask for cross tables: the share of each combination of answers to several questions.

    A table that is part of a larger one need not be named: `sv.Joint(record, ways=3)` answers for pairs, too.

    Args:
        record: The fields, as a `Record`.
        ways: How many fields each table crosses; all such tables are asked for.
        tables: The tables by the names of their fields, instead of `ways`.

    Examples:
        >>> person = sv.Record({"smokes": sv.Categories(["yes", "no"]), "drinks": sv.Categories(["yes", "no"])})
        >>> plan = sv.plan(sv.Joint(person), epsilon=2, participants=5000)
        >>> round(plan.best.std_error, 2)
        0.01

    See also:
        `TableViews` asks it, `Attributes` for each field by itself.
    """

    kind: ClassVar[str] = "joint"
    noun: ClassVar[str] = "share of a cell"
    is_share: ClassVar[bool] = True
    parameters: ClassVar[tuple[str, ...]] = ("tables",)
    domain: Record
    tables: tuple[tuple[str, ...], ...]

    def __init__(self, record: Record, ways: int = 2, *, tables: Iterable[Iterable[str]] | None = None) -> None:
        if not isinstance(record, Domain) or not record.fields or record.root != record:
            raise reject("record", self.kind, "a Record", record)
        object.__setattr__(self, "domain", record)
        object.__setattr__(self, "tables", self._all_of(ways) if tables is None else self._named(tables))
        self._check_sizes()

    def _all_of(self, ways: int) -> Tables:
        names = [name for name, _ in self.domain.fields]
        size = check_integer("ways", self.kind, ways, 1, len(names))
        if comb(len(names), size) > MOST_TABLES:
            raise self._too_many(MOST_TABLES)
        return tuple(combinations(names, size))

    def _named(self, tables: Iterable[Iterable[str]]) -> Tables:
        """The named tables in the order of the record's fields, without those that are part of another."""
        place = {name: i for i, (name, _) in enumerate(self.domain.fields)}
        chosen: dict[tuple[str, ...], None] = {}
        for names in tables:
            listed = [names] if isinstance(names, str) else list(names)
            if not listed or len({*listed}) < len(listed) or any(name not in place for name in listed):
                raise reject("tables", self.kind, f"lists of different names among {', '.join(place)}", listed)
            chosen[tuple(sorted(listed, key=place.__getitem__))] = None
            if len(chosen) > MOST_NAMED:  # before all pairs of them are compared
                raise self._too_many(MOST_NAMED)
        if not chosen:
            raise reject("tables", self.kind, "at least one list of names", [])
        parts = [{*one} for one in chosen]
        return tuple(one for one in chosen if not any({*one} < other for other in parts))

    def _too_many(self, most: int) -> ParameterError:
        return ParameterError(
            f"A joint question has at most {most} such tables; name those you need: tables=[('a', 'b'), ...]."
        )

    def _check_sizes(self) -> None:
        sizes = {name: domain.size for name, domain in self.domain.fields}
        for names in self.tables:
            for name in names:
                if (sizes[name] or 0) < 2:
                    raise ParameterError(
                        f"The field {name!r} of a table needs at least two listed answers. Divide numbers into bins,"
                        " such as Bins.even(Interval(0, 100), 5)."
                    )
            cells = prod(sizes[name] or 0 for name in names)
            if cells > MOST_CELLS:
                raise ParameterError(
                    f"The table {' x '.join(names)} has {cells:,} cells; at most {MOST_CELLS:,} are possible. Use fewer"
                    " fields, or join answers."
                )

    @classmethod
    def about(cls, domain: Domain, fields: Mapping[str, Any]) -> Joint:
        """The question, which is asked through the record itself or through a table of some of its fields."""
        (tables,) = take(fields, f"the question {cls.kind}", cls.parameters)
        if type(tables) is int:
            return cls._through(domain, cls(domain.root, tables), tables)  # type: ignore[arg-type]
        if not isinstance(tables, list) or not all(map(_is_names, tables)):
            raise ParameterError("A joint question needs lists of names of the fields of a record.")
        record: Any = domain.root
        return cls._through(domain, cls(record, tables=tables), tables)

    @staticmethod
    def _through(domain: Domain, question: Joint, written: object) -> Joint:
        """The question, if a view of the record holds its fields and it is written as this version writes it."""
        held = getattr(domain, "names", question.sizes)  # a view holds some of the fields
        if not {*question.sizes} <= {*held}:
            raise ParameterError("A table has fields that its reports do not hold.")
        if question.fields()["tables"] != written:
            raise ParameterError(
                "The tables of a joint question are listed in the order of its fields, each once; all tables of so"
                " many fields are written as their number of fields."
            )
        return question

    def fields(self) -> Spec:
        """The tables as lists of names; several tables that are all those of so many fields, as that number."""
        ways = len(self.tables[0])
        count = len(self.tables)
        if count > 1 and count == comb(len(self.domain.fields), ways) and all(len(one) == ways for one in self.tables):
            return {"tables": ways}
        return {"tables": [list(names) for names in self.tables]}

    # --- reasons for giving no answer ------------------------------------------------------------
    @property
    def answer_lists(self) -> tuple[Domain, ...]:
        """The answers of each attribute; of numbers their intervals."""
        return tuple(domain if domain.choices is not None else Categories(_texts(domain)) for _, domain in self._listed)

    @property
    def _listed(self) -> list[tuple[str, Domain]]:
        return [(name, domain) for name, domain in self.domain.fields if 2 <= (domain.size or 0) <= MOST_LISTED]

    @property
    def takes_reasons(self) -> bool:
        return len(self._listed) == len(self.domain.fields)

    def with_reasons(self, reasons: tuple[str, ...]) -> Joint:
        """Each attribute has the reasons among its answers."""
        record = Record({name: with_categories(_texts(domain), reasons) for name, domain in self.domain.fields})
        return Joint(record, tables=self.tables)

    def answer(self, value: object, reason: str | None) -> Any:
        """The record with a label or a reason in each field; a reason for the whole record counts in every field."""
        if reason is not None:
            return dict.fromkeys(self.domain.labels(), reason)
        if not isinstance(value, Mapping):
            return value
        known = dict(self.domain.fields)
        return {name: _label(known[name], one) if name in known else one for name, one in value.items()}

    @property
    def pairs(self) -> Tables:
        """Every two fields that a table has together."""
        return tuple(dict.fromkeys(pair for names in self.tables for pair in combinations(names, 2)))

    @property
    def sizes(self) -> dict[str, int]:
        """The number of answers of each field that is in a table."""
        used = {name for names in self.tables for name in names}
        return {name: domain.size or 0 for name, domain in self.domain.fields if name in used}


def _is_names(names: object) -> bool:
    return isinstance(names, list) and all(isinstance(name, str) for name in names)


def _texts(domain: Domain) -> list[str]:
    return [str(label) for label in domain.labels()]


def _label(domain: Domain, value: object) -> object:
    """The label of an answer; a text that is no answer may be a reason, which the domain with reasons decides."""
    try:
        return _texts(domain)[domain.encode(value)]
    except DomainError:
        if isinstance(value, str):
            return value
        raise
