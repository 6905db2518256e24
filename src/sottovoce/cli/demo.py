"""The demonstration: a simulated crowd with a known truth answers in private."""

from __future__ import annotations

import html
import json
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from sottovoce.core.domain import Categories
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Frequency
from sottovoce.estimate.estimate import Estimate
from sottovoce.estimate.evidence import Bounds
from sottovoce.files.opening import check_free, writing
from sottovoce.privacy.audit import audit
from sottovoce.privacy.certificate import Certificate
from sottovoce.study.plan import plan

QUESTION = "When do you work best?"
ANSWERS = ("early morning", "late morning", "afternoon", "evening", "after midnight")
TRUTH = (0.18, 0.37, 0.2, 0.19, 0.06)
SEED = 1
SHOWN = (0.0, 0.56)  # shares that fit on the picture
CELLS = 57  # characters of its lines: one for each hundredth


def demo(
    participants: int, epsilon: float, *, open_page: bool, as_json: bool, file: str | None = None, force: bool = False
) -> None:
    """Ask, estimate, audit, and show; the picture goes to a file where one is named."""
    if file is not None:
        check_free(file, force, name="The picture")
    counts = np.floor(np.array(TRUTH) * participants).astype(int)
    counts[0] += participants - counts.sum()
    values = np.repeat(ANSWERS, counts)
    question = Frequency(Categories(ANSWERS))
    mechanism = plan(question, epsilon=epsilon, participants=participants).best.mechanism
    estimate: Estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(values, seed=SEED)))
    certificate = audit(mechanism)
    rows, remark = _rows(estimate, counts / participants), estimate.remark(_bounds(estimate), target="sample")
    if file is not None:
        with writing(file, force=force, name="The picture") as stream:
            stream.write(f"{picture(estimate, rows)}\n".encode())
    if as_json:
        about = {"mechanism": mechanism.name, "epsilon": certificate.epsilon, "remark": remark}
        print(json.dumps({**about, "rows": rows}))
        return
    _show(mechanism, estimate, certificate, rows)
    if remark is not None:
        print(remark)
    if open_page:
        path = Path(tempfile.mkdtemp(prefix="sottovoce-")) / "demo.html"
        path.write_text(page(estimate, certificate, rows, remark), encoding="utf-8")
        print(f"\nA picture of it: {path}")
        webbrowser.open(path.as_uri())


def _bounds(estimate: Estimate) -> Bounds:
    return estimate.ci(0.95, method="bounded", target="sample")


def _rows(estimate: Estimate, truth: Any) -> list[dict[str, Any]]:
    low, high = _bounds(estimate)
    return [
        {
            "answer": answer,
            "truth": float(truth[i]),
            "estimate": float(estimate.values[i]),
            "low": float(low[i]),
            "high": float(high[i]),
        }
        for i, answer in enumerate(ANSWERS)
    ]


def _show(mechanism: Mechanism, estimate: Estimate, certificate: Certificate, rows: list[dict[str, Any]]) -> None:
    console = Console()
    console.print(f'[bold]"{QUESTION}"[/bold]  {estimate.n:,} people answer; each device adds noise before it sends.')
    table = Table("answer", "truth", "estimate", "95 % interval", "inside?")
    for row in rows:
        inside = row["low"] <= row["truth"] <= row["high"]
        table.add_row(
            row["answer"],
            f"{row['truth']:.4f}",
            f"{row['estimate']:.4f}",
            f"{row['low']:.4f} to {row['high']:.4f}",
            "yes" if inside else "no",
        )
    console.print(table)
    print("\n".join(_lines(rows)), end="\n\n")
    message = mechanism.randomize(ANSWERS[0])
    console.print(f"Method {mechanism.name}; what one device sent, id and noise: {message.hex()}", soft_wrap=True)
    console.print(
        f"Exact epsilon of the shipped sampler: {certificate.epsilon:.12g} ({certificate.how};"
        f" claimed {certificate.claimed}, {'holds' if certificate.ok else 'FAILS'}).",
        soft_wrap=True,
    )


def page(estimate: Estimate, certificate: Certificate, rows: list[dict[str, Any]], remark: str | None = None) -> str:
    """One self-contained page: no scripts, no network requests."""
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>sottovoce</title>'
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}</style>"
        f"<h1>{html.escape(QUESTION)}</h1><p>{estimate.n:,} people answered; every device added noise before it sent"
        f" anything.</p>"
        f"{picture(estimate, rows)}"
        f"{'' if remark is None else '<p>' + html.escape(remark) + '</p>'}"
        f"<p>Exact epsilon of the shipped sampler: {certificate.epsilon:.9g} ({html.escape(certificate.how)}).</p>"
        "</html>"
    )


def picture(estimate: Estimate, rows: list[dict[str, Any]]) -> str:
    """Truth, estimate and interval of each answer, as SVG."""
    bars = []
    for place, row in enumerate(rows):
        y = 30 + 44 * place
        shown = {key: min(max(float(row[key]), SHOWN[0]), SHOWN[1]) for key in ("truth", "estimate", "low", "high")}
        x = {key: 190 + 900 * value for key, value in shown.items()}
        bars.append(
            f'<text x="180" y="{y + 5}" text-anchor="end">{html.escape(row["answer"])}</text>'
            f'<line x1="{x["low"]:.1f}" x2="{x["high"]:.1f}" y1="{y}" y2="{y}" stroke="#47c" stroke-width="6"'
            f' stroke-opacity=".35"/><circle cx="{x["estimate"]:.1f}" cy="{y}" r="5" fill="#47c"/>'
            f'<path d="M{x["truth"]:.1f} {y - 11}v22" stroke="#c43" stroke-width="2"/>'
        )
    bottom = 20 + 44 * len(rows)
    for tenth in range(6):
        x_tick = 190 + 90 * tenth
        bars.append(
            f'<path d="M{x_tick} {bottom - 10}v5" stroke="#888"/><text x="{x_tick}" y="{bottom + 12}"'
            f' text-anchor="middle" fill="#888">{tenth / 10:.1f}</text>'
        )
    bars.append(
        f'<text x="190" y="{bottom + 42}"><tspan fill="#47c">Blue: estimate and 95 % interval from {estimate.n:,} noisy'
        f' reports.</tspan> <tspan fill="#c43">Red: the truth, never sent.</tspan></text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {bottom + 56}" font-family="sans-serif"'
        f' font-size="15" role="img" aria-label="estimates with intervals beside the truth">'
        f"{''.join(bars)}</svg>"
    )


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    """The picture of truth and estimates in characters."""
    lines = []
    for row in rows:
        at = {key: _cell(float(row[key])) for key in ("low", "high", "estimate", "truth")}
        cells = ["-" if at["low"] <= place <= at["high"] else " " for place in range(CELLS)]
        cells[at["estimate"]] = "o"
        cells[at["truth"]] = "*" if at["truth"] == at["estimate"] else "|"
        lines.append(f"{row['answer']:>16}  {''.join(cells).rstrip()}")
    return [*lines, f"{'':>16}  | truth, o estimate, * both, --- 95 % interval"]


def _cell(share: float) -> int:
    """Where a share stands in a line of characters."""
    within = min(max(share, SHOWN[0]), SHOWN[1])
    return round((within - SHOWN[0]) / (SHOWN[1] - SHOWN[0]) * (CELLS - 1))
