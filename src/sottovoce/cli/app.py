"""The verbs that need the extra `analysis`. Each loads its modules when it is called, so that help is quick."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command

from sottovoce import __version__
from sottovoce.cli import options
from sottovoce.cli.bare_verbs import BARE, bare_target
from sottovoce.cli.collector import verbs as collecting
from sottovoce.cli.parsing import CommandError, Verbs, complaint, plugins_in_one_sentence
from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load
from sottovoce.core.registry import BY_QUESTION, builder, names

app = typer.Typer(
    cls=Verbs,
    context_settings={"help_option_names": ["--help", "-h"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    pretty_exceptions_show_locals=False,  # local variables hold answers
    help="Statistics under local differential privacy: devices add noise to answers before they send them.",
)

Json = Annotated[bool, typer.Option("--json", help="Print rows that a program can read.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


@cache
def _command() -> Callable[..., Any]:
    """The app with all its verbs and options, read from their signatures once in a process."""
    return get_command(app)


def run(arguments: list[str]) -> int:
    """Run the app and give its exit code."""
    try:
        with plugins_in_one_sentence():
            return int(_command()(arguments or ["--help"], standalone_mode=False, prog_name="sottovoce") or 0)
    except CommandError as problem:
        raise ParameterError(f"{complaint(problem)}; see --help.") from None
    except typer.Abort:
        return 130  # interrupted from the keyboard


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"sottovoce {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Options of the program itself."""


@app.command()
def methods(json_: Json = False) -> None:
    """The registered mechanisms."""
    rows = [
        {"name": name, "question": question.kind, "about": (builder(name).__doc__ or "").partition("\n")[0]}
        for question in BY_QUESTION
        for name in names(question)
    ]
    if json_:
        print(json.dumps(rows))
    else:
        load("cli.show:table")(("name", "asked for", "what it is"), [tuple(row.values()) for row in rows])


@app.command()
def plan(
    question: options.PlannedQuestion,
    categories: options.Categories = None,
    categories_file: options.CategoriesFile = None,
    low: options.Low = None,
    high: options.High = None,
    real: options.Real = False,
    step: options.Step = None,
    period: options.Period = None,
    dimensions: options.Dimensions = None,
    radius: options.Radius = None,
    most: options.Most = None,
    epsilon: options.Epsilon = None,
    participants: options.Participants = None,
    half_width: options.HalfWidth = None,
    std_error: options.StdError = None,
    level: options.Level = 0.95,
    target: options.Target = "population",
    goal: options.Goals = None,
    picture: options.Picture = None,
    json_: Json = False,
    force: Force = False,
) -> None:
    """Which method, and how many people or which epsilon: give two of epsilon, participants and an error.

    A study file is planned whole: for --participants, or for every --goal "hours +- 0.1".
    """
    if question.lower().endswith(".toml"):
        study_plan = load("cli.studies.study:plan")
        study_plan(question, participants, goal or [], level, picture=picture, force=force, as_json=json_)
        return
    load("cli.studies.plan:plan")(
        question,
        load("cli.domains:Allowed")(
            categories, categories_file, low, high, real, dimensions, radius, most, period, step=step
        ),
        load("cli.studies.plan:Wanted")(epsilon, participants, std_error, half_width, level, target),
        picture=picture,
        force=force,
        as_json=json_,
    )


study = typer.Typer(cls=Verbs, no_args_is_help=True, help="Write and check study files.")
app.add_typer(study, name="study")


@study.command("check")
def study_check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A study file (TOML).")], json_: Json = False
) -> None:
    """Explain every mistake of a study file, with its line and what to do about it."""
    if not load("cli.studies.study:check")(file, as_json=json_):
        raise typer.Exit(2)


@study.command("new")
def study_new(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The study file to write (TOML).")],
    name: Annotated[str, typer.Option(prompt="A short name")] = "my-study",
    owner: Annotated[str, typer.Option(prompt="Who is responsible")] = "Who is responsible",
    contact: Annotated[str, typer.Option(prompt="The data-protection officer's mail or page")] = "privacy@example.org",
    purpose: Annotated[str, typer.Option(prompt="What the answers are for")] = "What the answers are for.",
    unit: Annotated[str, typer.Option(prompt="What the budget protects: person, device or event")] = "person",
    epsilon: Annotated[str, typer.Option(prompt="The budget of one participation")] = "1",
    force: Force = False,
) -> None:
    """Ask for what a study needs, and write a study file with comments."""
    answers = {"name": name, "owner": owner, "contact": contact, "purpose": purpose, "unit": unit, "epsilon": epsilon}
    load("cli.studies.study:new")(file, answers, force=force)


