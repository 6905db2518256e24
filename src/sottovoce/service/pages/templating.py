"""Templates of the pages."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sottovoce.service.pages import view
from sottovoce.service.pages.words import local

TEMPLATES = Environment(
    loader=PackageLoader("sottovoce.service.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


TEMPLATES.globals.update(said_of=view.said_of, local=local)


def rendered(template: str, **values: Any) -> str:
    """The text of a rendered template."""
    return TEMPLATES.get_template(template).render({"language": "", "running": None, **values})
