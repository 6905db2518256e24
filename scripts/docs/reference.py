"""Write the reference pages that follow from the code: `python -m scripts.docs.reference`.

The command line comes from the application, the study file from its reader, the HTTP interface from the OpenAPI
document and the routes, errors from their classes and the collector's problems. A test compares the pages with what
this writes.
"""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from typer.main import get_command

from scripts.docs import study_keys
from sottovoce.cli.app import app
from sottovoce.cli.bare_verbs import BARE, STUDY
from sottovoce.cli.help.groups import GROUPS, examples
from sottovoce.core import errors
from sottovoce.core.late import load
from sottovoce.estimate.request import PoorIntervalWarning
from sottovoce.service.http import admin, public
from sottovoce.service.http.openapi import ADMIN, PATHS, SEALED
from sottovoce.service.pages import routes as pages
from sottovoce.service.problems import PROBLEMS
from sottovoce.study import population_tables, question_tables, reading, strata
from sottovoce.study.experiments import arms
from sottovoce.study.questions import attribute_tables, file_kinds
from sottovoce.study.repeats import repeated

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "reference"
NOTE = "*Written by `python -m scripts.docs.reference`.*\n"


def cell(text: str) -> str:
    """A text in one cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(cell, row))} |" for row in lines) + "\n"


# --- command line ----------------------------------------------------------------------------------------
class _Found(Exception):
    """Carries the parser of a command that builds it when it is called."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self.parser = parser


def bare_parser(target: str) -> argparse.ArgumentParser:
    """The parser of a command of the bare install."""

    def found(self: argparse.ArgumentParser, *_: object, **__: object) -> None:
        raise _Found(self)

    with patch.object(argparse.ArgumentParser, "parse_args", found):
        try:
            load(target)(["--help"])
        except _Found as caught:
            return caught.parser
    raise AssertionError(f"{target} has no parser.")


def bare_options(target: str) -> Iterator[tuple[str, str]]:
    """Arguments and options of a command of the bare install, with their help."""
    for action in bare_parser(target)._actions:
        if "--help" not in action.option_strings:
            said = action.help or ""
            name = ", ".join(action.option_strings) or str(action.metavar or action.dest).upper()
            yield name, said[:1].upper() + said[1:] + "." * (not said.endswith("."))


def options(command: Any) -> Iterator[tuple[str, str]]:
    """Arguments and options of a command, with their help."""
    for parameter in command.params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        shown = ", ".join([*parameter.opts, *parameter.secondary_opts])
        name = shown if shown.startswith("-") else parameter.metavar or shown.upper()
        yield name, getattr(parameter, "help", None) or getattr(parameter, "prompt", None) or ""


def command_section(name: str, command: Any) -> Iterator[str]:
    """The section of one command."""
    yield f"### sottovoce {name}\n\n"
    said = inspect.cleandoc(command.help or "")
    if said:
        yield f"{said}\n\n"
    listed = [*bare_options(BARE[name])] if name in BARE else [*options(command)]
    if listed:
        yield table(("argument or option", "meaning"), [(f"`{option}`", meaning) for option, meaning in listed]) + "\n"
    if name == "explain":
        yield "For a study file or a manifest:\n\n"
        rows = [(f"`{option}`", meaning) for option, meaning in bare_options(STUDY)]
        yield table(("argument or option", "meaning"), rows) + "\n"
    lines = examples(name.rpartition(" ")[2] if " " in name else name)
    if lines:
        yield "```console\n" + "".join(f"$ sottovoce {line}\n" for line in lines) + "```\n\n"


def command_line() -> str:
    """Every command with its options and examples, by task."""
    known = get_command(app).commands  # type: ignore[attr-defined]
    rest = [name for name in known if not any(name in group for group in GROUPS.values())]
    parts = [
        "# Command line\n\n",
        "Look up a command, an option or an example. [Work with files](../guides/files.md) is a tutorial of the",
        " commands for files, and [Run a survey](../study/run-a-survey.md) of those for studies.\n\n",
        NOTE,
        "\n`sottovoce --help` lists the commands, and `sottovoce plan --help` the options of one. `--version` prints",
        " the version, `--install-completion` and `--show-completion` set up the completion of your shell. An error is",
        " one sentence on standard error, with exit code 2; it repeats no argument and no content of a file. `-`",
        " stands for standard input or output. A file is written whole or not at all, and overwritten only",
        " with `--force`.\n\n",
    ]
    for group, names in {**GROUPS, **({"Other": dict.fromkeys(rest, ())} if rest else {})}.items():
        parts.append(f"## {group}\n\n")
        for name in names:
            command = known[name]
            inner = getattr(command, "commands", {})
            parts += command_section(name, command)
            for one in inner:
                parts += command_section(f"{name} {one}", inner[one])
    return "".join(parts).rstrip() + "\n"


