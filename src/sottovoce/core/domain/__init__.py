"""What a participant may hold, and views of it. Each kind is loaded when first used."""

from typing import TYPE_CHECKING, Any

from sottovoce.core.domain.base import Domain, domain_from_spec
from sottovoce.core.late import load

if TYPE_CHECKING:
    from sottovoce.core.domain.ball import Ball
    from sottovoce.core.domain.box import Box
    from sottovoce.core.domain.circle import Circle
    from sottovoce.core.domain.clamp import Clamp
    from sottovoce.core.domain.digit import Digit
    from sottovoce.core.domain.fields import Fields
    from sottovoce.core.domain.pair import Pair
    from sottovoce.core.domain.plain import Categories, Integers, Interval, Record
    from sottovoce.core.domain.powers import Powers
    from sottovoce.core.domain.sparse import Sparse
    from sottovoce.core.domain.text import Text
    from sottovoce.core.domain.views import Above, Bins, Level, Prefix, Select, Square

_HOMES = {
    "Ball": "ball",
    "Box": "box",
    "Categories": "plain",
    "Circle": "circle",
    "Clamp": "clamp",
    "Digit": "digit",
    "Fields": "fields",
    "Integers": "plain",
    "Interval": "plain",
    "Pair": "pair",
    "Powers": "powers",
    "Record": "plain",
    "Sparse": "sparse",
    "Text": "text",
    "Above": "views",
    "Bins": "views",
    "Level": "views",
    "Prefix": "views",
    "Select": "views",
    "Square": "views",
}

__all__ = [
    "Above",
    "Ball",
    "Bins",
    "Box",
    "Categories",
    "Circle",
    "Clamp",
    "Digit",
    "Domain",
    "Fields",
    "Integers",
    "Interval",
    "Level",
    "Pair",
    "Powers",
    "Prefix",
    "Record",
    "Select",
    "Sparse",
    "Square",
    "Text",
    "domain_from_spec",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load(f"core.domain.{_HOMES[name]}:{name}")
