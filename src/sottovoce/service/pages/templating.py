"""Templates of the pages."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from sottovoce import __version__
from sottovoce.core.exchange.study_facts import StudyFacts
from sottovoce.study.display.dates import day_text
from sottovoce.study.words import language_name, local, local_date, plain, spoken

TEMPLATES = Environment(
    loader=PackageLoader("sottovoce.service.pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
)


def title_of(facts: StudyFacts, language: str) -> str:
    """The title of a study in a language; its name where it has no title."""
    titled = getattr(facts, "title_in", None)
    return facts.name if titled is None else str(titled(language))


TEMPLATES.globals.update(day=day_text, local=local, local_date=local_date, language_name=language_name)
TEMPLATES.globals.update(say=spoken, plain=plain, title_of=title_of, version=__version__)


def rendered(template: str, **values: Any) -> str:
    """The text of a rendered template."""
    return TEMPLATES.get_template(template).render({"language": "", "running": None, "here": "", **values})
