"""How far fake reports could move the estimates of a question, as one sentence."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace

from sottovoce.core.errors import ParameterError
from sottovoce.privacy.manipulation import what_if
from sottovoce.study.display.numbers import POINTS, SPACE, decimals
from sottovoce.study.display.shown import ShownResult

FAKES = 0.01  # the share of fake reports in what is said beside each estimate


def fake_sentence(shown: ShownResult, reports: int) -> str:
    """The largest effect of a share of fake reports, rounded up; empty where no bound is known.

    `reports` are those of the whole study: fake reports may all be about this question.
    """
    if shown.estimate is None:
        return ""
    with suppress(ParameterError):  # an estimate whose bound is not known
        moves = what_if(shown.estimate, FAKES, of=max(reports, shown.estimate.n)).moves
        known = [float(move) for move in moves if not math.isnan(move)]
        noun, assumed = shown.estimate.evidence.noun, f"If {100 * FAKES:g}{SPACE}% of the reports were fake,"
        if not known or math.isinf(max(known)):
            return f"{assumed} a {noun} could be off by any amount."
        size = _rounded_up(shown, max(known))
        if len(moves) > 1:
            return f"{assumed} no {noun} would be off by more than {size}."
        return f"{assumed} the {noun} would be off by at most {size}."
    return ""


def _rounded_up(shown: ShownResult, move: float) -> str:
    """A bound with two digits, rounded up, with its unit."""
    scale = replace(shown.scale, places=0)
    size = scale.factor * move
    places = max(0, decimals(size) + (1 if size < 10 else 0))
    step = 10.0**-places
    up = math.ceil(size / step - 1e-9) * step
    unit = f"percentage {POINTS}" if scale.is_share else scale.unit
    return f"{up:,.{places}f}{SPACE}{unit}".rstrip()
