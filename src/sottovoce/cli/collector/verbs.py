"""The verbs of the collector, with their options and help; each is a command of the app."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sottovoce.cli import options
from sottovoce.core.late import load

Json = Annotated[bool, typer.Option("--json", help="Print rows that a program can read.")]
Store = Annotated[str, typer.Argument(metavar="STORE", help="An SQLite file, or postgresql://...")]
Study = Annotated[str | None, typer.Option(metavar="ID", help="The study's id or name; not needed if there is one.")]
PublicUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="The address that participants open, where a proxy has another.")
]


def demo(
    participants: Annotated[int, typer.Option(min=1000, max=10_000_000, help="How many people answer.")] = 20_000,
    epsilon: Annotated[float, typer.Option(help="The privacy budget of each answer.")] = 1.0,
    page: Annotated[bool, typer.Option(help="Open the picture in a browser (only from a terminal).")] = True,
    picture: Annotated[str | None, typer.Option(metavar="FILE", help="Write the picture (SVG) to a file.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
    collector: Annotated[
        bool, typer.Option("--collector", help="Everyone answers over HTTP; from a terminal the collector goes on.")
    ] = False,
    json_: Json = False,
) -> None:
    """Estimate the answers of a simulated crowd, and compare the estimates with the truth."""
    opened = page and sys.stdout.isatty()
    if collector:
        load("cli.collector.demo:demo")(participants, epsilon, keeps_serving=opened, as_json=json_)
        return
    load("cli.demo:demo")(participants, epsilon, open_page=opened, as_json=json_, file=picture, force=force)


def chaos(
    kills: Annotated[int, typer.Option(min=1, max=100_000, help="How often the collector is killed.")] = 5,
    store: Annotated[
        str | None, typer.Option(metavar="URL", help="postgresql://...; an SQLite file of its own if left out.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of the times and faults.")] = 1,
    json_: Json = False,
) -> None:
    """Kill a collector repeatedly under load, and compare what it acknowledged with what it counted."""
    if not load("cli.collector.chaos:chaos")(kills, store, seed=seed, as_json=json_):
        raise typer.Exit(1)


def serve(
    study: Annotated[
        str | None, typer.Argument(metavar="STUDY", help="A study file (TOML); without it those of the store go on.")
    ] = None,
    participants: options.ExpectedParticipants = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="An SQLite file, or postgresql://...; NAME.sqlite if left out."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8000,
    key: Annotated[
        str | None, typer.Option(metavar="FILE", help="The private key, where reports come through a shuffler.")
    ] = None,
    public_url: PublicUrl = None,
    trust_proxy: Annotated[
        bool, typer.Option("--trust-proxy", help="Read X-Forwarded-Proto and X-Forwarded-Host, which a proxy sets.")
    ] = False,
) -> None:
    """Run the collector of a study: participants' page, dashboard and HTTP interface."""
    addresses = load("service.http.addresses:Addresses")(public_url, trust_proxy)
    load("cli.collector.serve:serve")(
        study, participants=participants, store=store, host=host, port=port, key=key, addresses=addresses
    )


def shuffle(
    collector: Annotated[str | None, typer.Argument(metavar="URL", help="The collector to pass reports on to.")] = None,
    file: Annotated[str, typer.Option(metavar="FILE", help="Where sealed reports wait (SQLite).")] = "shuffler.sqlite",
    new_key: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a collector's private key, and print its public one.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")] = 8001,
    min_batch: Annotated[int, typer.Option(min=2, help="The fewest reports of a batch, whatever a study asks.")] = 100,
    public_url: PublicUrl = None,
) -> None:
    """Run a shuffler: collect sealed reports and forward them in large batches, in random order."""
    addresses = load("service.http.addresses:Addresses")(public_url)
    load("cli.collector.shuffle:shuffle")(
        collector, file=file, new_key=new_key, host=host, port=port, least=min_batch, addresses=addresses
    )


def status(
    store: Store,
    check: Annotated[bool, typer.Option("--check", help="Compute numbers and checksums from the ids again.")] = False,
    json_: Json = False,
) -> None:
    """Show how many reports each study of a store has; its collector may be running."""
    load("cli.collector.operations:status")(store, check=check, as_json=json_)


def backup(
    store: Store, output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A new SQLite file.")]
) -> None:
    """Copy a store into an SQLite file at one moment; its collector may be running."""
    load("cli.collector.operations:backup")(store, output)


def restore(
    backup: Annotated[str, typer.Argument(metavar="BACKUP", help="A file that `backup` wrote.")],
    store: Annotated[str, typer.Option(metavar="FILE|URL", help="An empty store, of either kind.")],
) -> None:
    """Copy a backup into an empty store, SQLite or PostgreSQL."""
    load("cli.collector.operations:restore")(backup, store)


def export(
    store: Store,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder.")],
    study: Study = None,
    level: options.Level = 0.95,
    strata: Annotated[
        bool, typer.Option("--strata", help="Combine the strata of a study, weighted by their sizes.")
    ] = False,
) -> None:
    """Write the estimates of a study with a codebook: CSV, Parquet, Stata, and scripts for R and SPSS."""
    load("cli.collector.operations:export")(store, study, output, level=level, strata=strata)


def close(store: Store, study: Study = None, level: options.Level = 0.95, json_: Json = False) -> None:
    """Close a study and print its estimates; its collector may be running."""
    load("cli.collector.operations:close")(store, study, level=level, as_json=json_)


def invite(
    store: Store,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="One invitation per line.")],
    count: Annotated[int, typer.Option(min=1, max=100_000, help="How many.")],
    study: Study = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")] = False,
) -> None:
    """Write invitations: each allows one report, and only its hash is stored."""
    load("cli.collector.operations:invite")(store, study, count, output, force=force)


def token(
    store: Store,
    name: Annotated[str, typer.Option(help="Who gets it; the log of administrative acts names it.")],
    scope: Annotated[list[str] | None, typer.Option(help="read, invite or manage; may be given several times.")] = None,
    revoke: Annotated[bool, typer.Option("--revoke", help="End the token of this name.")] = False,
) -> None:
    """Create or revoke a token for the administrative routes; only its hash is stored."""
    load("cli.collector.operations:token")(store, name, scope or [], revoke=revoke)


VERBS = (demo, chaos, serve, shuffle, status, backup, restore, export, close, invite, token)
