"""`Merged`: categories of which some count as one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from sottovoce.core.declared import declared, integers, part
from sottovoce.core.domain.base import Domain, View, domain_from_spec
from sottovoce.core.params import reject

MOST = 1 << 16
LISTED = 3  # values in a label; the others of its class are counted


@declared
class Merged(View):
    """The class of a code, where `classes` has the class of each code: 0, 1, ... without gaps."""

    kind: ClassVar[str] = "merged"
    of: Domain = part("domain", domain_from_spec)
    classes: tuple[int, ...] = integers(0, MOST - 1)

    def __init__(self, of: Domain, classes: Iterable[int]) -> None:
        self.hold(of, classes)

    def check_fields(self) -> None:
        size = self.of.size if isinstance(self.of, Domain) else None
        if size is None or size > MOST:
            raise reject("of", self.kind, f"a domain with at most {MOST} codes", self.of)
        if len(self.classes) != size or len(set(self.classes)) != self.size or self.size < 2:
            raise reject(
                "classes", self.kind, "a class for each code, at least two, numbered without gaps", self.classes
            )

    @property
    def size(self) -> int:
        return max(self.classes, default=0) + 1

    def encode(self, value: object) -> int:
        return self.classes[self.of.encode(value)]

    def labels(self) -> Sequence[object]:
        """The value itself, or the values of a class in one text."""
        values, labels = self.of.labels(), list[object]()
        for place in range(self.size):
            held = [value for value, one in zip(values, self.classes, strict=True) if one == place]
            listed, more = ", ".join(map(str, held[:LISTED])), len(held) - LISTED
            labels.append(held[0] if len(held) == 1 else f"{listed} and {more} more" if more > 0 else listed)
        return labels
