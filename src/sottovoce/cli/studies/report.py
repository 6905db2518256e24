"""`sottovoce report`: the results of a collected or a simulated study as a document."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from datetime import date
from pathlib import Path

from sottovoce.cli.show import note
from sottovoce.cli.studies.study import answers_of, load_study, planned
from sottovoce.core.errors import ParameterError
from sottovoce.files.opening import FileProblem, check_free, writing
from sottovoce.study.documents.report import ReportDocument

NAME = "The report"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
PATIENCE = 120.0  # seconds until a browser has printed


def report(
    source: str,
    output: str,
    *,
    study: str | None,
    data: str | None,
    participants: int | None,
    seed: int | None,
    level: float,
    pdf: bool,
    force: bool,
) -> None:
    """Write the report of a store, or of a simulated study, as HTML; and as PDF if asked to."""
    paper = Path(output).with_suffix(".pdf")
    check_free(output, force, name=NAME)
    browser = None
    if pdf:
        if paper == Path(output):
            raise ParameterError("--output names the HTML file: write --output report.html --pdf.")
        check_free(str(paper), force, name=NAME)
        browser = found_browser()
    if source.endswith(".toml"):
        if study is not None:
            raise ParameterError("--study chooses among the studies of a store; a study file has one.")
        document = simulated(source, data, participants=participants, seed=seed, level=level)
    else:
        if data is not None or participants is not None or seed is not None:
            raise ParameterError("--data, --participants and --seed are for a study file (.toml): a store has reports.")
        document = collected(source, study, level)
    if not document.results.questions:
        raise ParameterError("Nothing can be estimated yet: there is nothing to report.")
    with writing(output, force=force, name=NAME) as file:
        file.write(document.to_html().encode())
    note("the report is written.")
    if browser is not None:
        print_pdf(browser, Path(output), paper)
        note("the PDF is written.")


def simulated(
    path: str, data: str | None, *, participants: int | None, seed: int | None, level: float
) -> ReportDocument:
    """The report that a study would have, from simulated answers."""
    from sottovoce.study.simulating import simulate_study

    study = load_study(path)
    answers, count = answers_of(study, data, participants, seed)
    plan = planned(study, count, level=level)
    results = simulate_study(plan, answers, seed=seed).results
    return ReportDocument(results, plan.manifest(), date.today(), planned=plan.participants, notes=results.doubts)


def collected(place: str, study: str | None, level: float) -> ReportDocument:
    """The report of a study in a store."""
    from sottovoce.service import operations, results
    from sottovoce.service.pages.documents import report_of
    from sottovoce.service.stores import open_store

    with open_store(place, create=False) as store, store.read() as work:
        row = operations.find_study(work, study)
        return report_of(work, results.outcome(work, row, level), date.today())


def found_browser() -> str:
    """A browser that can print."""
    for name in BROWSERS:
        if (path := shutil.which(name)) is not None:
            return path
    raise FileProblem(
        "--pdf needs Chromium, Chrome or Edge, and none is installed. Install one (Debian: apt install chromium), or"
        " open the HTML in any browser and print it to a file."
    )


def print_pdf(browser: str, document: Path, paper: Path) -> None:
    """Print a document with a browser that has no window and a profile of its own."""
    with tempfile.TemporaryDirectory(prefix="sottovoce-") as profile:
        options = ["--headless", "--disable-gpu", "--no-pdf-header-footer", f"--user-data-dir={profile}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # Chromium has no sandbox for root; the document has no scripts
        command = [browser, *options, f"--print-to-pdf={paper.resolve()}", document.resolve().as_uri()]
        try:
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        except (OSError, subprocess.SubprocessError):
            raise FileProblem("The browser could not print the report. The HTML is written; print it there.") from None
    if not paper.exists():
        raise FileProblem("The browser printed nothing. The HTML is written; print it there.")
