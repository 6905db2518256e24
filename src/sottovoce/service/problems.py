"""Problems: one document shape (RFC 9457) for every refusal, and a page with the remedy for every code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

PROBLEM_TYPE = "application/problem+json"


@dataclass(frozen=True, slots=True)
class Problem:
    """The meaning of a code. `status` is the HTTP status, or None for codes of single reports."""

    status: int | None
    title: str
    remedy: str


PROBLEMS: dict[str, Problem] = {
    # whole requests
    "invalid_batch": Problem(
        400,
        "The batch is not valid.",
        "Its bytes are not a batch, or its round, arm or payload width is not one of its manifest. Nothing was counted."
        " Read the wire format, and encode the batch again from the stored reports; do not randomize again.",
    ),
    "invalid_request": Problem(
        400, "The request is not valid.", "A parameter or the body is not what the description of this route says."
    ),
    "unauthorized": Problem(
        401, "A token is needed.", "Send the header 'Authorization: Bearer TOKEN' with a token of this collector."
    ),
    "token_missing": Problem(
        401,
        "This study needs invitations.",
        "Send one invitation token with each report; they are given out by those who run the study.",
    ),
    "forbidden": Problem(403, "This token does not allow it.", "Ask for a token with the scope of this action."),
    "sealed_only": Problem(
        403,
        "This study takes sealed reports only.",
        "Send reports to the study's shuffler. The collector opens what the shuffler passes on.",
    ),
    "not_open": Problem(
        403, "The study has not begun.", "Keep the report and send it from the day on that the manifest names."
    ),
    "unknown_study": Problem(
        404, "No such study is collected here.", "Compare the address with the list of studies at /v1/studies."
    ),
    "not_found": Problem(404, "There is nothing at this address.", "The routes are listed in /openapi.json."),
    "method_not_allowed": Problem(
        405, "This address does not support this method.", "The routes are in /openapi.json."
    ),
    "slow_sender": Problem(
        408, "The request took too long to arrive.", "Send it again; the same reports are counted once."
    ),
    "outdated_manifest": Problem(
        409,
        "The study has moved to another round.",
        "Fetch the manifest again. A report for the old round that was not counted is not needed any more: its charge"
        " stays in the ledger, and the participant may answer the new round if the budget allows it.",
    ),
    "state_conflict": Problem(409, "The study is in another state.", "Look at its state at /v1/studies."),
    "study_closed": Problem(
        410, "The study is closed.", "Delete what is unsent. Reports that were counted before stay counted."
    ),
    "too_large": Problem(413, "The request is too large.", "Send at most 1,000 reports and 256 KiB at once."),
    "unsupported_type": Problem(
        415, "The content type is not known.", "Send a batch as application/cbor or application/json."
    ),
    "key_reused": Problem(
        422, "This idempotency key was used for something else.", "Use a new key for each different request."
    ),
    "queue_full": Problem(
        429, "Too many reports are waiting.", "Wait as long as the header Retry-After says; send the same bytes again."
    ),
    "internal_error": Problem(
        500,
        "The collector has a bug.",
        "Tell those who run the collector the id of this answer: its log has the same id. Reports may be sent again;"
        " the same bytes are counted once.",
    ),
    "unavailable": Problem(
        503,
        "The store does not answer.",
        "Send the same bytes again later. Whether they were stored or not, they are counted once.",
    ),
    "round_failed": Problem(
        503,
        "The next round could not be computed.",
        "Keep the report. Those who run the study see this in the log of the collector and can close the study.",
    ),
    "disk_full": Problem(507, "The collector's disk is full.", "Keep the report and send the same bytes again later."),
    # single reports of a batch
    "conflict": Problem(
        None,
        "A report with this id and other bytes was counted before.",
        "A device sends the same bytes again and never randomizes again under the same id. Somebody forged one of the"
        " two, or the device lost its outbox. The first one stays counted.",
    ),
    "epoch_too_old": Problem(
        None, "The report names an epoch that is over.", "Send the same id and payload with the current epoch."
    ),
    "epoch_in_future": Problem(
        None, "The report names an epoch that has not begun.", "Correct the clock of the device, then send it again."
    ),
    "round_closed": Problem(
        None, "The round of this report is over.", "It was not counted. Fetch the manifest of the current round."
    ),
    "invalid_payload": Problem(
        None,
        "No device of this mechanism sends such an id or payload.",
        "The payload was changed on its way, or the device has another version of the mechanism.",
    ),
    "wrong_arm": Problem(
        None, "The id belongs to another arm.", "The arm follows from the id and the manifest; it is not chosen."
    ),
    "token_spent": Problem(None, "This invitation was used.", "An invitation is good for one report."),
    "token_unknown": Problem(None, "This invitation is not known.", "Check that it belongs to this study."),
}


def document(code: str, **more: Any) -> bytes:
    """The problem document as JSON."""
    described = PROBLEMS[code]
    plain = {
        "type": f"/problems/{code}",
        "title": described.title,
        "status": described.status,
        "detail": described.remedy,
        "code": code,
    }
    return json.dumps({**plain, **more}, separators=(",", ":")).encode()


def problem(code: str, *, headers: dict[str, str] | None = None, **more: Any) -> Response:
    """The response with a problem document."""
    status = PROBLEMS[code].status
    return Response(document(code, **more), status or 400, headers=headers, media_type=PROBLEM_TYPE)
