"""Secrets that are stored as hashes only: invitations of participants, and tokens of administrators."""

from __future__ import annotations

import hashlib
import secrets

from sottovoce.core.wire import TOKEN_BYTES
from sottovoce.service import acts
from sottovoce.service.stores.base import Transaction

HASH_BYTES = 16
MOST_AT_ONCE = 100_000
SCOPES = ("read", "invite", "manage")


def token_hash(token: bytes, study: str = "") -> bytes:
    """What is stored of a token. It is random, so that its hash needs no salt."""
    return hashlib.sha256(study.encode() + token).digest()[:HASH_BYTES]


def invite(work: Transaction, study: int, root: str, count: int, *, by: str = "operator") -> list[str]:
    """New invitations in hexadecimal, which nobody can read again."""
    made = [secrets.token_bytes(TOKEN_BYTES) for _ in range(count)]
    work.invite(study, [token_hash(one, root) for one in made])
    acts.record(work, "invite", by=by, study=root[:16], count=count)
    return [one.hex() for one in made]
