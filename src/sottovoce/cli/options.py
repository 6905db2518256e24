"""Arguments and options of `plan` and `privatize`, with their help."""

from __future__ import annotations

from typing import Annotated

import typer

from sottovoce.core.errors import ParameterError

Panel = "The mechanism"


def _level(value: float) -> float:
    """A confidence level as a share; 95 is read as a mistake for 0.95."""
    if 1 < value < 100:
        raise ParameterError(f"--level is a share between 0 and 1: write {value / 100:g} for {value:g} %.")
    return value


# --- the possible answers -----------------------------------------------------------------------------------
Categories = Annotated[
    str | None,
    typer.Option(
        metavar="A,B,C",
        help='The possible answers, or groups. Of several columns, for a cross table: "f,m;16|40|65|95", where bars'
        " divide numbers into intervals.",
        rich_help_panel=Panel,
    ),
]
CategoriesFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="The possible answers, one per line.", rich_help_panel=Panel)
]
AnyText = Annotated[
    bool, typer.Option("--text", help="Any text may be an answer: an open domain.", rich_help_panel=Panel)
]
Low = Annotated[str | None, typer.Option(help="The least possible number.", rich_help_panel=Panel)]
High = Annotated[str | None, typer.Option(help="The largest possible number.", rich_help_panel=Panel)]
Whole = Annotated[
    bool, typer.Option("--whole", help="Answers are whole numbers, as `whole` in a study file.", rich_help_panel=Panel)
]
Step = Annotated[
    str | None,
    typer.Option(help="The distance of possible numbers: 0.5 for half hours.", rich_help_panel=Panel),
]
Period = Annotated[
    str | None,
    typer.Option(help="Answers go around a circle of this length: 24 for hours of a day.", rich_help_panel=Panel),
]
Most = Annotated[
    int | None,
    typer.Option(
        help="An answer holds several of the categories, with semicolons between them: the largest number of them.",
        rich_help_panel=Panel,
    ),
]
Epsilon = Annotated[str | None, typer.Option(help="The privacy budget of each answer.", rich_help_panel=Panel)]

# --- estimate ---------------------------------------------------------------------------------------------------
Candidates = Annotated[
    str | None, typer.Option(metavar="A,B,C", help="Only the shares of these answers; an open domain needs them.")
]
CandidatesFile = Annotated[str | None, typer.Option(metavar="FILE", help="The same, one per line.")]

Ratio = Annotated[
    str | None,
    typer.Option(
        metavar="OUTCOME;GROUP;OTHER",
        help="Of a cross table of two columns: relative risk and odds ratio of an answer to the second, for two answers"
        " to the first.",
    ),
]

# --- plan ---------------------------------------------------------------------------------------------------
PlannedQuestion = Annotated[
    str,
    typer.Argument(
        metavar="QUESTION",
        help="mean, frequency, median, quantile, range, cdf, variance, distribution, group-mean, vector-mean, as `ask`"
        " in a study file; or a study file (.toml).",
    ),
]
Goals = Annotated[
    list[str] | None, typer.Option("--goal", metavar="TEXT", help='Of a study: "hours +- 0.1", "smoker +- 2 points".')
]
Dimensions = Annotated[int | None, typer.Option(min=1, help="How many numbers a vector has.", rich_help_panel=Panel)]
Radius = Annotated[
    str | None, typer.Option(help="The largest length of a vector, instead of a range.", rich_help_panel=Panel)
]
MaxNonzero = Annotated[
    int | None,
    typer.Option(min=1, help="How many numbers of a vector may differ from zero, at most.", rich_help_panel=Panel),
]
Quantiles = Annotated[
    str | None, typer.Option(metavar="0.25,0.5", help="For quantile: the shares of the answers below each value.")
]
Points = Annotated[str | None, typer.Option(metavar="6,8", help="For cdf: the shares up to these values.")]
From = Annotated[str | None, typer.Option("--from", help="For range: the first value of the range.")]
To = Annotated[str | None, typer.Option("--to", help="For range: the last value of the range.")]
Participants = Annotated[int | None, typer.Option(min=1, help="How many people answer.")]
HalfWidth = Annotated[str | None, typer.Option(help="The error: half the width of an interval.")]
StdError = Annotated[str | None, typer.Option(help="The error: a standard error.")]
Level = Annotated[
    float, typer.Option(help="The confidence level of the intervals, such as 0.95.", callback=_level, metavar="SHARE")
]
Target = Annotated[str, typer.Option(help="population: those who might have answered; sample: those who did.")]
Picture = Annotated[str | None, typer.Option(metavar="FILE", help="Draw error against participants: .svg or .png.")]

