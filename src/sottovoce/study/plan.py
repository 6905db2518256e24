"""Plans: ranked ways to answer a question, each with its predicted error and the reason for its place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sottovoce.core import codec
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_integer
from sottovoce.core.registry import mechanism as build
from sottovoce.core.registry import names

if TYPE_CHECKING:
    import pandas as pd

CLOSE = 1.02  # errors this near to the smallest are as good


@dataclass(frozen=True, slots=True)
class Option:
    """One way to answer: its exact predicted standard error and what a report costs."""

    mechanism: Mechanism
    std_error: float
    bytes_per_report: int
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Options, best first."""

    question: str
    participants: int
    options: tuple[Option, ...]

    @property
    def best(self) -> Option:
        return self.options[0]

    def explain(self) -> str:
        """The plan in words."""
        lines = [f"{self.question}, {self.participants:,} participants:"]
        for place, option in enumerate(self.options, 1):
            lines.append(
                f"{place}. {option.mechanism.name}: standard error {option.std_error:.4g},"
                f" {option.bytes_per_report} bytes beside the id; {option.reason}"
            )
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """The plan as a table."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "method": option.mechanism.name,
                    "std_error": option.std_error,
                    "bytes": option.bytes_per_report,
                    "reason": option.reason,
                }
                for option in self.options
            ]
        )


def plan_frequency(
    domain: Domain,
    *,
    epsilon: Any,
    participants: int,
    shares: Any = None,
    methods: Sequence[str] | None = None,
) -> Plan:
    """Rank the frequency oracles by the exact root mean square error of a share.

    Without `shares` all values are taken to be equally common. Methods within two percent of the smallest error
    come first, by the bytes of a report.
    """
    n = check_integer("participants", "plan_frequency", participants, 1, 1 << 53)
    size = domain.size
    if size is None:
        raise ParameterError("A plan for frequencies needs a domain with finitely many codes.")
    truth = np.full(size, 1 / size) if shares is None else np.asarray(shares, float)
    candidates = []
    for name in methods or names():
        try:
            mechanism = build(name, domain, epsilon=epsilon)
        except ParameterError:
            continue
        error = math.sqrt(float(np.mean(mechanism.variance(truth, n))))
        candidates.append((error, codec.payload_bytes(mechanism.channel), mechanism))
    if not candidates:
        raise ParameterError(f"No method can ask {size} categories with epsilon {epsilon}.")
    least = min(error for error, _, _ in candidates)
    candidates.sort(key=lambda item: (False, item[1]) if item[0] <= CLOSE * least else (True, item[0]))
    options = tuple(
        Option(mechanism, error, size_, _reason(error / least, size_, candidates[0][1]))
        for error, size_, mechanism in candidates
    )
    return Plan(f"Shares of {size} categories at epsilon {epsilon}", n, options)


def _reason(ratio: float, size: int, best_size: int) -> str:
    if ratio < 1.0005:
        error = "no method has a smaller error"
    else:
        error = f"{ratio:.3g} times the smallest error"
    if size == best_size:
        return f"{error}."
    return f"{error}, reports {size / best_size:.3g} times the size of the first choice."
