"""The description of one comparison; apart from the runner, which runs as ``__main__``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One operation that both sides offer."""

    peer: str
    operation: str  # "privatize", "tally" or "tally + estimate"
    mechanism: str  # our name
    k: int
    #: Given codes, returns the peer's timed call; what precedes the operation happens before it.
    make: Callable[[np.ndarray], Callable[[], object]]
    target: float | None
    #: Options of our mechanism, where the peer's variant is not our default.
    options: tuple[tuple[str, Any], ...] = ()
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or f"{self.mechanism} {self.operation}, k={self.k}"
