"""The verbs that need the extra `analysis`. Each loads its modules when it is called, so that help is quick."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sottovoce import __version__
from sottovoce.cli import BARE
from sottovoce.core.errors import ParameterError, PluginWarning
from sottovoce.core.late import load
from sottovoce.core.registry import BY_QUESTION, builder, names

CommandError: type[Exception] = typer.BadParameter.__mro__[
    2
]  # ClickException, of the click that this typer brings or uses


class Verbs(TyperGroup):
    """The verbs. An option that takes one value is refused where it is given twice: one of the two would be ignored."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing:  # as it is while a shell completes a line
            inner = type(ctx)(command, info_name=name, parent=ctx, **command.context_settings)
            given = command.make_parser(inner).parse_args(args=list(rest))[2]
            for option in given:
                if given.count(option) > 1 and not option.multiple and not getattr(option, "is_flag", False):
                    raise ParameterError(f"The option {option.opts[0]} takes one value and is given twice.")
        return name, command, rest


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
Spec = Annotated[str | None, typer.Option(metavar="FILE", help="The mechanism's specification (JSON).")]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Reports (Parquet, CSV, Arrow), messages of devices, or tallies; - is standard input.",
    ),
]
SourceFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="KIND",
        help="csv, parquet, arrow, tally, hex (lines of `answer`) or messages (binary), where neither name nor content"
        " shows it.",
    ),
]
Invalid = Annotated[
    str,
    typer.Option(
        "--invalid", metavar="refuse|skip", help="Invalid reports: refuse all, or leave out these and say how many."
    ),
]
Panel = "The mechanism"