@app.command()
def simulate(
    file: Annotated[str, typer.Argument(metavar="STUDY", help="A study file (TOML).")],
    data: options.SimulatedAnswers = None,
    participants: options.Described = None,
    runs: Annotated[int, typer.Option(min=1, max=10_000, help="How often the study is simulated.")] = 1,
    seed: options.Seed = None,
    output: Annotated[str | None, typer.Option(metavar="FOLDER", help="Write the export of the first run.")] = None,
    json_: Json = False,
) -> None:
    """What a study would have learned: estimates beside the truth, and the export that the real study gives."""
    run = load("cli.studies.study:simulate")
    run(file, data, participants=participants, runs=runs, seed=seed, output=output, as_json=json_)


@app.command()
def dossier(
    file: Annotated[str, typer.Argument(metavar="STUDY", help="A study file (TOML).")],
    participants: Annotated[int, typer.Option(min=1, help="How many people are expected.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder.")],
) -> None:
    """Write what an ethics board wants to see: certificates, plan, risks, consent text, registry entry, versions."""
    load("cli.studies.study:dossier")(file, participants, output)


@app.command()
def privatize(
    source: options.Answers,
    column: options.Columns,
    output: options.ReportsFile,
    method: options.Method = None,
    question: options.ChosenFor = None,
    epsilon: options.Epsilon = None,
    categories: options.Categories = None,
    categories_file: options.CategoriesFile = None,
    low: options.Low = None,
    high: options.High = None,
    real: options.Real = False,
    step: options.Step = None,
    text: options.AnyText = False,
    period: options.Period = None,
    option: options.MethodOptions = None,
    spec: options.WholeSpec = None,
    write_spec: options.WriteSpec = None,
    format_: options.AnswersFormat = None,
    output_format: options.ReportsFormat = None,
    missing: options.Missing = "refuse",
    delimiter: options.Delimiter = ",",
    public_header: options.PublicHeader = False,
    seed: options.Seed = None,
    force: Force = False,
) -> None:
    """Randomize the answers of a file: one column, or several that make up an answer."""
    load("cli.privatize:privatize")(
        load("files.answers:AnswerSource")(
            source,
            load("files.answers:column_names")(column),
            format_,
            load("files.answers:separator")(delimiter),
            public_header,
        ),
        load("cli.privatize:AskedFor")(
            spec,
            method,
            epsilon,
            load("cli.domains:Allowed")(
                categories, categories_file, low, high, real, period=period, text=text, step=step
            ),
            tuple(option or ()),
            question,
        ),
        load("cli.privatize:Destination")(output, output_format, write_spec, force),
        missing=missing,
        seed=seed,
    )


@app.command()
def tally(
    sources: options.Sources,
    output: options.TallyFile = None,
    spec: options.Spec = None,
    format_: options.SourceFormat = None,
    strict: options.Strict = False,
    refused: options.Refused = None,
    resume: options.Resume = None,
    sql: options.Sql = None,
    force: Force = False,
) -> None:
    """Count reports and messages of devices, and merge tallies; or print the query with which a database counts."""
    if (output is None) == (sql is None):
        raise ParameterError("A tally goes to --output; --sql prints a query instead.")
    if sql is not None:
        load("cli.tally:query")(sources, sql)
        return
    load("cli.tally:tally")(
        sources, output, spec=spec, kind=format_, strict=strict, refused=refused, resume=resume, force=force
    )


@app.command()
def estimate(
    sources: options.Sources,
    level: Annotated[float, typer.Option(help="The confidence level of the intervals.")] = 0.95,
    method: Annotated[
        str | None,
        typer.Option(
            help="For shares exact, wilson, normal or bounded; for a mean normal, betting, hoeffding, bernstein or"
            " anytime. The first is the default."
        ),
    ] = None,
    target: Annotated[
        str, typer.Option(help="population: those who might have answered; sample: those who did.")
    ] = "population",
    simultaneous: Annotated[bool, typer.Option("--simultaneous", help="All intervals cover at once.")] = False,
    decoder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="simplex: shares that sum to one; em: those of largest likelihood; ems: smoothed ones; lasso: few of"
            " many candidates; range: a mean in its range.",
        ),
    ] = None,
    candidates: options.Candidates = None,
    candidates_file: options.CandidatesFile = None,
    top: Annotated[int | None, typer.Option(min=1, help="Only the values with the largest estimates.")] = None,
    csv_: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json_: Json = False,
    spec: options.Spec = None,
    format_: options.SourceFormat = None,
    strict: options.Strict = False,
) -> None:
    """Estimates from reports or tallies, with intervals."""
    if csv_ and json_:
        raise ParameterError("An estimate is printed as --json or as --csv, not as both.")
    tally = load("cli.tally:merged_tally")(sources, spec=spec, kind=format_, strict=strict)
    interval = load("estimate.request:IntervalRequest").of(level, method, target, simultaneous)
    form = "json" if json_ else "csv" if csv_ else "table"
    wanted = load("cli.estimate:candidates_of")(tally.mechanism, candidates, candidates_file)
    load("cli.estimate:estimate")(tally, interval, decoder=decoder, candidates=wanted, top=top, form=form)


