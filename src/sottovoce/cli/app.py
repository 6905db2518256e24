"""The verbs that need the extra `analysis`."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from sottovoce.cli.demo import demo as run_demo
from sottovoce.cli.grid import audit_grid
from sottovoce.core.errors import ParameterError
from sottovoce.core.registry import BUILDERS, builder

CommandError = typer.BadParameter.__mro__[2]  # ClickException, of the click that this typer brings or uses

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Statistics under local differential privacy: everyone answers sotto voce, only the crowd is heard."
    " The verb `answer`, which is not in this list, randomizes one answer and needs no other package.",
)

Json = Annotated[bool, typer.Option("--json", help="Print rows that a program can read.")]


def run(arguments: list[str]) -> int:
    """Run the app and give its exit code."""
    try:
        return int(app(arguments or ["--help"], standalone_mode=False, prog_name="sottovoce") or 0)
    except CommandError as problem:
        raise ParameterError(f"{problem.format_message().rstrip('.')}; see --help.") from None


@app.command()
def demo(
    participants: Annotated[int, typer.Option(min=1000, max=10_000_000, help="How many people answer.")] = 20_000,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of each answer.")] = 1.0,
    page: Annotated[bool, typer.Option(help="Open the picture in a browser (only from a terminal).")] = True,
    json_: Json = False,
) -> None:
    """A crowd whose truth is known answers in private; estimates beside the truth, with intervals."""
    run_demo(participants, epsilon, open_page=page and sys.stdout.isatty(), as_json=json_)


@app.command()
def methods(json_: Json = False) -> None:
    """The registered mechanisms."""
    rows = [{"name": name, "about": (builder(name).__doc__ or "").partition("\n")[0]} for name in BUILDERS]
    if json_:
        print(json.dumps(rows))
        return
    table = Table("name", "what it is")
    for row in rows:
        table.add_row(row["name"], row["about"])
    Console().print(table)


@app.command()
def audit(
    all_: Annotated[bool, typer.Option("--all", help="Every mechanism on a grid of budgets and sizes.")] = False,
    name: Annotated[str | None, typer.Option(help="One mechanism on that grid.")] = None,
    json_: Json = False,
) -> None:
    """The exact privacy loss of what ships, against what it claims."""
    if not all_ and name is None:
        raise ParameterError("The audit needs --all, or --name and a mechanism.")
    rows = list(audit_grid([name] if name else None))
    if json_:
        print(json.dumps(rows))
    else:
        table = Table("name", "size", "claimed", "exact", "how", "ok")
        for row in rows:
            ok = "yes" if row["ok"] else "NO"
            table.add_row(
                row["name"], str(row["parameters"]["size"]), row["claimed"], f"{row['exact']:.9g}", row["how"], ok
            )
        Console().print(table)
    if not all(row["ok"] for row in rows):
        raise typer.Exit(1)
