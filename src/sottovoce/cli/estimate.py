"""`sottovoce estimate`: estimates with intervals."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import floor, isfinite, log10
from typing import Any, cast

import numpy as np

from sottovoce.cli.domains import BETWEEN, lines_of
from sottovoce.cli.show import comma_separated, note, printable, table
from sottovoce.core.domain import Domain
from sottovoce.core.errors import ParameterError
from sottovoce.core.language.plural import plural
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.simulation import COLUMN
from sottovoce.estimate.decoder import decoder
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds, Offer
from sottovoce.estimate.joint.estimates import JointEstimate, TableEstimate
from sottovoce.estimate.request import IntervalRequest
from sottovoce.files.opening import cells
from sottovoce.tally.tally import Tally

NUMBERS = ("estimate", "std_error", "low", "high")


def candidates_of(mechanism: Mechanism, listed: str | None, path: str | None) -> list[object] | None:
    """The answers of interest as the domain holds them; None for all of them."""
    if listed is not None and path is not None:
        raise ParameterError("Candidates are given by --candidates or by --candidates-file, not by both.")
    if listed is None and path is None:
        return None
    texts = (
        cells(listed, skipinitialspace=True) if listed is not None else lines_of(str(path), "The file of candidates")
    )
    return [mechanism.domain.typed(text) for text in texts]


def estimate(
    tally: Tally,
    interval: IntervalRequest,
    *,
    decoder: str | None,
    candidates: list[object] | None = None,
    top: int | None,
    form: str,
    ratio: str | None = None,
) -> None:
    """Print the estimate as a table, as JSON or as CSV."""
    estimated = estimate_of(tally, decoder, candidates)
    said = _association(estimated, ratio, interval)
    bounds = _bounds(estimated, interval)
    rows, remark = _rows(estimated, interval, bounds, top), estimated.remark(bounds, target=interval.target)
    if form == "json":
        finite = [{key: _finite(value) for key, value in row.items()} for row in rows]
        beside = {"association": said} if said else {}
        print(json.dumps({**_about(estimated, interval), "remark": remark, **beside, "rows": finite}))
        return
    say: Callable[[str], None] = print
    if form == "csv":
        mark = [COLUMN] if estimated.simulated else []
        names = (*estimated.axes.keys, *NUMBERS)
        comma_separated([*names, *mark], ([*(row[name] for name in names), *["true"] * len(mark)] for row in rows))
        say = note
    else:
        _table(estimated, interval, rows, bounds if top is None else None)
    for sentence in (*said, *estimated.notes):
        say(sentence)
    if remark is not None:
        say(remark)


def _bounds(estimate: Estimate, interval: IntervalRequest) -> Bounds:
    doubt = estimate.doubt(interval.level, method=interval.method, simultaneous=interval.simultaneous)
    if doubt is not None:
        note(doubt)
    return estimate.quiet_ci(
        interval.level, method=interval.method, target=interval.target, simultaneous=interval.simultaneous
    )


def _rows(estimate: Estimate, interval: IntervalRequest, bounds: Bounds, top: int | None) -> list[dict[str, Any]]:
    order = np.arange(len(estimate.values))
    if top is not None:
        order = np.argsort(-estimate.values, kind="stable")[:top]
    labels = dict(zip(estimate.axes.keys, estimate.axes.columns(), strict=True))
    columns = (estimate.values, np.sqrt(estimate.evidence.variances(interval.target)), *bounds)
    numbers = dict(zip(NUMBERS, columns, strict=True))
    return [
        {name: column[int(code)] for name, column in labels.items()}
        | {name: float(column[code]) for name, column in numbers.items()}
        for code in order
    ]


def _finite(value: Any) -> Any:
    """JSON has no infinity."""
    return None if isinstance(value, float) and not isfinite(value) else value


def _about(estimate: Estimate, interval: IntervalRequest) -> dict[str, Any]:
    return {
        "question": estimate.question.kind,
        "mechanism": estimate.mechanism.name,
        "epsilon": estimate.mechanism.epsilon,
        "fingerprint": estimate.mechanism.fingerprint,
        "n": estimate.n,
        **estimate.chosen(interval).to_dict(),
        "decoder": estimate.decoder.name,
        "simulation": estimate.simulated,
    }


def _table(estimate: Estimate, interval: IntervalRequest, rows: list[dict[str, Any]], bounds: Bounds | None) -> None:
    # Two digits of the smallest standard error: more would be noise, fewer would hide it.
    smallest = min((row["std_error"] for row in rows if row["std_error"] > 0), default=1e-4)
    digits = min(12, max(2, 1 - floor(log10(smallest))))
    names = estimate.axes.keys
    lines = [
        [*(printable(row[name]) for name in names), *(f"{row[name]:.{digits}f}" for name in NUMBERS)] for row in rows
    ]
    if bounds is None or not _cross_table(estimate, bounds, digits):
        table((*names, "estimate", "std error", "low", "high"), lines, numbers=4)
    together = ", all of them at once" if interval.simultaneous else ""
    kind = f", {estimate.quality}" if estimate.decoder.moves else ""
    intervals = "interval" if len(estimate.values) == 1 else "intervals"
    what = plural(estimate.n, "simulated report" if estimate.simulated else "report")
    print(
        f"{what} through {estimate.mechanism.name}, epsilon {estimate.mechanism.epsilon:.6g}{kind};"
        f" {interval.level:.6g} {estimate.chosen(interval).method} {intervals} for the {interval.target}{together}."
    )


# --- cross tables ---------------------------------------------------------------------------------
def estimate_of(tally: Tally, name: str | None, candidates: list[object] | None) -> Estimate:
    """The estimate of a tally through a decoder; of a cross table that table, also of a joint fit."""
    estimated: Estimate = tally.mechanism.estimate(tally, candidates=candidates)
    if not isinstance(estimated, JointEstimate):
        return estimated if name is None else tally.mechanism.estimate(tally, decoder=name, candidates=candidates)
    joint: Any = estimated
    names = joint.evidence.asked.tables[0]
    if name is not None and Offer.TABLES in decoder(name).needs:
        fitted: Estimate = joint.decoded(name).table(*names)
        return fitted
    table: Estimate = joint.table(*names)
    return table if name is None else table.decoded(name)


def _cross_table(estimate: Estimate, bounds: Bounds, digits: int) -> bool:
    """A table of two attributes with rows, columns and totals; whether the estimate is one."""
    if not isinstance(estimate, TableEstimate) or len(estimate.axes.each) != 2:
        return False
    first, second = estimate.axes.each
    shape = len(first.labels), len(second.labels)
    values, low, high = (numbers.reshape(shape) for numbers in (estimate.values, *bounds))
    header = (f"{printable(first.name)} / {printable(second.name)}", *map(printable, second.labels), "all")
    rows = [
        [
            printable(label),
            *(
                f"{values[row, place]:.{digits}f} ({low[row, place]:.{digits}f} to {high[row, place]:.{digits}f})"
                for place in range(shape[1])
            ),
            f"{values[row].sum():.{digits}f}",
        ]
        for row, label in enumerate(first.labels)
    ]
    totals = ["all", *(f"{total:.{digits}f}" for total in values.sum(axis=0)), f"{values.sum():.{digits}f}"]
    table(header, [*rows, totals], numbers=shape[1] + 1)
    return True


def _association(estimate: Estimate, ratio: str | None, request: IntervalRequest) -> list[str]:
    """How strongly two attributes depend, and the ratios of an outcome for two groups."""
    if not isinstance(estimate, TableEstimate) or len(estimate.axes.each) != 2:
        if ratio is not None:
            raise ParameterError("--ratio is for a table of two columns.")
        return []
    said = [estimate.cramers_v(level=request.level).explain()]
    if ratio is not None:
        parts = [part.strip() for part in ratio.split(BETWEEN)]
        if len(parts) != 3:
            raise ParameterError('--ratio needs an outcome and two groups, such as --ratio "smokes;18-39;65+".')
        first, second = (cast(Domain, axis.domain) for axis in estimate.axes.each)
        outcome, group, other = (
            _label(domain, part) for domain, part in zip((second, first, first), parts, strict=True)
        )
        target = request.target.value
        for compare in (estimate.relative_risk, estimate.odds_ratio):
            said.append(compare(outcome, group, other, level=request.level, target=target).explain())
    return said


def _label(domain: Domain, text: str) -> object:
    """The label that a text stands for; texts that are no label are refused where they are used."""
    return next((label for label in domain.labels() if str(label) == text), text)
