"""`Digit`: the index of the cell in which a number lies, modulo a base."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

from sottovoce.core.declared import decimal, declared, delegated, integer, part
from sottovoce.core.domain.base import View, domain_from_spec
from sottovoce.core.domain.plain import Integers, Interval, Number
from sottovoce.core.domain.views import check_numeric, raw_number
from sottovoce.core.params import reject

MAX_BASE = 1 << 20


@declared
class Digit(View):
    """floor((x - origin) / width) modulo `base`: in which of `base` repeating cells a number lies.

    No centre has to be known beforehand: numbers that lie close together fill the same few cells anywhere. With two
    cells it says whether a number lies above or below the nearest of the thresholds origin + width + 2 b width.
    """

    kind: ClassVar[str] = "digit"
    of: Integers | Interval = part("domain", domain_from_spec, check_numeric)
    width: Decimal = decimal()
    base: int = integer(2, MAX_BASE)
    origin: Decimal = decimal()
    size = delegated("base")

    def __init__(self, of: Integers | Interval, width: Number, base: int, origin: Number = 0) -> None:
        self.hold(of, width, base, origin)

    def check_fields(self) -> None:
        if not self.width > 0:
            raise reject("width", self.kind, "a number above 0", self.width)

    def encode(self, value: object) -> int:
        return int((raw_number(self.of, value) - Fraction(self.origin)) // Fraction(self.width)) % self.base

    def labels(self) -> Sequence[object]:
        return range(self.base)