# --- inputs of tally and estimate ---------------------------------------------------------------------------------
Spec = Annotated[str | None, typer.Option(metavar="FILE", help="The mechanism's specification (JSON).")]
Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Reports (Parquet, CSV, Arrow), messages of devices, or tallies: files, folders of Parquet, patterns,"
        " addresses of object stores; - is standard input.",
    ),
]
OptionalSources = Annotated[
    list[str] | None,
    typer.Argument(metavar="FILE", help="As for `estimate`; with --sql, the specification, if not in --spec."),
]
SourceFormat = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="KIND",
        help="csv, parquet, arrow, tally, rows (counts of a database), hex (lines of `answer`) or messages (binary),"
        " where neither name nor content shows it.",
    ),
]
Strict = Annotated[
    bool,
    typer.Option("--strict", help="Refuse everything where a report is invalid; else these are left out and counted."),
]

# --- tally ----------------------------------------------------------------------------------------------------
TallyFile = Annotated[str | None, typer.Option("--output", "-o", help="Where the tally goes; - for a pipe.")]
Refused = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="List the invalid reports that are left out: input, row and reason, as CSV."),
]
Resume = Annotated[
    str | None,
    typer.Option(metavar="FOLDER", help="Keep the tally of each file there, and count only files that are not kept."),
]
Sql = Annotated[
    str | None,
    typer.Option(
        metavar="DATABASE",
        help="Print the query that counts the reports of a specification: for duckdb, spark or postgresql.",
    ),
]

# --- privatize ----------------------------------------------------------------------------------------------
Answers = Annotated[
    str,
    typer.Argument(
        metavar="INPUT", help="Answers, CSV or Parquet: a file, a folder, a pattern, an address; - is a pipe."
    ),
]
Columns = Annotated[
    str,
    typer.Option(help="The column that holds the answers; several make a pair, record or vector: sex,bmi."),
]
ReportsFile = Annotated[
    str, typer.Option("--output", "-o", help="Where the reports go: .parquet, .csv, .arrow, - for a pipe, or a folder.")
]
Method = Annotated[
    str | None,
    typer.Option(
        "--method", "--mechanism", help="A name from `methods`; the plan's choice if left out.", rich_help_panel=Panel
    ),
]
ChosenFor = Annotated[
    str | None,
    typer.Option(
        help="What the plan chooses for: frequency, the mean of numbers, or their distribution.", rich_help_panel=Panel
    ),
]
MethodOptions = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="A parameter of the method, e.g. g=4 or wave=1,3,1.", rich_help_panel=Panel
    ),
]
WholeSpec = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="A specification (JSON) instead of all of these.", rich_help_panel=Panel),
]
WriteSpec = Annotated[str | None, typer.Option(metavar="FILE", help="Write the specification too.")]
AnswersFormat = Annotated[str | None, typer.Option("--format", help="csv, parquet or arrow, of the input.")]
ReportsFormat = Annotated[str | None, typer.Option(help="csv, parquet or arrow, of the reports.")]
Missing = Annotated[str, typer.Option(metavar="WAY", help="Empty cells: refuse, skip, or category (one of their own).")]
Delimiter = Annotated[str, typer.Option(help="The delimiter of a CSV input; \\t is a tab.")]
PublicHeader = Annotated[bool, typer.Option("--public-header", help="The names of columns may be shown in errors.")]
Seed = Annotated[int | None, typer.Option(help="SIMULATION ONLY: noise that anyone can repeat.")]
SimulatedAnswers = Annotated[
    str | None,
    typer.Argument(
        metavar="DATA",
        help="Answers, CSV or Parquet: a column for each question; or a population (TOML). Without it, the population"
        " of the study file answers.",
    ),
]
ExpectedParticipants = Annotated[
    int | None, typer.Option("--participants", min=1, help="How many people are expected, if not in the study file.")
]
Described = Annotated[
    int | None,
    typer.Option("--participants", min=1, max=10_000_000, help="Of a described population, if not in the study file."),
]
