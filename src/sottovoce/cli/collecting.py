"""The verbs of the collector, with their options and help; each is a command of the app."""

from __future__ import annotations

from typing import Annotated

import typer

from sottovoce.core.late import load


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


VERBS = (serve,)
