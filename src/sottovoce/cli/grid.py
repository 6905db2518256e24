"""The grid of the audit over the registry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sottovoce.core.domain import Integers
from sottovoce.core.registry import fits, mechanism, names
from sottovoce.privacy.audit import audit

EPSILONS = ("0.1", "0.5", "1", "2", "3", "4", "6", "8")
SIZES = (2, 3, 4, 16, 100, 1024)
WASTE = 1e-6

# Mechanisms that do not spend their whole budget, and why. Empty: none of the registered ones wastes any.
EXCEPTIONS: dict[str, str] = {}


def audit_grid(chosen: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """One row per mechanism, budget and size."""
    for name in chosen or names():
        for size in SIZES:
            for epsilon in EPSILONS:
                if not fits(name, Integers(0, size - 1)):
                    continue
                subject = mechanism(name, Integers(0, size - 1), epsilon=epsilon)
                certificate = audit(subject)
                wasted = float(certificate.claimed) - certificate.epsilon
                yield {
                    "name": name,
                    "parameters": {"epsilon": epsilon, "size": size},
                    "claimed": epsilon,
                    "exact": certificate.epsilon,
                    "how": certificate.how,
                    "ok": certificate.ok and (wasted <= WASTE or name in EXCEPTIONS),
                    "problems": list(certificate.problems),
                    "exception": EXCEPTIONS.get(name) if wasted > WASTE else None,
                    "fingerprint": certificate.fingerprint,
                }
