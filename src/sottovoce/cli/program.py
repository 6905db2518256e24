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
    certificate = audit_black_box(source, list(values), claimed=claimed, samples=wanted, skip=skip)
    print(json.dumps(_row(certificate, values)) if as_json else _text(certificate, values))
    return certificate.refuted


def _places(certificate: BlackBoxCertificate, values: Sequence[str]) -> list[int] | None:
    """Which values the event distinguishes, counted from 1."""
    return None if certificate.values is None else [values.index(value) + 1 for value in certificate.values]


def _row(certificate: BlackBoxCertificate, values: Sequence[str]) -> dict[str, object]:
    return {
        "claimed": str(certificate.claimed),
        "epsilon_lower": certificate.epsilon_lower,
        "level": certificate.level,
        "refuted": certificate.refuted,
        "event": certificate.event,
        "values": _places(certificate, values),
        "counts": certificate.counts,
        "samples": certificate.samples,
        "drawn": certificate.drawn,
    }


def _text(certificate: BlackBoxCertificate, values: Sequence[str]) -> str:
    places, drawn = _places(certificate, values), count_text(certificate.drawn)
    if places is None or certificate.counts is None:
        return (
            f"Not refuted: nothing was found in {drawn} reports, which does not confirm epsilon {certificate.claimed}."
        )
    verdict = "REFUTED" if certificate.refuted else "Not refuted, which does not confirm it"
    (first, second), (more, fewer) = places, certificate.counts
    return (
        f"{verdict}: epsilon {certificate.claimed} is claimed, at least {certificate.epsilon_lower:.4g} was found"
        f" (confidence 1 - {1 - certificate.level:.3g}, {drawn} reports).\n"
        f"Why: {certificate.event}, in {more} of {certificate.samples} reports of value {first}"
        f" and in {fewer} of value {second}."
    )