@app.command()
def audit(
    specs: Annotated[list[str] | None, typer.Argument(metavar="FILE", help="Specifications (JSON).")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every mechanism on a grid of budgets and sizes.")] = False,
    name: Annotated[str | None, typer.Option(help="One mechanism on that grid.")] = None,
    json_: Json = False,
) -> None:
    """The exact privacy loss of mechanisms, compared with their claims, and why one fails.

    Programs of others are tested by `audit-program`.
    """
    if bool(specs) + all_ + (name is not None) != 1:
        raise ParameterError("The audit needs --all, or --name and a mechanism, or files with specifications.")
    if specs:
        rows = [load("cli.grid:audit_file")(path, place, len(specs)) for place, path in enumerate(specs)]
    else:
        grid = load("cli.grid:audit_grid")(None if name is None else [name])
        rows = list(load("cli.show:progress")(grid, "audit", lambda row: (1, 0)))
    if json_:
        print(json.dumps(rows))
    else:
        load("cli.grid:show")(rows)
    if not all(row["ok"] for row in rows):
        raise typer.Exit(1)


@app.command("audit-program", context_settings={"allow_interspersed_args": False})
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
    """Test the claimed epsilon of any program by its reports alone: a claim can be refuted, not confirmed."""
    refuted = load("cli.program:audit_program")(
        program, value, claimed=claimed, samples=samples, lines=lines, skip=skip, timeout=timeout, as_json=json_
    )
    if refuted:
        raise typer.Exit(1)


@app.command()
def bench(
    duration: Annotated[
        bool, typer.Option("--duration", help="Measure the privacy loss of message and duration together.")
    ] = False,
    method: Annotated[
        list[str] | None, typer.Option("--method", help="With --duration: only these, instead of all pure ones.")
    ] = None,
    reports: Annotated[int | None, typer.Option(help="With --duration: for each input; 20,000 if left out.")] = None,
    jobs: Annotated[int | None, typer.Option(help="With --duration: number of processes; 1 if left out.")] = None,
    no_tick: Annotated[bool, typer.Option("--no-tick", help="With --duration: answers return at once.")] = False,
    json_: Json = False,
) -> None:
    """The speed of privatizing and counting, beside NumPy; or the privacy loss by the duration of answers."""
    if not duration:
        if method or reports is not None or jobs is not None or no_tick:
            raise ParameterError("The options --method, --reports, --jobs and --no-tick belong to --duration.")
        load("cli.bench:bench")(as_json=json_)
        return
    code = load("cli.durations:durations")(
        method or (),
        reports=20_000 if reports is None else reports,
        tick=not no_tick,
        jobs=1 if jobs is None else jobs,
        as_json=json_,
    )
    if code:
        raise typer.Exit(code)


@app.command()
def reproduce(
    name: Annotated[
        str,
        typer.Argument(metavar="ID", help="An experiment, or a pattern such as `coverage-*`; `list` prints all."),
    ],
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
    """Compute published tables and the coverage of intervals again; finished cells are not computed twice."""
    if name == "list":
        load("cli.reproduce:listing")(as_json=json_)
        return
    picture, written = (None if path is None else Path(path) for path in (figure, pages))
    run = load("cli.reproduce:reproduce")
    run(name, Path(folder), seed=seed, quick=quick, figure=picture, pages=written, as_json=json_)


for verb in collecting.VERBS:
    app.command()(verb)


# The bare install runs these without this app; here they are listed beside the others.
_passed_on = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command(context_settings=_passed_on)
def answer(context: typer.Context) -> None:
    """Randomize one answer on this machine, or answer a study (needs no extra)."""
    raise typer.Exit(load(BARE["answer"])(context.args))


@app.command(context_settings=_passed_on)
def device(context: typer.Context) -> None:
    """What a device sent and lost; send or delete what is queued (needs no extra)."""
    raise typer.Exit(load(BARE["device"])(context.args))


@app.command(context_settings=_passed_on)
def explain(context: typer.Context) -> None:
    """What an epsilon means, in plain words (needs no extra); or what a study file or a manifest means for a person."""
    raise typer.Exit(load(bare_target("explain", context.args))(context.args))
