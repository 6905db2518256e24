"""JSON Schemas of requests and responses."""

from __future__ import annotations

from typing import Any

from sottovoce.core.exchange.wire import LARGEST, MOST_REPORTS, VERSION
from sottovoce.service.problems import PROBLEMS

Plain = dict[str, Any]
COUNT: Plain = {"type": "integer", "minimum": 0}
TEXT: Plain = {"type": "string"}
HASH: Plain = {"type": "string", "pattern": "^[0-9a-f]{64}$"}


def object_of(properties: Plain, *, optional: tuple[str, ...] = ()) -> Plain:
    """Schema of an object with these properties."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _hex(least: int, most: int) -> Plain:
    return {"type": "string", "pattern": f"^([0-9a-f]{{2}}){{{least},{most}}}$"}


_END: Plain = {"type": ["number", "null"]}
_MOVED = object_of(
    {
        "question": TEXT,
        "measure": TEXT,
        "text": TEXT,
        "rows": {
            "type": "array",
            "items": object_of({"label": TEXT, "low": _END, "high": _END, "moves": _END}),
        },
    }
)


def _outcome(*more: str) -> Plain:
    """Schema of the answer to a batch: counts, and the codes of failed reports."""
    codes = sorted((*more, *(code for code, one in PROBLEMS.items() if one.status is None)))
    failed = object_of({"index": COUNT, "code": {"type": "string", "enum": codes}})
    return object_of({"accepted": COUNT, "duplicates": COUNT, "failed": {"type": "array", "items": failed}})


SCHEMAS: Plain = {
    "Problem": object_of(
        {
            "type": TEXT,
            "title": TEXT,
            "status": {"type": ["integer", "null"]},
            "detail": TEXT,
            "code": {"type": "string", "enum": sorted(PROBLEMS)},
            "manifest": HASH,
        },
        optional=("manifest",),
    ),
    "Batch": object_of(
        {
            "version": {"const": VERSION},
            "manifest": _hex(8, 8),
            "epoch": {**COUNT, "maximum": LARGEST},
            "round": {**COUNT, "maximum": LARGEST},
            "arm": {**COUNT, "maximum": LARGEST},
            "ids": _hex(16, 16 * MOST_REPORTS),
            "payloads": {"type": "string", "pattern": "^([0-9a-f]{2})+$"},
            "tokens": _hex(16, 16 * MOST_REPORTS),
        },
        optional=("tokens",),
    ),
    "Outcome": _outcome(),
    "SealedOutcome": _outcome("invalid_batch", "outdated_manifest", "study_closed", "token_missing"),
    "Study": object_of(
        {
            "name": TEXT,
            "id": TEXT,
            "state": {"type": "string", "enum": ["draft", "open", "closed", "done"]},
            "round": COUNT,
            "manifest": HASH,
            "reports": COUNT,
        }
    ),
    "Studies": object_of({"studies": {"type": "array", "items": {"$ref": "#/components/schemas/Study"}}}),
    "Estimates": object_of(
        {
            **dict.fromkeys(("study", "id", "state"), TEXT),
            "round": COUNT,
            "manifest": HASH,
            "reports": COUNT,
            "checksum": HASH,
            "level": {"type": "number"},
            "notes": {"type": "array", "items": TEXT},
            "alarms": {"type": "array", "items": TEXT},
            "rows": {"type": "array", "items": {"type": "object"}},
            "fakes": object_of({"share": {"type": "number"}, "estimates": {"type": "array", "items": _MOVED}}),
        }
    ),
    "Checksum": object_of({"id": TEXT, "reports": COUNT, "checksum": HASH}),
}
