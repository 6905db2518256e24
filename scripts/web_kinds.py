"""The table of kinds: the fields, with their types, of everything that a specification names by its kind."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from sottovoce.core.channel import NODES
from sottovoce.core.channel.compose.public import MAPS
from sottovoce.core.channel.finite.block import SETS
from sottovoce.core.domain.base import KINDS
from sottovoce.core.late import load
from sottovoce.core.question import QUESTIONS
from sottovoce.core.statistic import STATISTICS

TABLES = {"domain": KINDS, "channel": NODES, "sets": SETS, "map": MAPS, "statistic": STATISTICS}
PARAMETERS = {  # of questions: their types by annotation
    "str": "text",
    "int": "integer",
    "int | None": "integer or null",
    "tuple[Decimal, ...]": "decimals",
    "tuple[str, ...]": "texts",
    "tuple[Any, ...]": "values",
    "tuple[tuple[str, ...], ...]": "lists of texts",
    "Any": "value",
}


def kinds() -> Iterator[dict[str, Any]]:
    """One entry for each kind; the type of a field that may be left out ends with a question mark."""
    for table, homes in TABLES.items():
        for kind, home in homes.items():
            forms = {**load(home).forms, **load(home).derived}
            fields = {name: form.name + "?" * form.optional for name, form in sorted(forms.items())}
            yield {"table": table, "kind": kind, "fields": fields}
    for kind, home in QUESTIONS.items():
        annotations = inspect.get_annotations(load(home))
        parameters = {name: PARAMETERS[annotations[name]] for name in load(home).parameters}
        yield {"table": "question", "kind": kind, "fields": dict(sorted({"domain": "domain", **parameters}.items()))}
