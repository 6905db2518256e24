"""The static files for browsers, below `/static`. Pages of other sites may load them."""

from __future__ import annotations

from pathlib import Path

from starlette.routing import BaseRoute, Mount
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parents[1] / "static"


def routes() -> list[BaseRoute]:
    """The route of the static files."""
    return [Mount("/static", StaticFiles(directory=FOLDER), name="static")]
