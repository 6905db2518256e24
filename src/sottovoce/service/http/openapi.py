"""The OpenAPI 3.1 description of the routes. Tests with Schemathesis check the collector against it."""

from __future__ import annotations

from typing import Any

from sottovoce import __version__
from sottovoce.core.exchange.wire import CBOR_TYPE, JSON_TYPE
from sottovoce.service.fake_report_signs import MOST_FAKES
from sottovoce.service.http.schemas import HASH, SCHEMAS, TEXT, Plain, object_of
from sottovoce.service.problems import PROBLEM_TYPE, PROBLEMS


def _ref(name: str) -> Plain:
    return {"$ref": f"#/components/schemas/{name}"}


def _json(schema: Plain) -> Plain:
    return {"content": {JSON_TYPE: {"schema": schema}}}


def _text(kind: str) -> Plain:
    return {"content": {kind: {"schema": TEXT}}}


def _bytes(kind: str) -> Plain:
    return {"content": {kind: {"schema": {"type": "string", "contentMediaType": kind}}}}


def _responses(good: dict[str, tuple[str, Plain]], *codes: str) -> Plain:
    responses: Plain = {status: {"description": said, **content} for status, (said, content) in good.items()}
    for code in (*codes, *(["internal_error"] if "unavailable" in codes else [])):
        status = str(PROBLEMS[code].status)
        said = responses.get(status, {}).get("description", "")
        responses[status] = {
            "description": f"{said} {code}: {PROBLEMS[code].title}".strip(),
            "content": {PROBLEM_TYPE: {"schema": _ref("Problem")}},
        }
    return responses


def _operation(name: str, summary: str, responses: Plain, *parameters: Plain, **more: Any) -> Plain:
    operation = {"operationId": name, "summary": summary, "responses": responses, **more}
    return {**operation, "parameters": list(parameters)} if parameters else operation


def _query(name: str, schema: Plain, said: str) -> Plain:
    return {"name": name, "in": "query", "required": False, "schema": schema, "description": said}


_STUDY: Plain = {
    "name": "study",
    "in": "path",
    "required": True,
    "schema": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
    "description": "The first 16 hexadecimal digits of the hash of the study's first manifest.",
}
_LEVEL = _query("level", {"type": "number", "minimum": 0.5, "maximum": 0.9999}, "The level of the intervals.")
_FAKES = _query(
    "fakes",
    {"type": "number", "minimum": 0, "maximum": MOST_FAKES},
    "The share of fake reports whose effect is bounded; 0.01 if left out. For JSON only.",
)
_BUSY = ("queue_full", "unavailable", "round_failed", "disk_full")

_KEY: Plain = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": True,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200},
    "description": "The same request with the same key is done once.",
}
_GUARDED = ("invalid_request", "unauthorized", "forbidden", "unavailable")
_CHANGED = (*_GUARDED, "slow_sender", "too_large", "key_reused", "disk_full")
_STATE = object_of({"id": TEXT, "state": TEXT})
_TEXTS: Plain = {"type": "array", "items": TEXT}
_LISTED: Plain = {"type": "array", "items": {"type": "object"}}


def _act(name: str, summary: str, good: dict[str, tuple[str, Plain]], *parameters: Plain, **more: Any) -> Plain:
    """An administrative action, done once for each idempotency key."""
    codes = (*_CHANGED, *(("unknown_study", "state_conflict") if _STUDY in parameters else ()))
    return {
        "post": _operation(
            name, summary, _responses(good, *codes), *parameters, _KEY, security=[{"bearer": []}], **more
        )
    }


