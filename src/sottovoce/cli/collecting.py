"""The verbs of the collector, with their options and help; each is a command of the app."""

from __future__ import annotations

from typing import Annotated

import typer

from sottovoce.core.late import load

Json = Annotated[bool, typer.Option("--json", help="Print rows that a program can read.")]
Store = Annotated[str, typer.Argument(metavar="STORE", help="An SQLite file, or postgresql://...")]
Study = Annotated[str | None, typer.Option(metavar="ID", help="The study's id or name; not needed if there is one.")]
Level = Annotated[float, typer.Option(help="The confidence level of the intervals.")]


def serve(
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="A study file (TOML); without it those of the store go on.")
    ] = None,
    participants: Annotated[int | None, typer.Option(min=1, help="How many people are expected.")] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="An SQLite file, or postgresql://...; NAME.sqlite if left out."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8000,
) -> None:
    """Collect the reports of a study over HTTP, exactly once, and give estimates."""
    load("cli.serve:serve")(study, participants=participants, store=store, host=host, port=port)


def status(
    store: Store,
    check: Annotated[bool, typer.Option("--check", help="Compute numbers and checksums from the ids again.")] = False,
    json_: Json = False,
) -> None:
    """How far the studies of a collector are; also while it runs."""
    load("cli.operations:status")(store, check=check, as_json=json_)


def backup(
    store: Store, output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A new SQLite file.")]
) -> None:
    """Copy a store into a file, as it is at one moment; also while the collector runs."""
    load("cli.operations:backup")(store, output)


def restore(
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="A file that `backup` wrote.")],
    store: Annotated[str, typer.Option(metavar="FILE|URL", help="An empty store, of either kind.")],
) -> None:
    """Copy a backup into an empty store, SQLite or PostgreSQL."""
    load("cli.operations:restore")(backup, store)


def export(
    store: Store,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder.")],
    study: Study = None,
    level: Level = 0.95,
) -> None:
    """Write the estimates of a study with a codebook: CSV, Parquet, Stata, and scripts for R and SPSS."""
    load("cli.operations:export")(store, study, output, level=level)


def close(store: Store, study: Study = None, level: Level = 0.95, json_: Json = False) -> None:
    """Close a study, also while its collector runs, and print its estimates: those of unfinished rounds are partial."""
    load("cli.operations:close")(store, study, level=level, as_json=json_)


def invite(
    store: Store,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="One invitation per line.")],
    count: Annotated[int, typer.Option(min=1, max=100_000, help="How many.")],
    study: Study = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Make invitations: each is good for one report, and stored as a hash only."""
    load("cli.operations:invite")(store, study, count, output, force=force)


def token(
    store: Store,
    name: Annotated[str, typer.Option(help="Who gets it; the log of administrative acts names it.")],
    scope: Annotated[list[str] | None, typer.Option(help="read, invite or manage; may be given several times.")] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="End the token of this name.")] = False,
) -> None:
    """Make a token for the administrative routes; it is shown once and stored as a hash only."""
    load("cli.operations:token")(store, name, scope or [], revoke=revoke)


VERBS = (serve, status, backup, restore, export, close, invite, token)
