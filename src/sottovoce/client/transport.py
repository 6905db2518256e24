"""HTTP to a collector, with nothing but the standard library. Redirects are not followed, and no cookies are kept."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from sottovoce.core.errors import CollectorError, ParameterError
from sottovoce.core.exchange.manifest import Manifest

TIMEOUT = 10.0  # seconds
MOST_BYTES = 16 << 20  # of an answer
STUDY_DIGITS = 16  # of a study's name in addresses
ACCEPTED, QUEUED = "accepted", "queued"
STUDY_STATE = "study-state"  # the header beside a manifest
ENDED = ("closed", "done")  # with these states a study takes no more reports
STUDY_CLOSED = "study_closed"
# The collector has the bytes, and will not count them: sending them again is no use.
REFUSALS = (
    *("conflict", "epoch_too_old", "round_closed", "invalid_payload", "token_spent"),
    *("outdated_manifest", STUDY_CLOSED, "invalid_batch", "too_large", "forbidden", "refused"),
)
_BY_STATUS = {
    **{400: "invalid_batch", 401: "forbidden", 403: "forbidden", 409: "outdated_manifest", 410: STUDY_CLOSED},
    **{413: "too_large", 415: "refused", 422: "refused"},
}
_STUDY = re.compile(rf"(.*)/v1/studies/([0-9a-f]{{{STUDY_DIGITS}}})")
_CONTENT = "application/json"


class Unreached(CollectorError):
    """No connection was made, so nothing was sent."""


class Interrupted(CollectorError):
    """The connection broke: the report may have arrived or not."""


class Reply(NamedTuple):
    """What a collector answered."""

    status: int
    body: bytes
    retry_after: float = 0.0
    study_state: str = ""


class Outcome(NamedTuple):
    """What became of a report: accepted, still queued, or the code of a refusal."""

    state: str
    retry_after: float = 0.0


@dataclass(slots=True)
class HttpTransport:
    """One request after the other; with `keep` over one connection for each collector, for simulations.

    A device opens a connection for each report, so that the collector does not see which reports are of one device.
    """

    timeout: float = TIMEOUT
    keep: bool = False
    _kept: dict[tuple[str, str], http.client.HTTPConnection] | None = None

    def get(self, url: str, query: str = "") -> Reply:
        """Ask for a document."""
        return self._request("GET", url, None, {"Accept": _CONTENT}, query and f"?{query}")

    def post(self, url: str, body: bytes, kind: str) -> Reply:
        """Send a report; `Unreached` means that nothing was sent, `Interrupted` that it may have arrived."""
        return self._request("POST", url, body, {"Content-Type": kind, "Accept": _CONTENT})

    def close(self) -> None:
        """Close what is open."""
        for connection in (self._kept or {}).values():
            connection.close()
        self._kept = None

    def _request(self, method: str, url: str, body: bytes | None, headers: dict[str, str], query: str = "") -> Reply:
        parts = parsed(url)
        connection = self._connected(parts)
        try:
            connection.request(method, (parts.path or "/") + query, body, headers)
            answer = connection.getresponse()
            content = answer.read(MOST_BYTES + 1)
            # A connection that breaks within the answer ends it early, without an error.
            if len(content) > MOST_BYTES or answer.length:
                raise http.client.HTTPException
            state = answer.getheader(STUDY_STATE, "")
            reply = Reply(answer.status, content, _seconds(answer.getheader("Retry-After")), state)
        except (OSError, http.client.HTTPException):
            self._drop(parts, connection)
            raise Interrupted("The connection to the collector broke: whether the report arrived is open.") from None
        if not self.keep or answer.will_close:
            self._drop(parts, connection)
        return reply

    def _connected(self, parts: SplitResult) -> http.client.HTTPConnection:
        kept = self._kept = self._kept or {}
        place = (parts.scheme, parts.netloc)
        if place in kept:
            return kept[place]
        host, port = parts.hostname or "", parts.port
        connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(host, port, timeout=self.timeout, context=context)
        else:
            connection = http.client.HTTPConnection(host, port, timeout=self.timeout)
        try:
            connection.connect()
        except (OSError, UnicodeError):
            connection.close()
            raise Unreached("The collector cannot be reached.") from None
        if self.keep:
            kept[place] = connection
        return connection

    def _drop(self, parts: SplitResult, connection: http.client.HTTPConnection) -> None:
        connection.close()
        if self._kept:
            self._kept.pop((parts.scheme, parts.netloc), None)


def parsed(url: str) -> SplitResult:
    """The parts of an address, which is of http or https."""
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises where it is no number
    except ValueError:
        parts = urlsplit("")
    printable = all("!" <= character <= "~" for character in url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or not printable:
        raise ParameterError("The address of a study begins with https:// or http:// and has no ? or #.")
    return parts


class FetchedStudy(NamedTuple):
    """A study at its collector: the manifest, the study's own address, and whether reports are still taken."""

    manifest: Manifest
    url: str
    is_open: bool


