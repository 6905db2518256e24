"""The verbs that check mechanisms and reproduce results; `app.py` adds them to the app."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.registry import BY_QUESTION, builder, names

Json = Annotated[bool, typer.Option("--json", help="Print rows that a program can read.")]


def methods(json_: Json = False) -> None:
    """List the registered mechanisms."""
    rows = [
        {"name": name, "question": question.kind, "about": (builder(name).__doc__ or "").partition("\n")[0]}
        for question in BY_QUESTION
        for name in names(question)
    ]
    if json_:
        print(json.dumps(rows))
    else:
        load("cli.show:table")(("name", "asked for", "what it is"), [tuple(row.values()) for row in rows])


def audit(
    specs: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Specifications (JSON).")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every mechanism on a grid of budgets and sizes.")] = False,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="One mechanism on that grid; may be given several times.")
    ] = None,
    timing: Annotated[
        bool, typer.Option("--timing", help="Measure the loss of message and response time together, on this machine.")
    ] = False,
    reports: Annotated[
        int | None, typer.Option(min=1, help="With --timing: reports of each input; 20,000 if left out.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="With --timing: number of processes; 1 if left out.")] = None,
    no_tick: Annotated[bool, typer.Option("--no-tick", help="With --timing: answers return at once.")] = False,
    json_: Json = False,
) -> None:
    """Compute the exact privacy loss of mechanisms, and compare it with their claims.

    Programs of others are tested by `audit-program`.
    """
    if not timing and (reports is not None or jobs is not None or no_tick):
        raise ParameterError("The options --reports, --jobs and --no-tick belong to --timing: add it.")
    if timing:
        _timing(specs or all_, name or [], reports or 20_000, jobs or 1, tick=not no_tick, as_json=json_)
        return
    if bool(specs) + all_ + bool(name) != 1:
        raise ParameterError("The audit needs --all, or --name and a mechanism, or files with specifications.")
    if not load("cli.grid:audit_all")(specs or [], name or None, as_json=json_):
        raise typer.Exit(1)


def audit_program(
    program: Annotated[
        list[str],
        typer.Argument(
            metavar="PROGRAM",
            help="The program and its arguments, in which {value} and {count} are replaced; it prints reports.",
        ),
    ],
    claimed: Annotated[str, typer.Option(metavar="EPSILON", help="The epsilon that the program claims.")],
    value: Annotated[list[str], typer.Option(help="A value to ask reports of; give this option two to four times.")],
    samples: Annotated[
        int | None,
        typer.Option(help="Reports of each value: 20,000 if left out, or 1,000 if the program is run for each report."),
    ] = None,
    lines: Annotated[str, typer.Option(metavar="hex|text", help="How a line holds a report.")] = "hex",
    skip: Annotated[int, typer.Option(min=0, help="Leading bytes that are an id, different in each report.")] = 0,
    timeout: Annotated[float, typer.Option(help="Seconds that one run may take.")] = 60.0,
    json_: Json = False,
) -> None:
    """Test the claimed epsilon of any program from its reports: a claim can be refuted, never confirmed."""
    refuted = load("cli.program:audit_program")(
        program, value, claimed=claimed, samples=samples, lines=lines, skip=skip, timeout=timeout, as_json=json_
    )
    if refuted:
        raise typer.Exit(1)


def _timing(other: object, names: list[str], reports: int, jobs: int, *, tick: bool, as_json: bool) -> None:
    """The privacy loss of messages together with their response times."""
    if other:
        raise ParameterError("--timing measures all pure mechanisms, or those of --name: leave out --all and files.")
    run = load("cli.durations:durations")
    if code := run(names, reports=reports, tick=tick, jobs=jobs, as_json=as_json):
        raise typer.Exit(code)


def bench(json_: Json = False) -> None:
    """Measure the speed of privatizing and counting."""
    load("cli.bench:bench")(as_json=json_)


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(metavar="ID", help="An experiment, or a pattern such as `coverage-*`; `list` prints all."),
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every experiment, one after the other.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer runs, on a part of the grid.")] = False,
    seed: Annotated[int, typer.Option(help="The seed of the random numbers.")] = 0,
    folder: Annotated[str, typer.Option(metavar="PATH", help="Where rows and picture go.")] = "reproduced",
    figure: Annotated[
        str | None, typer.Option(metavar="FILE", help="Where the picture (SVG) goes, if not in the folder.")
    ] = None,
    pages: Annotated[
        str | None, typer.Option(metavar="PATH", help="A folder of pages: rewrite the section of this experiment.")
    ] = None,
    json_: Json = False,
) -> None:
    """Compute published tables and the coverage of intervals again; finished cells are kept."""
    if everything == (name is not None):
        raise ParameterError("Give reproduce either the id of an experiment, or --all.")
    if name == "list":
        load("cli.reproduce:listing")(as_json=json_)
        return
    picture, written = (None if path is None else Path(path) for path in (figure, pages))
    run = load("cli.reproduce:reproduce")
    run(name or "*", Path(folder), seed=seed, quick=quick, figure=picture, pages=written, as_json=json_)


VERBS = (methods, audit, bench, reproduce)
