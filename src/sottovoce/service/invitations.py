"""Invitations of participants and tokens of administrators, stored only as hashes."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.wire import TOKEN_BYTES
from sottovoce.core.params import check_integer
from sottovoce.service import audit_log
from sottovoce.service.stores.base import Transaction

HASH_BYTES = 16
MOST_AT_ONCE = 100_000
MOST_NAME = 40
SCOPES = ("read", "invite", "manage")


@dataclass(frozen=True, slots=True)
class Token:
    """An administrator's token: its name and its scopes."""

    name: str
    scopes: frozenset[str]
    hash: bytes


def token_hash(token: bytes, study: str = "") -> bytes:
    """The stored hash of a token. Tokens are random, so the hash needs no salt."""
    return hashlib.sha256(study.encode() + token).digest()[:HASH_BYTES]


def invite(
    work: Transaction, study: int, root: str, count: int, *, by: str = "operator", secret: bytes | None = None
) -> list[str]:
    """New invitations in hexadecimal, shown once. Equal secrets give equal invitations."""
    check_integer("count", "invitations", count, 1, MOST_AT_ONCE)
    seed = secrets.token_bytes(32) if secret is None else hashlib.sha256(secret + root.encode()).digest()
    tokens = [hashlib.sha256(seed + place.to_bytes(4, "big")).digest()[:TOKEN_BYTES] for place in range(count)]
    hashes = [token_hash(one, root) for one in tokens]
    known = work.chosen("issued", study, hashes)
    work.invite(study, [one for one in hashes if one not in known])
    if len(known) < count:
        audit_log.record(work, "invite", by=by, study=root[:16], count=count - len(known))
    return [one.hex() for one in tokens]


def add_token(work: Transaction, name: str, scopes: list[str]) -> str:
    """Create a token for an administrator. It is shown once."""
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise ParameterError(f"The name of a token must have 1 to {MOST_NAME} characters.")
    if not scopes or not set(scopes) <= set(SCOPES):
        raise ParameterError(f"The scopes of a token must be some of {', '.join(SCOPES)}.")
    if work.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)):
        raise ParameterError("A token with this name exists already. Choose another name.")
    token = secrets.token_hex(32)
    own = " ".join(sorted(set(scopes)))
    work.execute("INSERT INTO tokens (hash, name, scopes) VALUES (?, ?, ?)", (token_hash(token.encode()), name, own))
    audit_log.record(work, "token", by="operator", name=name, scopes=own)
    return token


def revoke_token(work: Transaction, name: str) -> None:
    """Revoke a token."""
    if not work.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)):
        raise ParameterError("There is no token with this name.")
    work.execute("DELETE FROM tokens WHERE name = ?", (name,))
    audit_log.record(work, "revoke", by="operator", name=name)


def find_token(work: Transaction, token: str) -> Token | None:
    """The stored token with this secret, or None."""
    key = token_hash(token.encode())
    rows = work.execute("SELECT name, scopes FROM tokens WHERE hash = ?", (key,))
    return Token(rows[0][0], frozenset(rows[0][1].split()), key) if rows else None
