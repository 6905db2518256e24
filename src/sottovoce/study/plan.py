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
from sottovoce.core.mechanism import MAX_CELLS, Mechanism
from sottovoce.core.params import check_epsilon, check_integer, reject
from sottovoce.core.question import Frequency
from sottovoce.core.registry import builder, names
from sottovoce.core.registry import mechanism as build
from sottovoce.core.statistic.supports import CountSupports

if TYPE_CHECKING:
    import pandas as pd

MANY = 4096  # candidates from which on one hash for each report and candidate is too much work
CLOSE = 1.02  # errors this near to the smallest are as good


@dataclass(frozen=True, slots=True)
class Option:
    """One way to answer: its exact predicted standard error and what a report costs."""

    mechanism: Mechanism
    std_error: float
    bytes_per_report: int
    reason: str
    variant: str = ""  # of a method that comes in several

    @property
    def method(self) -> str:
        """The name of the method, with its variant."""
        return f"{self.mechanism.name} ({self.variant})" if self.variant else self.mechanism.name


@dataclass(frozen=True, slots=True)
class Plan:
    """Options, best first; `advice` says in words what follows from them."""

    question: str
    participants: int
    options: tuple[Option, ...]
    advice: str = ""

    @property
    def best(self) -> Option:
        """The first choice."""
        return self.options[0]

    def explain(self) -> str:
        """The plan in words."""
        lines = [f"{self.question}, {self.participants:,} participants:"]
        for place, option in enumerate(self.options, 1):
            lines.append(
                f"{place}. {option.method}: standard error {option.std_error:.4g},"
                f" {option.bytes_per_report} byte{'s' * (option.bytes_per_report > 1)} beside the id; {option.reason}"
            )
        if self.advice:
            lines.append(self.advice)
        return "\n".join(lines)

    def to_frame(self) -> pd.DataFrame:
        """The plan as a table."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "method": option.method,
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
    come first: by the bytes of a report, for very many categories by the work of a tally, and then by their error.
    """
    n = check_integer("participants", "plan_frequency", participants, 1, 1 << 53)
    check_epsilon("plan_frequency", epsilon)
    if not isinstance(domain, Domain) or domain.size is None:
        raise reject("domain", "plan_frequency", "a domain with finitely many codes", domain)
    size = domain.size
    if size > MAX_CELLS:
        raise ParameterError(f"A tally has at most 2**24 cells; there is no method for {size} categories.")
    chosen = names(Frequency) if methods is None else list(methods)
    for name in chosen:
        builder(name)  # refuses a name that is not registered, where a method that does not fit is left out
    truth = np.full(size, 1 / size) if shares is None else np.asarray(shares, float)
    if not np.isfinite(truth).all():
        raise reject("shares", "plan_frequency", "finite numbers", shares)
    candidates = []
    for name in chosen:
        try:
            mechanism = build(name, domain, epsilon=epsilon)
        except ParameterError:
            continue
        error = math.sqrt(float(np.mean(mechanism.variance(truth, n))))
        candidates.append((error, codec.payload_bytes(mechanism.channel), mechanism))
    if not candidates:
        tried = ", ".join(chosen) or "none"
        raise ParameterError(f"No method can ask {size} categories with epsilon {epsilon}. Tried: {tried}.")
    least = min(error for error, _, _ in candidates)
    candidates.sort(key=lambda item: _rank(item[2], item[0] / least, item[1]))
    options = tuple(
        Option(mechanism, error, size_, _reason(error / least, size_, candidates[0][1]))
        for error, size_, mechanism in candidates
    )
    return Plan(f"Shares of {size} categories at epsilon {epsilon}", n, options)


def _rank(mechanism: Mechanism, ratio: float, size: int) -> tuple[bool, float, float, float]:
    """Close ones first, by bytes; between equals the one whose tally does not hash every candidate."""
    hashes_each_candidate = mechanism.channel.publics > 0 and isinstance(mechanism.statistic, CountSupports)
    slow = hashes_each_candidate and mechanism.channel.inputs > MANY
    return (False, size, slow, ratio) if ratio <= CLOSE else (True, ratio, size, slow)


def _reason(ratio: float, size: int, best_size: int) -> str:
    if ratio == 1:
        error = "no method has a smaller error"
    elif ratio <= CLOSE:
        error = f"an error within {math.ceil(1000 * (ratio - 1)) / 10:.1f} % of the smallest"
    else:
        error = f"{ratio:.3g} times the smallest error"
    if size == best_size:
        return f"{error}."
    return f"{error}, reports {size / best_size:.3g} times the size of the first choice."