ADMIN: Plain = {
    "/v1/admin/studies": _act(
        "create",
        "Plan the study file in the body, and open it",
        {
            "201": (
                "The study, and other open studies whose files have the same name.",
                _json(object_of({"id": TEXT, "state": TEXT, "manifest": HASH, "also_open": _TEXTS})),
            )
        },
        {
            "name": "participants",
            "in": "query",
            "required": True,
            "schema": {"type": "integer", "minimum": 1, "maximum": 999_999_999_999},
            "description": "How many people are expected.",
        },
        _query("draft", {"type": "boolean"}, "Whether it is opened later."),
        requestBody={"required": True, "content": {"text/plain": {"schema": TEXT}}},
    ),
    "/v1/admin/studies/{study}": {
        "get": _operation(
            "status",
            "How far a study is, and what was refused",
            _responses({"200": ("The state.", _json({"type": "object"}))}, *_GUARDED[1:], "unknown_study"),
            _STUDY,
            security=[{"bearer": []}],
        )
    },
    "/v1/admin/studies/{study}/open": _act("open", "Open a draft", {"200": ("Its state.", _json(_STATE))}, _STUDY),
    "/v1/admin/studies/{study}/close": _act("close", "Close a study", {"200": ("Its state.", _json(_STATE))}, _STUDY),
    "/v1/admin/studies/{study}/invitations": _act(
        "invite",
        "Make invitations, each good for one report",
        {
            "201": (
                "They are shown once.",
                _json(object_of({"id": TEXT, "invitations": _TEXTS})),
            )
        },
        _STUDY,
        requestBody={
            "required": True,
            **_json(object_of({"count": {"type": "integer", "minimum": 1, "maximum": 100_000}})),
        },
    ),
    "/v1/admin/log": {
        "get": _operation(
            "log",
            "The log of administrative acts",
            _responses({"200": ("All acts.", _json(object_of({"acts": _LISTED})))}, *_GUARDED[1:]),
            security=[{"bearer": []}],
        )
    },
}

