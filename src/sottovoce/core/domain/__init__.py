"""What a participant may hold, and views of it. Each kind is loaded when first used."""

from typing import Any

from sottovoce.core.domain.base import KINDS
from sottovoce.core.late import attribute, by_name

_OTHERS = ("core.domain.base:Domain", "core.domain.base:View", "core.domain.base:domain_from_spec")
_NAMES = by_name(*KINDS.values(), *_OTHERS)  # type checkers read them in the stub, written by `scripts.write_stub`


def __getattr__(name: str) -> Any:
    return attribute(__name__, _NAMES, name)
