"""What a participant may hold, and views of it."""

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.domain.plain import Categories, Integers, Interval, Record
from sottovoce.core.domain.views import Above, Bins, Level, Prefix, Select, Square

__all__ = [
    "Above",
    "Bins",
    "Categories",
    "Domain",
    "Integers",
    "Interval",
    "Level",
    "Prefix",
    "Record",
    "Select",
    "Square",
    "domain_from_spec",
]