# --- study file ------------------------------------------------------------------------------------------
def study_file() -> str:
    """Every table and key of a study file."""
    kinds = file_kinds()
    asked = {own.word or kind: own for kind, own in kinds.items() if not own.is_form}
    rows = [(f'`"{kind}"`', study_keys.KINDS[kind], keys_of(own.keys)) for kind, own in asked.items()]
    rows += [
        (f'`"{short}"`', study_keys.KINDS[short], f'the same as `"{kind}"`, without `{", ".join(given)}`')
        for short, (kind, given) in question_tables.SHORT_FORMS.items()
    ]
    own_keys = dict.fromkeys(
        (*question_tables._COMMON, *question_tables.BY, *(key for own in kinds.values() for key in own.keys))
    )
    return "".join(
        [
            "# Study file\n\n",
            "Look up a key of a study file. `sottovoce study new` writes a file with a comment at every key, and",
            " `sottovoce study check` explains mistakes with their line. [Run a survey](../study/run-a-survey.md) has",
            " a whole file.\n\n",
            NOTE,
            "\nThe file is TOML. Unknown tables and keys are refused.\n\n## [study]\n\n",
            keys(reading.KEYS, study_keys.STUDY),
            "\n## [questions.NAME]\n\n",
            keys(own_keys, study_keys.QUESTION),
            "\n### Kinds of questions\n\n",
            table(("`ask =`", "what is estimated", "keys of its own"), rows),
            "\nWith `by`, shares, quantiles, ranges and distributions are estimated in each private group.\n",
            "\n## [questions.NAME.attributes.ATTRIBUTE]\n\nWhat a cross table crosses: categories, whole numbers or",
            " intervals of numbers. See [Cross tables](../guides/cross-tables.md).\n\n",
            keys(attribute_tables.KEYS, study_keys.ATTRIBUTE),
            "\n## [population.NAME]\n\nWhich answers you expect, for the plan and the simulation. Never take them from",
            " the answers of the study.\n\n",
            keys(population_tables.KEYS, study_keys.POPULATION),
            "\nThe attributes of a cross table have a table `[population.NAME.ATTRIBUTE]` each: a `law`, `shares`, or",
            " `by` with the name of an attribute above it and `within` with a table of shares for each of its",
            " answers.\n",
            "\n## [collection]\n\nHow reports reach the collector. The table may be left out.\n\n",
            keys(reading.COLLECTION, study_keys.COLLECTION),
            "\n## [repeat]\n\nA study of several waves: see [Ask again](../guides/repeated-answers.md).\n\n",
            keys(repeated.KEYS, study_keys.REPEAT),
            "\n## [strata.NAME]\n\nPublic parts of the population, two or more, or none: see",
            " [Weight by public strata](../study/strata.md).\n\n",
            keys(strata.KEYS, study_keys.STRATA),
            "\n## [experiment.NAME]\n\nArms of an experiment, two or more, or none; the others are compared with the",
            " first: see [Compare two groups](../guides/compare-two-groups.md).\n\n",
            keys(arms.KEYS, study_keys.EXPERIMENT),
        ]
    )


def keys(names: Any, texts: dict[str, str]) -> str:
    return table(("key", "meaning"), [(f"`{name}`", texts[name]) for name in names])