@contextmanager
def _plugins_in_one_sentence() -> Iterator[None]:
    """A mechanism of another distribution that is left out is one line, like everything that is said."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
        if issubclass(category, PluginWarning):
            print(f"sottovoce: {message}", file=sys.stderr)
        else:
            usual(message, category, *place, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual


def run(arguments: list[str]) -> int:
    """Run the app and give its exit code."""
    try:
        with _plugins_in_one_sentence():
            return int(app(arguments or ["--help"], standalone_mode=False, prog_name="sottovoce") or 0)
    except CommandError as problem:
        raise ParameterError(f"{_complaint(problem)}; see --help.") from None
    except typer.Abort:
        return 130  # interrupted from the keyboard


def _complaint(problem: Exception) -> str:
    """What is wrong with the arguments, without repeating any of them: it may be a misplaced answer."""
    kind, parameter, context = type(problem).__name__, getattr(problem, "param", None), getattr(problem, "ctx", None)
    if parameter is not None:
        name = parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.metavar or parameter.name.upper()
        return (
            f"{name} is missing" if kind == "MissingParameter" else f"The value of {name} must be {_range(parameter)}"
        )
    if kind == "BadOptionUsage":
        return "An option lacks its value, or has a value and takes none"
    if context is None or context.parent is None:
        return "The first argument is not one of the commands"
    wrong = "an unknown option" if kind == "NoSuchOption" else "one too many"
    return f"The arguments of sottovoce {context.info_name} have {wrong}"


def _range(parameter: Any) -> str:
    """The valid range of a number, which versions of typer store in different places."""
    low, high = (
        getattr(parameter, end, getattr(getattr(parameter, "type", None), end, None)) for end in ("min", "max")
    )
    ends = [f"from {low}"] * (low is not None) + [f"up to {high}"] * (high is not None)
    return " ".join(["a number of its type", *ends])


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
def demo(
    participants: Annotated[int, typer.Option(min=1000, max=10_000_000, help="How many people answer.")] = 20_000,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of each answer.")] = 1.0,
    page: Annotated[bool, typer.Option(help="Open the picture in a browser (only from a terminal).")] = True,
    picture: Annotated[str | None, typer.Option(metavar="FILE", help="Write the picture (SVG) to a file.")] = None,
    force: Force = False,
    json_: Json = False,
) -> None:
    """A simulated crowd answers in private; estimates beside the known truth, with intervals."""
    opened = page and sys.stdout.isatty()
    load("cli.demo:demo")(participants, epsilon, open_page=opened, as_json=json_, file=picture, force=force)


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
    question: Annotated[
        str, typer.Argument(metavar="QUESTION", help="mean, shares, variance, groups (means by group) or vectors.")
    ],
    categories: Annotated[str | None, typer.Option(metavar="A,B,C", help="The possible answers, or groups.")] = None,
    categories_file: Annotated[str | None, typer.Option(metavar="FILE", help="The same, one per line.")] = None,
    low: Annotated[str | None, typer.Option(help="The least possible number.")] = None,
    high: Annotated[str | None, typer.Option(help="The largest possible number.")] = None,
    real: Annotated[bool, typer.Option("--real", help="Answers are real numbers, not whole ones.")] = False,
    dimensions: Annotated[int | None, typer.Option(min=1, help="How many numbers a vector has.")] = None,
    radius: Annotated[str | None, typer.Option(help="The largest length of a vector, instead of a range.")] = None,
    most: Annotated[
        int | None, typer.Option(min=1, help="How many numbers of a vector may differ from zero, at most.")
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget of each answer.")] = None,
    participants: Annotated[int | None, typer.Option(min=1, help="How many people answer.")] = None,
    half_width: Annotated[str | None, typer.Option(help="The error: half the width of an interval.")] = None,
    std_error: Annotated[str | None, typer.Option(help="The error: a standard error.")] = None,
    level: Annotated[float, typer.Option(help="The confidence level of the interval.")] = 0.95,
    target: Annotated[
        str, typer.Option(help="population: those who might have answered; sample: those who did.")
    ] = "population",
    picture: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw error against participants: .svg or .png.")
    ] = None,
    json_: Json = False,
    force: Force = False,
) -> None:
    """Which method, and how many people or which epsilon: give two of epsilon, participants and an error."""
    load("cli.plan:plan")(
        question,
        load("cli.domains:Allowed")(categories, categories_file, low, high, real, dimensions, radius, most),
        load("cli.plan:Wanted")(epsilon, participants, std_error, half_width, level, target),
        picture=picture,
        force=force,
        as_json=json_,
    )


@app.command()
def privatize(
    source: Annotated[str, typer.Argument(metavar="INPUT", help="A file of answers, CSV or Parquet; - is a pipe.")],
    column: Annotated[
        str, typer.Option(help="The column that holds the answers; several make a pair, record or vector: sex,bmi.")
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where the reports go: .parquet, .csv, .arrow, or - for a pipe.")
    ],
    method: Annotated[
        str | None,
        typer.Option(
            "--method",
            "--mechanism",
            help="A name from `methods`; the plan's choice if left out.",
            rich_help_panel=Panel,
        ),
    ] = None,
    question: Annotated[
        str | None,
        typer.Option(help="What the plan chooses for: shares, or the mean of numbers.", rich_help_panel=Panel),
    ] = None,
    epsilon: Annotated[str | None, typer.Option(help="The privacy budget.", rich_help_panel=Panel)] = None,
    categories: Annotated[
        str | None, typer.Option(metavar="A,B,C", help="The possible answers.", rich_help_panel=Panel)
    ] = None,
    categories_file: Annotated[
        str | None, typer.Option(metavar="FILE", help="The possible answers, one per line.", rich_help_panel=Panel)
    ] = None,
    low: Annotated[str | None, typer.Option(help="The least possible number.", rich_help_panel=Panel)] = None,
    high: Annotated[str | None, typer.Option(help="The largest possible number.", rich_help_panel=Panel)] = None,
    real: Annotated[
        bool, typer.Option("--real", help="Answers are real numbers, not whole ones.", rich_help_panel=Panel)
    ] = False,
    option: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A parameter of the method, e.g. g=4.", rich_help_panel=Panel),
    ] = None,
    spec: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="A specification (JSON) instead of all of these.", rich_help_panel=Panel),
    ] = None,
    write_spec: Annotated[str | None, typer.Option(metavar="FILE", help="Write the specification too.")] = None,
    format_: Annotated[str | None, typer.Option("--format", help="csv, parquet or arrow, of the input.")] = None,
    output_format: Annotated[str | None, typer.Option(help="csv, parquet or arrow, of the reports.")] = None,
    missing: Annotated[
        str, typer.Option(metavar="WAY", help="Empty cells: refuse, skip, or category (one of their own).")
    ] = "refuse",
    delimiter: Annotated[str, typer.Option(help="The delimiter of a CSV input; \\t is a tab.")] = ",",
    public_header: Annotated[
        bool, typer.Option("--public-header", help="The names of columns may be shown in errors.")
    ] = False,
    seed: Annotated[int | None, typer.Option(help="SIMULATION ONLY: noise that anyone can repeat.")] = None,
    force: Force = False,
) -> None:
    """Randomize the answers of a file: one column, or several that make up an answer."""
    load("cli.privatize:privatize")(
        load("cli.columns:AnswerSource")(
            source,
            load("cli.columns:column_names")(column),
            format_,
            load("cli.columns:separator")(delimiter),
            public_header,
        ),
        load("cli.privatize:Asked")(
            spec,
            method,
            epsilon,
            load("cli.domains:Allowed")(categories, categories_file, low, high, real),
            tuple(option or ()),
            question,
        ),
        load("cli.privatize:Destination")(output, output_format, write_spec, force),
        missing=missing,
        seed=seed,
    )


@app.command()
def tally(
    sources: Sources,
    output: Annotated[str, typer.Option("--output", "-o", help="Where the tally goes; - for a pipe.")],
    spec: Spec = None,
    format_: SourceFormat = None,
    invalid: Invalid = "refuse",
    force: Force = False,
) -> None:
    """Count reports and messages of devices, and merge tallies."""
    load("cli.tally:tally")(sources, output, spec=spec, kind=format_, invalid=invalid, force=force)


@app.command()
def estimate(
    sources: Sources,
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
            help="simplex: shares that sum to one; em: those of largest likelihood; range: a mean in its range.",
        ),
    ] = None,
    top: Annotated[int | None, typer.Option(min=1, help="Only the values with the largest estimates.")] = None,
    csv_: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json_: Json = False,
    spec: Spec = None,
    format_: SourceFormat = None,
    invalid: Invalid = "refuse",
) -> None:
    """Estimates from reports or tallies, with intervals."""
    if csv_ and json_:
        raise ParameterError("An estimate is printed as --json or as --csv, not as both.")
    found = load("cli.tally:merged_tally")(sources, spec=spec, kind=format_, invalid=invalid)
    interval = load("cli.estimate:IntervalChoice")(level, method, target, simultaneous)
    form = "json" if json_ else "csv" if csv_ else "table"
    load("cli.estimate:estimate")(found, interval, decoder=decoder, top=top, form=form)


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


# The bare install runs these two without this app; here they are listed beside the others.
_passed_on = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command(context_settings=_passed_on)
def answer(context: typer.Context) -> None:
    """Randomize one answer on this machine (needs no extra)."""
    raise typer.Exit(load(BARE["answer"])(context.args))


@app.command(context_settings=_passed_on)
def explain(context: typer.Context) -> None:
    """What an epsilon means, in plain words (needs no extra)."""
    raise typer.Exit(load(BARE["explain"])(context.args))
