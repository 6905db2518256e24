"""Secrets that are stored as hashes only: invitations of participants, and tokens of administrators."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from sottovoce.core.errors import ParameterError
from sottovoce.core.exchange.wire import TOKEN_BYTES
from sottovoce.core.params import check_integer
from sottovoce.service import acts
from sottovoce.service.stores.base import Transaction

HASH_BYTES = 16
MOST_AT_ONCE = 100_000
MOST_NAME = 40
SCOPES = ("read", "invite", "manage")


@dataclass(frozen=True, slots=True)
class Token:
    """An administrator: a name, and what it may do."""

    name: str
    scopes: frozenset[str]
    hash: bytes


def token_hash(token: bytes, study: str = "") -> bytes:
    """What is stored of a token. It is random, so that its hash needs no salt."""
    return hashlib.sha256(study.encode() + token).digest()[:HASH_BYTES]


def invite(
    work: Transaction, study: int, root: str, count: int, *, by: str = "operator", secret: bytes | None = None
) -> list[str]:
    """New invitations in hexadecimal, which nobody can read again; with the same secret, the same ones."""
    check_integer("count", "invitations", count, 1, MOST_AT_ONCE)
    seed = secrets.token_bytes(32) if secret is None else hashlib.sha256(secret + root.encode()).digest()
    made = [hashlib.sha256(seed + place.to_bytes(4, "big")).digest()[:TOKEN_BYTES] for place in range(count)]
    hashes = [token_hash(one, root) for one in made]
    known = work.chosen("issued", study, hashes)
    work.invite(study, [one for one in hashes if one not in known])
    if len(known) < count:
        acts.record(work, "invite", by=by, study=root[:16], count=count - len(known))
    return [one.hex() for one in made]


def add_token(work: Transaction, name: str, scopes: list[str], *, by: str = "operator") -> str:
    """A token for an administrator, shown once."""
    if not name or len(name) > MOST_NAME or not name.isprintable():
        raise ParameterError(f"The name of a token has 1 to {MOST_NAME} characters.")
    if not scopes or not set(scopes) <= set(SCOPES):
        raise ParameterError(f"The scopes of a token are some of {', '.join(SCOPES)}.")
    if work.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)):
        raise ParameterError("There is a token of this name.")
    token = secrets.token_hex(32)
    own = " ".join(sorted(set(scopes)))
    work.execute("INSERT INTO tokens (hash, name, scopes) VALUES (?, ?, ?)", (token_hash(token.encode()), name, own))
    acts.record(work, "token", by=by, name=name, scopes=own)
    return token


def revoke_token(work: Transaction, name: str, *, by: str = "operator") -> None:
    """End a token."""
    if not work.execute("SELECT 1 FROM tokens WHERE name = ?", (name,)):
        raise ParameterError("There is no token of this name.")
    work.execute("DELETE FROM tokens WHERE name = ?", (name,))
    acts.record(work, "revoke", by=by, name=name)


def find_token(work: Transaction, token: str) -> Token | None:
    """Who this is."""
    key = token_hash(token.encode())
    rows = work.execute("SELECT name, scopes FROM tokens WHERE hash = ?", (key,))
    return Token(rows[0][0], frozenset(rows[0][1].split()), key) if rows else None