def fetch_manifest(url: str, transport: HttpTransport) -> tuple[Manifest, str]:
    """The manifest of the study at an address, and the study's own address."""
    return fetch_study(url, transport)[:2]


def fetch_open_study(url: str, transport: HttpTransport) -> tuple[Manifest, str]:
    """The manifest and the address of a study that still takes reports; a closed one is refused."""
    manifest, address, is_open = fetch_study(url, transport)
    if not is_open:
        raise CollectorError("This study is closed: it takes no more answers.")
    return manifest, address


def fetch_study(url: str, transport: HttpTransport) -> FetchedStudy:
    """The study at an address.

    The address is that of a study, or of a collector that has one open study. A manifest that belongs to another study
    than the address says is refused.
    """
    url = url.rstrip("/").removesuffix("/manifest")
    match = _STUDY.fullmatch(url)
    if match is None:
        url = f"{url}/v1/studies/{_only_study(url, transport)}"
        match = _STUDY.fullmatch(url)
    reply = transport.get(f"{url}/manifest")
    if reply.status != http.client.OK:
        raise CollectorError(f"The collector gives no manifest of this study: status {reply.status}.")
    manifest = Manifest.from_spec(reply.body, device=True)
    if match is None or manifest.study[:STUDY_DIGITS] != match[2]:
        raise CollectorError("The collector gives the manifest of another study than the address says.")
    return FetchedStudy(manifest, url, reply.study_state not in ENDED)


def _only_study(url: str, transport: HttpTransport) -> str:
    reply = transport.get(f"{url}/v1/studies")
    listed = plain(reply.body) if reply.status == http.client.OK else None
    if isinstance(listed, dict):
        listed = listed.get("studies")
    studies = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    names = [str(one.get("id")) for one in studies if one.get("state") == "open"]
    names = [name for name in names if re.fullmatch(f"[0-9a-f]{{{STUDY_DIGITS}}}", name)]
    if len(names) != 1:
        raise CollectorError(
            f"This collector has {len(names)} open studies: give the address of one, .../v1/studies/ID."
        )
    return names[0]


def outcome(reply: Reply) -> Outcome:
    """The fate of the one report that was sent, as the collector's reply states it."""
    if reply.status == http.client.OK:
        content = plain(reply.body)
        if isinstance(content, dict):
            return _counted(content)
        return Outcome(QUEUED)
    state = _BY_STATUS.get(reply.status)
    problem = plain(reply.body)
    if isinstance(problem, dict) and problem.get("code") == "not_open":  # the study begins later
        state = None
    if state is None:  # a full queue, a full disk, a server that restarts: later
        return Outcome(QUEUED, reply.retry_after)
    return Outcome(state)


def _counted(content: dict[str, Any]) -> Outcome:
    counted = [content.get("accepted", 0), content.get("duplicates", 0)]
    if all(type(number) is int for number in counted) and sum(counted) == 1:
        return Outcome(ACCEPTED)
    failed = content.get("failed")
    first = failed[0] if isinstance(failed, list) and len(failed) == 1 else None
    code = first.get("code") if isinstance(first, dict) else None
    if code == "epoch_in_future":  # the clock of this device is ahead: the epoch will come
        return Outcome(QUEUED)
    if isinstance(code, str):
        return Outcome(code if code in REFUSALS else "refused")
    return Outcome(QUEUED)


def plain(body: bytes) -> Any:
    """Parse JSON; None if the text is not JSON."""
    with suppress(ValueError, RecursionError):
        return json.loads(body)
    return None


def _seconds(text: str | None) -> float:
    return float(text) if text is not None and re.fullmatch("[0-9]{1,6}", text) else 0.0
