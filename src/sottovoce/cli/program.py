"""The black-box audit of a program, by its reports alone."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sottovoce.core.params import count_text
from sottovoce.privacy.blackbox import BlackBoxCertificate, audit_black_box, command_source

SAMPLES = 20_000  # of each value
SINGLE_SAMPLES = 1_000  # where the program is started for each


def audit_program(
    program: Sequence[str],
    values: Sequence[str],
    *,
    claimed: str,
    samples: int | None,
    lines: str,
    skip: int,
    timeout: float,
    as_json: bool,
) -> bool:
    """Draw, compare, print; whether the claim is refuted. Values are named by their numbers, not repeated."""
    source = command_source(list(program), lines=lines, timeout=timeout)
    many = any("{count}" in part for part in program)
    wanted = samples if samples is not None else SAMPLES if many else SINGLE_SAMPLES
    found = audit_black_box(source, list(values), claimed=claimed, samples=wanted, skip=skip)
    print(json.dumps(_row(found, values)) if as_json else _text(found, values))
    return found.refuted


def _places(found: BlackBoxCertificate, values: Sequence[str]) -> list[int] | None:
    """Which values the event distinguishes, counted from 1."""
    return None if found.values is None else [values.index(value) + 1 for value in found.values]


def _row(found: BlackBoxCertificate, values: Sequence[str]) -> dict[str, object]:
    return {
        "claimed": str(found.claimed),
        "epsilon_lower": found.epsilon_lower,
        "level": found.level,
        "refuted": found.refuted,
        "event": found.event,
        "values": _places(found, values),
        "counts": found.counts,
        "samples": found.samples,
        "drawn": found.drawn,
    }


def _text(found: BlackBoxCertificate, values: Sequence[str]) -> str:
    places, drawn = _places(found, values), count_text(found.drawn)
    if places is None or found.counts is None:
        return f"Not refuted: nothing was found in {drawn} reports, which does not confirm epsilon {found.claimed}."
    verdict = "REFUTED" if found.refuted else "Not refuted, which does not confirm it"
    (first, second), (more, fewer) = places, found.counts
    return (
        f"{verdict}: epsilon {found.claimed} is claimed, at least {found.epsilon_lower:.4g} was found"
        f" (confidence 1 - {1 - found.level:.3g}, {drawn} reports).\n"
        f"Why: {found.event}, in {more} of {found.samples} reports of value {first} and in {fewer} of value {second}."
    )