def keys_of(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# --- HTTP ------------------------------------------------------------------------------------------------
def http_api() -> str:
    """Every route, parameter and code of the collector."""
    documents = {"For everyone": PATHS, "For shufflers, at a collector with a key": SEALED, "For administrators": ADMIN}
    parts = [
        "# HTTP interface\n\n",
        "Look up a route of the collector, its parameters and its answers. `GET /openapi.json` of a collector has the",
        " same for programs. [Collect answers](../study/collect.md) explains what the collector promises.\n\n",
        NOTE,
        "\nErrors are problem documents (RFC 9457) with a `code`; [Errors](errors.md#codes-of-the-collector) lists",
        " the codes. Reports are sent as `application/cbor` or `application/json`, at most 1,000 reports and",
        " 256 KiB at once. Documents with an `ETag` answer 304 to `If-None-Match`.\n",
    ]
    for title, document in documents.items():
        parts.append(f"\n## {title}\n")
        for path, methods in document.items():
            for method, operation in methods.items():
                parts += [f"\n### {method.upper()} {path}\n\n", f"{operation['summary']}.\n"]
                rows = [
                    (f"`{one['name']}`", one["in"], one.get("description", ""))
                    for one in operation.get("parameters", ())
                ]
                if rows:
                    parts += ["\n", table(("parameter", "in", "meaning"), rows)]
                answers = [(status, said["description"]) for status, said in operation["responses"].items()]
                parts += ["\n", table(("status", "answer"), answers)]
    shown = [
        (f"`{route.path}`", (inspect.getdoc(route.endpoint) or "").partition("\n\n")[0]) for route in pages.routes()
    ]
    parts += ["\n## Pages\n\nFor people; [Dashboard, participant's page, planner](../study/pages.md) shows them.\n\n"]
    parts += [table(("route", "what it shows"), [*shown, ("`/static/...`", "Scripts and styles of the pages.")])]
    parts += ["\nAnswers to `OPTIONS /v1/studies/{study}/{part}` allow pages of other sites to read and send.\n"]
    return "".join(parts)


def routes() -> list[str]:
    """The paths of all routes of the collector."""
    listed = [*public.routes(), *admin.routes(), *pages.routes()]
    return sorted({route.path for route in listed} | {*PATHS, *ADMIN, *SEALED})


# --- errors ----------------------------------------------------------------------------------------------
REMEDIES = {
    "SottovoceError": "Catch it to catch every error of the package.",
    "ParameterError": "Correct the parameter that the message names.",
    "DomainError": "Give an answer of the domain, or widen the domain. Nothing was drawn or sent.",
    "ReportError": "Check which mechanism the reports belong to; leave invalid ones out with an `Intake`.",
    "ProgramError": "Run the program by hand with the same arguments.",
    "SpecError": "Write the specification again with `m.spec()`, or update the package.",
    "MismatchError": "Compare the fingerprints that the message shows; tallies of different mechanisms do not add up.",
    "PrivacyError": "Raise the limit of the device only if its owner agrees; otherwise do not answer.",
    "DeviceFileError": "Restore the file, or begin a new one: its losses are then forgotten.",
    "WordsError": "Correct the sampler of your mechanism; `check_mechanism` shows where.",
    "TooLargeError": "Use a smaller instance, or give the node a closed form.",
    "MissingExtraError": "Install the extra that the message names.",
    "NoBatchError": "Loop over single answers, or register a kernel.",
    "BatchWarning": "Nothing; it only takes longer.",
    "PluginWarning": "Update or remove the other package.",
    "NoCovarianceError": "Use a mechanism with a covariance, such as `oue` or `grr`.",
    "NoIntervalError": "Choose another method of interval; the message names those that exist.",
    "CollectorError": "Check address and network; send the same report again later.",
    "PoorIntervalWarning": "Use the method that the warning names.",
}


def error_classes() -> list[type]:
    """Errors and warnings that the package raises on purpose."""
    own = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, Exception)]
    return [
        *sorted((one for one in own if one.__module__ == errors.__name__), key=lambda one: one.__name__),
        PoorIntervalWarning,
    ]


def error_page() -> str:
    """Every exception, exit code and code of the collector, with its remedy."""
    rows = []
    for one in error_classes():
        said = re.sub(r"\s+", " ", (inspect.getdoc(one) or "").partition("\n\n")[0])
        rows.append((f"`{one.__name__}`", said, REMEDIES[one.__name__]))
    whole = [(f"`{code}`", str(one.status), one.title, one.remedy) for code, one in PROBLEMS.items() if one.status]
    single = [(f"`{code}`", one.title, one.remedy) for code, one in PROBLEMS.items() if one.status is None]
    return "".join(
        [
            "# Errors\n\n",
            "Look up an exception, an exit code or a code of the collector, and what to do about it.\n\n",
            NOTE,
            "\nNo error contains an answer. An error says what is wrong, what is expected, and what to do.\n\n",
            "## Exceptions and warnings\n\nThose that users meet first are names of `sottovoce`; all are in",
            " `sottovoce.core.errors`, and `PoorIntervalWarning` is a name of `sottovoce`.\n\n",
            table(("class", "when", "what to do"), rows),
            "\n## Exit codes of commands\n\n",
            table(
                ("code", "meaning"),
                [
                    ("0", "Done."),
                    ("1", "The check failed: an audit, a test or a comparison does not hold."),
                    ("2", "The command could not run; one sentence on standard error says why."),
                    ("130", "Interrupted from the keyboard."),
                ],
            ),
            "\n## Codes of the collector\n\nA refused request is a problem document with one of these codes, and",
            " `/problems/CODE` of the collector is a page about it.\n\n",
            table(("code", "status", "when", "what to do"), whole),
            "\nCodes of single reports, in the answer to a batch:\n\n",
            table(("code", "when", "what to do"), single),
        ]
    )


PAGES = {
    "command-line.md": command_line,
    "study-file.md": study_file,
    "http-api.md": http_api,
    "errors.md": error_page,
}

if __name__ == "__main__":
    for name, written in PAGES.items():
        (FOLDER / name).write_text(written(), encoding="utf-8")
        print(f"docs/reference/{name}")
