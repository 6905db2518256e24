"""`Cells`: a group and a value as one code, for tables of groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from sottovoce.core.declared import declared, integer, part
from sottovoce.core.domain.base import View, domain_from_spec
from sottovoce.core.domain.pair import Pair
from sottovoce.core.domain.plain import MAX_CODES
from sottovoce.core.params import check_integer, reject


@declared
class Cells(View):
    """The cell of a group and a value, the value varying fastest. The last `reasons` groups are one cell each.

    These groups are reasons for giving no answer: the value of such a person does not count.
    """

    kind: ClassVar[str] = "cells"
    of: Pair = part("domain", domain_from_spec)
    reasons: int = integer()

    def __init__(self, of: Pair, reasons: int = 0) -> None:
        self.hold(of, reasons)

    def check_fields(self) -> None:
        if not isinstance(self.of, Pair) or self.of.value.size is None:
            raise reject("of", self.kind, "a pair of a group and a value with finitely many codes", self.of)
        check_integer("reasons", self.kind, self.reasons, 0, (self.of.group.size or 1) - 1)
        if self.size > MAX_CODES:
            raise reject("of", self.kind, "a pair with at most 2**32 cells", self.of)

    @property
    def groups(self) -> int:
        """How many groups have a cell for each value."""
        return (self.of.group.size or 0) - self.reasons

    @property
    def values(self) -> int:
        """How many values there are."""
        return self.of.value.size or 0

    @property
    def size(self) -> int:
        return self.groups * self.values + self.reasons

    @property
    def choices(self) -> Sequence[object]:
        return self.labels()

    def encode(self, value: object) -> int:
        group, number = self.of.encode(value)
        groups, values = self.groups, self.values
        return int(group * values + number if group < groups else groups * values + group - groups)

    def labels(self) -> Sequence[object]:
        """Texts such as "women: yes", then the reasons."""
        groups, values = self.of.group.labels(), self.of.value.labels()
        cells = [f"{group}: {value}" for group in groups[: self.groups] for value in values]
        return [*cells, *map(str, groups[self.groups :])]
