"""The files that the package ships for browsers, below `/static`; pages of others may load them."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parents[1] / "static"


def routes() -> list[BaseRoute]:
    """One mount."""
    return [Mount("/static", StaticFiles(directory=FOLDER), name="static")]
