"""Fake reports in the results of a study: alarms, and bounds on how far they can move each estimate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from sottovoce.core.channel.facets import stages_of
from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.language.plural import plural
from sottovoce.core.round import Tallies
from sottovoce.estimate.estimate import Estimate
from sottovoce.privacy.alarms import Checks, alarms
from sottovoce.privacy.manipulation import Manipulation, what_if
from sottovoce.service.stores.base import Ints
from sottovoce.study.results import QuestionResult

FAKES = 0.01  # the share of fake reports in what is said beside each estimate
MOST_FAKES = 0.5


def alarms_of(
    manifests: Sequence[Manifest], rounds: Sequence[Tallies], first_bytes: Ints, conflicts: int
) -> tuple[str, ...]:
    """Alarms about reports that honest devices would not send. Each count test has false-alarm probability 10**-6."""
    forged = []
    if conflicts:
        forged.append(
            f"{plural(conflicts, 'report', ',')} came with the id of another report and other bytes: someone is"
            " forging reports."
        )
    # A device that keeps a cohort draws ids that fit it, so the ids of its reports are not independent.
    kept = any(stages_of(arm.mechanism.channel) is not None for one in manifests for arm in one.stage.arms)
    checks = [] if kept else list(alarms((), first_bytes=first_bytes.tolist()).checks)
    for manifest, tallies in zip(manifests, rounds, strict=True):
        if any(tally.n for tally in tallies):
            checks += alarms(tallies, arms=manifest.stage).checks
    return (*forged, *(one.text(alarm=True) for one in Checks(tuple(checks)).raised))


def manipulations(result: QuestionResult, share: float, reports: int) -> dict[str, Manipulation]:
    """Bounds on the effect of a share of fake reports, for each estimate with a known bound.

    An invitation limits how many reports somebody sends, not which id each has.
    """
    bounds = {}
    for name, estimate in result.estimates.items():
        with suppress(ParameterError):  # an estimate whose bound is not known
            if isinstance(estimate, Estimate):
                bounds[name] = what_if(estimate, share, of=max(reports, estimate.n))
    return bounds


def manipulation_rows(questions: Sequence[QuestionResult], share: float, reports: int) -> list[dict[str, Any]]:
    """Bounds on the effect of fake reports as plain data, one entry for each estimate."""
    return [
        {
            "question": result.asked.name,
            **({"arm": result.arm} if result.arm else {}),
            "measure": name,
            "text": bounds.text(),
            "rows": [
                {"label": label, "low": _plain(low), "high": _plain(high), "moves": _plain(moves)}
                for label, low, high, moves in zip(
                    bounds.estimate.axes.texts(), bounds.low, bounds.high, bounds.moves, strict=True
                )
            ],
        }
        for result in questions
        for name, bounds in manipulations(result, share, reports).items()
    ]


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
