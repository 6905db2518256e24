"""`Text`: any text. An open domain, whose codes are hashes."""

from __future__ import annotations

import hashlib
import unicodedata
from typing import ClassVar

from sottovoce.core.declared import Form, declared
from sottovoce.core.domain.base import Domain
from sottovoce.core.domain.plain import MAX_CODES, MAX_TEXT, is_utf8
from sottovoce.core.errors import ParameterError

HASH = "sha256-32"


def _check_hash(value: object, owner: str, name: str) -> str:
    if value != HASH:
        raise ParameterError(f"The hash of a text domain must be {HASH}.")
    return HASH


@declared
class Text(Domain):
    """Describe an answer as any text of at most 1,000 characters, such as a word or an address.

    Shares are estimated for a list of candidates that the analyst names afterwards. The code of a text is a hash of
    32 bits, which other texts may share. The hash is the first four bytes, little-endian, of SHA-256 of "sottovoce text
    1|" and the text in normal form C as UTF-8.

    Examples:
        >>> m = sv.mechanism("o-rr", sv.Text(), epsilon=4, cohorts=16)
        >>> tally = m.tally(m.privatize(["tea"] * 900 + ["mate"] * 100, seed=1))
        >>> m.estimate(tally, candidates=["tea", "coffee"]).labels
        ('tea', 'coffee')

    See also:
        `Categories` where all possible answers are known.
    """

    kind: ClassVar[str] = "text"
    hash: ClassVar[str] = HASH
    derived: ClassVar[dict[str, Form]] = {"hash": Form("text", _check_hash)}
    size: ClassVar[int] = MAX_CODES
    holds_texts: ClassVar[bool] = True
    is_open: ClassVar[bool] = True

    def typed(self, value: object) -> object:
        return str(value) if type(value) is int else value

    def encode(self, value: object) -> int:
        if not isinstance(value, str) or len(value) > MAX_TEXT or not is_utf8(value):
            raise self.refuse(value, f"a text of at most {MAX_TEXT} characters")
        return text_code(str.__str__(value))

    def foreign(self) -> list[object]:
        return [None, object(), b"bytes", 0, 1.5, True, ["text"], "x" * (MAX_TEXT + 1), "\ud800"]


def text_code(text: str) -> int:
    """The code of a text."""
    plain = unicodedata.normalize("NFC", text).encode()
    return int.from_bytes(hashlib.sha256(b"sottovoce text 1|" + plain).digest()[:4], "little")
