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
from sottovoce.privacy.audit import audit
from sottovoce.privacy.certificate import Certificate
from sottovoce.study.plan import plan

QUESTION = "When do you work best?"
ANSWERS = ("early morning", "late morning", "afternoon", "evening", "after midnight")
TRUTH = (0.18, 0.37, 0.2, 0.19, 0.06)
SEED = 1
SHOWN = (0.0, 0.56)  # shares that fit on the picture


def demo(participants: int, epsilon: float, *, open_page: bool, as_json: bool) -> None:
    """Ask, estimate, audit, and show."""
    counts = np.floor(np.array(TRUTH) * participants).astype(int)
    counts[0] += participants - counts.sum()
    values = np.repeat(ANSWERS, counts)
    question = Frequency(Categories(ANSWERS))
    mechanism = plan(question, epsilon=epsilon, participants=participants).best.mechanism
    estimate: Estimate = mechanism.estimate(mechanism.tally(mechanism.privatize(values, seed=SEED)))
    certificate = audit(mechanism)
    rows, remark = _rows(estimate, counts / participants), estimate.remark(_bounds(estimate), target="sample")
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
    message = mechanism.randomize(ANSWERS[0])
    console.print(f"Method {mechanism.name}; what one device sent, id and noise: {message.hex()}", soft_wrap=True)
    console.print(
        f"Exact epsilon of the shipped sampler: {certificate.epsilon:.12g} ({certificate.how};"
        f" claimed {certificate.claimed}, {'holds' if certificate.ok else 'FAILS'}).",
        soft_wrap=True,
    )


def page(estimate: Estimate, certificate: Certificate, rows: list[dict[str, Any]], remark: str | None = None) -> str:
    """One self-contained page: no scripts, no network requests."""
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
    height = 40 + 44 * len(rows)
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>sottovoce</title>'
        "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem}</style>"
        f"<h1>{html.escape(QUESTION)}</h1><p>{estimate.n:,} people answered; every device added noise before it sent"
        f" anything. Blue: estimate and 95 % interval. Red: the truth, which the server never saw.</p>"
        f'<svg viewBox="0 0 700 {height}" role="img" aria-label="estimates with intervals">{"".join(bars)}</svg>'
        f"{'' if remark is None else '<p>' + html.escape(remark) + '</p>'}"
        f"<p>Exact epsilon of the shipped sampler: {certificate.epsilon:.9g} ({html.escape(certificate.how)}).</p>"
        "</html>"
    )
