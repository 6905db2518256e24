"""The audit on a grid over the registry, and of a specification in a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sottovoce.cli.files import naming, reading
from sottovoce.cli.show import table
from sottovoce.core.domain import Integers
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.core.registry import builder, fits, mechanism, names
from sottovoce.privacy.audit import Certificate, audit

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
SIZES = (2, 3, 4, 16, 1024)
WASTE = 1e-6

# Mechanisms that do not spend their whole budget, and why. Empty: none of the registered ones wastes any.
EXCEPTIONS: dict[str, str] = {}


def audit_grid(chosen: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """One row per mechanism, budget and size."""
    for name in names() if chosen is None else chosen:
        builder(name)  # a name that is not registered is refused; it must not pass as nothing to audit
        for size in SIZES:
            for epsilon in EPSILONS:
                if not fits(name, Integers(0, size - 1)):
                    continue
                subject = mechanism(name, Integers(0, size - 1), epsilon=epsilon)
                certificate = audit(subject)
                wasted = float(certificate.claimed) - certificate.epsilon
                row = _row(subject, certificate)
                yield {
                    **row,
                    "ok": row["ok"] and (wasted <= WASTE or name in EXCEPTIONS),
                    "exception": EXCEPTIONS.get(name) if wasted > WASTE else None,
                }


def audit_file(path: str) -> dict[str, Any]:
    """The row of the mechanism whose specification is in a file."""
    with reading(path) as file, naming(path):
        subject = Mechanism.from_spec(file.read())
    return {**_row(subject, audit(subject)), "exception": None}


def _row(subject: Mechanism, certificate: Certificate) -> dict[str, Any]:
    claimed = decimal_text(certificate.claimed)
    return {
        "name": subject.name,
        "parameters": {"epsilon": claimed, "size": subject.domain.size},
        "claimed": claimed,
        "exact": certificate.epsilon,
        "how": certificate.how,
        "ok": certificate.ok,
        "problems": list(certificate.problems),
        "fingerprint": certificate.fingerprint,
    }


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """A table of rows; what is wrong stands below it."""
    header = ("name", "size", "claimed", "exact", "how", "ok")
    lines = []
    for row in rows:
        size, ok = str(row["parameters"]["size"]), "yes" if row["ok"] else "NO"
        lines.append((row["name"], size, row["claimed"], f"{row['exact']:.9g}", row["how"], ok))
    table(header, lines)
    for row in rows:
        for problem in row["problems"]:
            print(f"{row['name']}: {problem}")
