"""The collector's side of sealed reports (`client/sealing.py`): its keys, and opening what devices have sealed."""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sottovoce.client.sealing import LENGTH_BYTES, info, sealed_bytes, suite
from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.core.exchange.manifest import KEY_BYTES, PREFIX_BYTES, Manifest
from sottovoce.core.exchange.wire import Batch


def new_key() -> tuple[str, str]:
    """A private key of a collector and its public key, both in hexadecimal."""
    made = X25519PrivateKey.generate()
    return made.private_bytes_raw().hex(), made.public_key().public_bytes_raw().hex()


def read_key(path: str | Path) -> X25519PrivateKey:
    """The private key in a file of hexadecimal digits."""
    try:
        text = Path(path).read_text(encoding="ascii").strip()
        return X25519PrivateKey.from_private_bytes(bytes.fromhex(text))
    except (OSError, ValueError):
        raise ParameterError(f"The file of the collector's key must hold {2 * KEY_BYTES} hexadecimal digits.") from None


def public_key(private: X25519PrivateKey) -> str:
    """What a study names as `sealed_for`."""
    return private.public_key().public_bytes_raw().hex()


def unseal(private: X25519PrivateKey, manifest: Manifest, sealed: bytes) -> Batch:
    """The report in a seal, for the collector; anything but one report of this manifest is refused."""
    if len(sealed) != sealed_bytes(manifest) or sealed[:PREFIX_BYTES] != manifest.prefix:
        raise ReportError("A sealed report has another length, or belongs to another manifest.")
    try:
        filled = suite().decrypt(sealed[PREFIX_BYTES:], private, info=info(manifest))
    except (InvalidTag, ValueError):
        raise ReportError("A sealed report cannot be opened with this key and manifest.") from None
    size = int.from_bytes(filled[:LENGTH_BYTES], "big")
    plain, rest = filled[LENGTH_BYTES : LENGTH_BYTES + size], filled[LENGTH_BYTES + size :]
    if len(plain) != size or rest.strip(b"\0"):
        raise ReportError("A sealed report does not hold a batch.")
    found = Batch.from_cbor(plain)
    if len(found) != 1 or found.manifest != manifest.prefix:
        raise ReportError("A sealed report holds one report of its manifest.")
    return found


def unseal_all(private: X25519PrivateKey, manifest: Manifest, body: bytes) -> list[Batch | None]:
    """The reports of a body of seals of equal length; None for a seal that cannot be opened."""
    width = sealed_bytes(manifest)
    if not body or len(body) % width:
        raise ReportError("A body of sealed reports has equally long ones of one manifest.")
    found: list[Batch | None] = []
    for place in range(0, len(body), width):
        try:
            found.append(unseal(private, manifest, body[place : place + width]))
        except ReportError:
            found.append(None)
    return found
