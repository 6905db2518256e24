"""The verbs that simulate a study and write its documents, with their options; each is a command of the app."""

from __future__ import annotations

from typing import Annotated

import typer

from sottovoce.cli import options
from sottovoce.core.late import load

Json = Annotated[bool, typer.Option("--json", help="Print rows that a program can read.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


def simulate(
    file: Annotated[str, typer.Argument(metavar="STUDY", help="A study file (TOML).")],
    data: options.SimulatedAnswers = None,
    participants: options.Described = None,
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="How often the study is simulated.")] = 1,
    seed: options.Seed = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FOLDER", help="Write the export of the first run.")
    ] = None,
    json_: Json = False,
) -> None:
    """Simulate a study: estimates beside the truth, and the files that the real study exports."""
    run = load("cli.studies.study:simulate")
    run(file, data, participants=participants, runs=runs, seed=seed, output=output, as_json=json_)


def dossier(
    file: Annotated[str, typer.Argument(metavar="STUDY", help="A study file (TOML).")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder.")],
    participants: options.ExpectedParticipants = None,
) -> None:
    """Write the documents for an ethics board: certificates, plan, risks and consent text."""
    load("cli.studies.study:dossier")(file, participants, output)


def report(
    source: Annotated[
        str, typer.Argument(metavar="STUDY-OR-STORE", help="A store with reports, or a study file (.toml) to simulate.")
    ],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The report (HTML).")],
    study: Annotated[str | None, typer.Option(metavar="ID", help="Of a store with several studies.")] = None,
    data: Annotated[str | None, typer.Option(metavar="FILE", help="Answers to simulate with: CSV or Parquet.")] = None,
    participants: options.Described = None,
    seed: options.Seed = None,
    level: options.Level = 0.95,
    pdf: Annotated[bool, typer.Option("--pdf", help="Write a PDF beside it, with an installed Chromium.")] = False,
    force: Force = False,
) -> None:
    """Write the results of a study as a document, with figures, tables and methods."""
    run = load("cli.studies.report:report")
    run(
        *(source, output),
        study=study,
        data=data,
        participants=participants,
        seed=seed,
        level=level,
        pdf=pdf,
        force=force,
    )


VERBS = (simulate, dossier, report)
