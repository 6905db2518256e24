"""The verbs that need the extra `analysis`. Each loads its modules when it is called, so that help is quick."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any

import typer
from typer.main import get_command

from sottovoce import __version__
from sottovoce.cli import checking, options
from sottovoce.cli.bare_verbs import BARE, bare_target
from sottovoce.cli.collector import verbs as collecting
from sottovoce.cli.parsing import CommandError, Verbs, complaint, plugins_in_one_sentence
from sottovoce.cli.studies import verbs as on_paper
from sottovoce.core.errors import ParameterError
from sottovoce.core.late import load

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
        raise ParameterError(complaint(problem)) from None
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
def plan(
    question: options.PlannedQuestion,
    categories: options.Categories = None,
    categories_file: options.CategoriesFile = None,
    low: options.Low = None,
    high: options.High = None,
    whole: options.Whole = False,
    step: options.Step = None,
    period: options.Period = None,
    most: options.Most = None,
    dimensions: options.Dimensions = None,
    radius: options.Radius = None,
    max_nonzero: options.MaxNonzero = None,
    quantiles: options.Quantiles = None,
    points: options.Points = None,
    from_: options.From = None,
    to: options.To = None,
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
    """Choose a method, and compute how many people or which epsilon an error takes.

    Give two of epsilon, participants and an error.
    A study file is planned whole: for --participants, or for every --goal "hours +- 0.1".
    """
    if question.lower().endswith(".toml"):
        study_plan = load("cli.studies.study:plan")
        study_plan(question, participants, goal or [], level, picture=picture, force=force, as_json=json_)
        return
    load("cli.studies.plan:plan")(
        question,
        load("cli.domains:Allowed")(
            categories, categories_file, low, high, whole, dimensions, radius, max_nonzero, period, step=step, most=most
        ),
        (quantiles, points, from_, to),
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
    """Explain every mistake of a study file, with its line and a remedy."""
    if not load("cli.studies.study:check")(file, as_json=json_):
        raise typer.Exit(2)


@study.command("new")
def study_new(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The study file to write (TOML).")],
    name: Annotated[str, typer.Option(prompt="A short name")] = "my-study",
    title: Annotated[str, typer.Option(prompt="The title that people read")] = "My study",
    owner: Annotated[str, typer.Option(prompt="Who is responsible")] = "Who is responsible",
    contact: Annotated[str, typer.Option(prompt="The data-protection officer's mail or page")] = "privacy@example.org",
    purpose: Annotated[str, typer.Option(prompt="What the answers are for")] = "What the answers are for.",
    unit: Annotated[str, typer.Option(prompt="What the budget protects: person, device or event")] = "person",
    epsilon: Annotated[str, typer.Option(prompt="The budget of one participation")] = "1",
    force: Force = False,
) -> None:
    """Ask for the facts of a study, and write a study file with comments."""
    answers = {"name": name, "title": title, "owner": owner, "contact": contact, "purpose": purpose}
    load("cli.studies.study:new")(file, {**answers, "unit": unit, "epsilon": epsilon}, force=force)


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
    whole: options.Whole = False,
    step: options.Step = None,
    text: options.AnyText = False,
    period: options.Period = None,
    most: options.Most = None,
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
    """Randomize the answers in a file: one column, or several that make up an answer."""
    command, files = load("cli.privatize"), load("files.answers")
    columns, between = files.column_names(column), files.separator(delimiter)
    allowed = load("cli.domains:Allowed")(
        categories, categories_file, low, high, whole, period=period, text=text, step=step, most=most
    )
    command.privatize(
        files.AnswerSource(source, columns, format_, between, public_header),
        command.AskedFor(spec, method, epsilon, allowed, tuple(option or ()), question),
        command.Destination(output, output_format, write_spec, force),
        missing=missing,
        seed=seed,
    )


@app.command()
def tally(
    sources: options.OptionalSources = None,
    output: options.TallyFile = None,
    spec: options.Spec = None,
    format_: options.SourceFormat = None,
    strict: options.Strict = False,
    refused: options.Refused = None,
    resume: options.Resume = None,
    sql: options.Sql = None,
    force: Force = False,
) -> None:
    """Count reports and merge tallies, or print the query with which a database counts."""
    if (output is None) == (sql is None):
        raise ParameterError("A tally goes to --output FILE; --sql prints a query instead. Give one of the two.")
    if sql is not None:
        load("cli.tally:query")(sources or [], sql, spec)
        return
    load("cli.tally:tally")(
        sources or [], output, spec=spec, kind=format_, strict=strict, refused=refused, resume=resume, force=force
    )


@app.command()
def estimate(
    sources: options.Sources,
    level: options.Level = 0.95,
    interval: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD",
            help="For shares exact, wilson, normal or bounded; for a mean normal, betting, hoeffding, bernstein or"
            " anytime. The first is the default.",
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
    ratio: options.Ratio = None,
    csv_: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json_: Json = False,
    spec: options.Spec = None,
    format_: options.SourceFormat = None,
    strict: options.Strict = False,
) -> None:
    """Estimate shares, means, distributions or a cross table from reports or tallies, with intervals."""
    if csv_ and json_:
        raise ParameterError("An estimate is printed as --json or as --csv, not as both.")
    tally = load("cli.tally:merged_tally")(sources, spec=spec, kind=format_, strict=strict)
    request = load("estimate.request:IntervalRequest").of(level, interval, target, simultaneous)
    form = "json" if json_ else "csv" if csv_ else "table"
    wanted = load("cli.estimate:candidates_of")(tally.mechanism, candidates, candidates_file)
    load("cli.estimate:estimate")(tally, request, decoder=decoder, candidates=wanted, top=top, form=form, ratio=ratio)


@app.command()
def compare(
    first: Annotated[str, typer.Argument(metavar="FIRST", help="Reports or a tally of the first sample.")],
    second: Annotated[str, typer.Argument(metavar="SECOND", help="Reports or a tally of the second sample.")],
    level: options.Level = 0.95,
    correction: Annotated[
        str, typer.Option(help="For many differences: holm or bonferroni (family-wise), fdr (false discovery rate).")
    ] = "holm",
    csv_: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    json_: Json = False,
    spec: options.Spec = None,
    format_: options.SourceFormat = None,
    strict: options.Strict = False,
) -> None:
    """Compare two samples with nobody in common: differences with intervals and p-values."""
    if csv_ and json_:
        raise ParameterError("A comparison is printed as --json or as --csv, not as both.")
    form, reading = "json" if json_ else "csv" if csv_ else "table", {"spec": spec, "kind": format_, "strict": strict}
    load("cli.compare:compare")(first, second, level, correction, form, reading)


for verb in (*collecting.VERBS, *on_paper.VERBS, *checking.VERBS):
    app.command()(verb)
app.command("audit-program", context_settings={"allow_interspersed_args": False})(checking.audit_program)


# The bare install runs these without this app; here they are listed beside the others.
_passed_on = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


@app.command(context_settings=_passed_on)
def answer(context: typer.Context) -> None:
    """Randomize one answer on this machine, or answer a study (needs no extra)."""
    raise typer.Exit(load(BARE["answer"])(context.args))


@app.command(context_settings=_passed_on)
def device(context: typer.Context) -> None:
    """Show what a device sent and its privacy loss; send or delete queued reports (needs no extra)."""
    raise typer.Exit(load(BARE["device"])(context.args))


@app.command(context_settings=_passed_on)
def explain(context: typer.Context) -> None:
    """Explain in plain words what an epsilon (needs no extra), a study file or a manifest means for a person."""
    raise typer.Exit(load(bare_target("explain", context.args))(context.args))