PATHS: Plain = {
    "/v1/studies": {
        "get": _operation("studies", "All studies", _responses({"200": ("The studies.", _json(_ref("Studies")))}))
    },
    "/v1/studies/{study}": {
        "get": _operation(
            "study", "One study", _responses({"200": ("The study.", _json(_ref("Study")))}, "unknown_study"), _STUDY
        )
    },
    "/v1/studies/{study}/manifest": {
        "get": _operation(
            "manifest",
            "The manifest of the current round, or of an earlier one; the header Study-State is open, closed or done",
            _responses(
                {
                    "200": ("The manifest, exactly the bytes whose SHA-256 is its name.", _json({"type": "object"})),
                    "304": ("The reader has it.", {}),
                },
                "unknown_study",
                "not_found",
            ),
            _STUDY,
            _query("hash", HASH, "The hash of the manifest of an earlier round."),
        )
    },
    "/v1/studies/{study}/reports": {
        "post": _operation(
            "report",
            "Send a batch of reports; they are stored durably before the answer",
            _responses(
                {"200": ("What became of the reports; only failures are listed.", _json(_ref("Outcome")))},
                *("invalid_batch", "token_missing", "sealed_only", "not_open", "unknown_study", "slow_sender"),
                *("outdated_manifest", "study_closed", "too_large", "unsupported_type", *_BUSY),
            ),
            _STUDY,
            requestBody={
                "required": True,
                "content": {
                    JSON_TYPE: {"schema": _ref("Batch")},
                    CBOR_TYPE: {"schema": {"type": "string", "contentMediaType": CBOR_TYPE}},
                },
            },
        )
    },
    "/v1/studies/{study}/estimates": {
        "get": _operation(
            "estimates",
            "Estimates with intervals, from all reports counted so far",
            _responses(
                {
                    "200": (
                        "The estimates.",
                        {
                            "content": {
                                JSON_TYPE: {"schema": _ref("Estimates")},
                                "text/csv": {"schema": TEXT},
                                "application/vnd.apache.arrow.stream": {"schema": TEXT},
                            }
                        },
                    ),
                    "304": ("The reader has them.", {}),
                },
                "invalid_request",
                "unknown_study",
                "unavailable",
            ),
            _STUDY,
            _LEVEL,
            _FAKES,
            _query("format", {"type": "string", "enum": ["json", "csv", "arrow"]}, "Instead of the header Accept."),
        )
    },
    "/v1/studies/{study}/estimates/stream": {
        "get": _operation(
            "stream",
            "The same as server-sent events, whenever reports were counted; it does not end",
            _responses(
                {"200": ("Events.", _text("text/event-stream"))},
                *("invalid_request", "unknown_study", "queue_full", "unavailable"),
            ),
            _STUDY,
            _LEVEL,
            _FAKES,
        )
    },
    "/v1/studies/{study}/tallies": {
        "get": _operation(
            "tallies",
            "The counts of every arm and round; with round and arm one tally as a file",
            _responses(
                {
                    "200": (
                        "The counts.",
                        {
                            "content": {
                                JSON_TYPE: {"schema": {"type": "object"}},
                                "application/octet-stream": {"schema": TEXT},
                            }
                        },
                    ),
                    "304": ("The reader has it.", {}),
                },
                *("invalid_request", "unknown_study", "not_found", "unavailable"),
            ),
            _STUDY,
            _query("round", {"type": "integer", "minimum": 1, "maximum": 999_999_999}, "Which round."),
            _query("arm", {"type": "integer", "minimum": 0, "maximum": 999_999_999}, "Which arm."),
        )
    },
    "/v1/studies/{study}/checksum": {
        "get": _operation(
            "checksum",
            "The number of counted reports, and the XOR of the SHA-256 of their ids",
            _responses({"200": ("The checksum.", _json(_ref("Checksum")))}, "unknown_study"),
            _STUDY,
        )
    },
    "/openapi.json": {
        "get": _operation("description", "This document", _responses({"200": ("It.", _json({"type": "object"}))}))
    },
    "/healthz": {"get": _operation("alive", "Whether it runs", _responses({"200": ("Yes.", _text("text/plain"))}))},
    "/readyz": {
        "get": _operation(
            "ready",
            "Whether it takes reports",
            _responses({"200": ("Yes.", _text("text/plain")), "503": ("No.", _text("text/plain"))}),
        )
    },
    "/metrics": {
        "get": _operation("metrics", "Counters for Prometheus", _responses({"200": ("Counters.", _text("text/plain"))}))
    },
    "/problems/{code}": {
        "get": _operation(
            "remedy",
            "What a code means, and what to do",
            _responses({"200": ("A page.", _text("text/html"))}, "not_found"),
            {
                "name": "code",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "enum": sorted(PROBLEMS)},
                "description": "The code of a problem.",
            },
        )
    },
}

# Of a collector that has a key, for studies whose reports come through a shuffler.
SEALED: Plain = {
    "/v1/studies/{study}/sealed": {
        "post": _operation(
            "sealed",
            "Send sealed reports of one manifest, one after the other; each begins with the prefix of its hash, and in"
            " a repeated study with two bytes of its wave",
            _responses(
                {
                    "200": (
                        "What became of them; a seal that cannot be opened is invalid.",
                        _json(_ref("SealedOutcome")),
                    )
                },
                *("invalid_request", "invalid_batch", "not_open", "unknown_study", "slow_sender"),
                *("outdated_manifest", "too_large", *_BUSY),
            ),
            _STUDY,
            requestBody={"required": True, **_bytes("application/octet-stream")},
        )
    },
}

DOCUMENT: Plain = {
    "openapi": "3.1.0",
    "info": {
        "title": "sottovoce collector",
        "version": __version__,
        "description": "Takes reports under local differential privacy exactly once, and gives estimates.",
        "license": {"name": "Apache-2.0"},
    },
    "paths": {**PATHS, **ADMIN},
    "components": {
        "schemas": SCHEMAS,
        "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
    },
}


def document(*, sealed: bool) -> Plain:
    """The OpenAPI document, with or without the route for sealed reports."""
    return {**DOCUMENT, "paths": {**PATHS, **SEALED, **ADMIN}} if sealed else DOCUMENT
