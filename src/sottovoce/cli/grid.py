"""The audit on a grid over the registry, and of a specification in a file."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sottovoce.cli.show import progress, table
from sottovoce.core.channel.facets import dimensions_of
from sottovoce.core.domain import (
    Ball,
    Box,
    Circle,
    Domain,
    Integers,
    Interval,
    KeyValue,
    Pair,
    Record,
    Sets,
    Sparse,
    Words,
)
from sottovoce.core.errors import ParameterError, PluginWarning
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import decimal_text
from sottovoce.core.question import (
    Attributes,
    Boxes,
    Distribution,
    FrequentWords,
    GroupMean,
    KeyMeans,
    Mean,
    SetShares,
    VectorMean,
)
from sottovoce.core.registry import BUILDERS, fits, mechanism, names, registered_name
from sottovoce.fast.processes import ordered
from sottovoce.files.opening import input_name, naming
from sottovoce.files.places import reading
from sottovoce.privacy.audit import audit
from sottovoce.privacy.certificate import Certificate
from sottovoce.privacy.worst import WASTE, unused_budget

EPSILONS = ("0.1", "0.5", "1", "2", "4", "8")
SIZES = (2, 3, 4, 16, 1024)
VECTORS = (Box(-1, 1, 3), Sparse(3, 1), Sparse(1000, 3), Ball(1, 128))


def audit_grid(chosen: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """One row per mechanism, budget and size, computed on all cores.

    For a continuum of numbers the size is None; rows of vectors also have the number of coordinates, and rows of sets
    the number of items.
    """
    tasks: list[tuple[str, Domain, str, float]] = []
    for name in names() if chosen is None else chosen:
        domains = _domains(registered_name(name))  # which refuses a name that is not registered
        tasks += [(name, domain, epsilon, WASTE) for domain in domains for epsilon in EPSILONS]
    return (row for row in ordered(audit_one, tasks) if row is not None)


def audit_one(name: str, domain: Domain, epsilon: str, waste: float) -> dict[str, Any] | None:
    """The row of one mechanism, which may waste so much of its budget for each coordinate of a report.

    None where a mechanism of another distribution does not take this budget.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)  # which the process that lists them has shown
            subject = mechanism(name, domain, epsilon=epsilon)
    except ParameterError:
        if registered_name(name) in BUILDERS:
            raise
        return None
    certificate = audit(subject)
    wasted = unused_budget(subject, certificate.claimed, certificate.epsilon, waste)
    row = _row(subject, replace(certificate, waste=wasted))
    return {**row, "ok": certificate.ok and wasted is None, "unused": subject.unused}


def _domains(name: str) -> list[Domain]:
    """The domains of the grid: one range for a mean, since only the position in the range matters."""
    if name in names(Boxes):
        return [Record({"a": Integers(0, 3), "b": Integers(0, size - 1)}) for size in (3, 8)]
    if name in names(SetShares):
        return [Sets(range(count), 2) for count in (3, 8)]
    if name in names(FrequentWords):
        return [Words(longest=count) for count in (1, 5, 10)]
    if name in names(KeyMeans):
        return [KeyValue(range(count), Interval(-1, 1), 2) for count in (3, 8)]
    if name in names(Attributes):
        return [Record({"a": Integers(0, 2), "b": Integers(0, size - 1)}) for size in (2, 16)]
    if name in names(Mean):
        return [Interval(-1, 1)]
    if name in names(GroupMean):
        return [Pair(Integers(0, groups - 1), Interval(-1, 1)) for groups in (2, 8)]
    if name in names(VectorMean):
        return [domain for domain in VECTORS if fits(name, domain)]
    if name in names(Distribution):
        return [domain for domain in (Interval(0, 1), Circle(24), Integers(0, 15)) if fits(name, domain)]
    return [domain for domain in (Integers(0, size - 1) for size in SIZES) if fits(name, domain)]


def audit_file(path: str, place: int = 0, total: int = 1) -> dict[str, Any]:
    """The row of the mechanism whose specification is in a file."""
    name = input_name(path, place, total)
    with reading(path, name) as file, naming(name):
        subject = Mechanism.from_spec(file.read())
    return {**_row(subject, audit(subject)), "unused": subject.unused}


def _row(subject: Mechanism, certificate: Certificate) -> dict[str, Any]:
    claimed, listed = decimal_text(certificate.claimed), subject.domain.listed
    return {
        "name": subject.name,
        "parameters": {
            "epsilon": claimed,
            "size": subject.domain.size,
            "dimensions": dimensions_of(subject.channel),
            "items": None if listed is None else listed.size,
        },
        "claimed": claimed,
        "exact": certificate.epsilon,
        "how": certificate.how,
        "ok": certificate.ok,
        "problems": list(certificate.problems),
        "why": certificate.explain().splitlines()[1:] if certificate.problems or certificate.waste else [],
        "fingerprint": certificate.fingerprint,
    }


def show(rows: Sequence[Mapping[str, Any]]) -> None:
    """A table of rows; below it what is wrong, what repairs it, and which answers a report distinguishes best."""
    header = ("name", "size", "claimed", "exact", "how", "ok")
    lines = []
    for row in rows:
        size, dimensions = row["parameters"]["size"], row["parameters"]["dimensions"]
        codes, ok = "continuum" if size is None else str(size), "yes" if row["ok"] else "NO"
        codes = codes if dimensions is None else f"{dimensions} numbers"
        codes = codes if row["parameters"]["items"] is None else f"{row['parameters']['items']} items"
        lines.append((row["name"], codes, row["claimed"], f"{row['exact']:.9g}", row["how"], ok))
    table(header, lines)
    for row in rows:
        for sentence in row["why"]:
            print(f"{row['name']}: {sentence}")


def audit_all(specs: Sequence[str], chosen: Sequence[str] | None, *, as_json: bool) -> bool:
    """Audit files with specifications, or mechanisms on the grid; print the rows, and tell whether all claims hold."""
    if specs:
        rows = [audit_file(path, place, len(specs)) for place, path in enumerate(specs)]
    else:
        rows = list(progress(audit_grid(chosen), "audit", lambda row: (1, 0)))
    if as_json:
        print(json.dumps(rows))
    else:
        show(rows)
    return all(row["ok"] for row in rows)
