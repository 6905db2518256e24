"""`Pair`: a group and a value, both private."""

from __future__ import annotations

from typing import Any, ClassVar

from sottovoce.core.declared import declared, part
from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.params import reject


@declared
class Pair(Domain):
    """Describe an answer as a tuple (group, value): a private group, and a private number.

    The code is the tuple of both codes. `GroupMean` builds this domain by itself.

    Args:
        group: The groups, a domain with finitely many values.
        value: The number, an `Interval` or `Integers`.

    Examples:
        >>> sv.Pair(sv.Categories(["north", "south"]), sv.Interval(0, 10)).encode(("south", 2.5))
        (1, Fraction(5, 2))

    See also:
        `GroupMean` for the mean in each group, `Record` for more than two fields.
    """

    kind: ClassVar[str] = "pair"
    group: Domain = part("domain", domain_from_spec)
    value: Domain = part("domain", domain_from_spec)

    def check_fields(self) -> None:
        if not isinstance(self.group, Domain) or self.group.size is None or self.group.size < 2:
            raise reject("group", self.kind, "a domain with at least two and finitely many codes", self.group)
        if not isinstance(self.value, Domain) or isinstance(self.value, Pair):
            raise reject("value", self.kind, "a domain of single answers", self.value)

    def encode(self, value: object) -> tuple[Any, Any]:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            group, number = self.group.refusal(), self.value.refusal()
            parts = f"a group, {group.must_be}, and a value, {number.must_be}"
            raise self.refuse(value, f"a pair of {parts}", listed=group.listed)
        return self.group.encode(value[0]), self.value.encode(value[1])

    def foreign(self) -> list[object]:
        group = next(iter(self.group.labels()))
        return [*Domain.foreign(self), group, (group,), *((group, value) for value in self.value.foreign())]
