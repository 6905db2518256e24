"""The collector's side of sealed reports (see `client/sealing.py`): keys, and opening seals."""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from sottovoce.client.sealing import LENGTH_BYTES, info, open_bytes, opening_of, sealed_bytes, suite
from sottovoce.core.errors import ParameterError, ReportError
from sottovoce.core.exchange.manifest import PREFIX_BYTES, Manifest
from sottovoce.core.exchange.study_facts import KEY_BYTES
from sottovoce.core.exchange.wire import Batch


def new_key() -> tuple[str, str]:
    """A new private key and its public key, in hexadecimal."""
    key = X25519PrivateKey.generate()
    return key.private_bytes_raw().hex(), key.public_key().public_bytes_raw().hex()


def read_key(path: str | Path) -> X25519PrivateKey:
    """Read a private key from a file of hexadecimal digits."""
    try:
        text = Path(path).read_text(encoding="ascii").strip()
        return X25519PrivateKey.from_private_bytes(bytes.fromhex(text))
    except (OSError, ValueError):
        raise ParameterError(
            f"The file of the collector's key must contain {2 * KEY_BYTES} hexadecimal digits."
        ) from None


def public_key(private: X25519PrivateKey) -> str:
    """The public key in hexadecimal, which a study names as `sealed_for`."""
    return private.public_key().public_bytes_raw().hex()


def unseal(private: X25519PrivateKey, manifest: Manifest, sealed: bytes) -> Batch:
    """Open a seal. Anything other than one report of this manifest is refused."""
    if len(sealed) != sealed_bytes(manifest) or sealed[:PREFIX_BYTES] != manifest.prefix:
        raise ReportError("A sealed report has the wrong length, or belongs to another manifest.")
    try:
        filled = suite().decrypt(sealed[open_bytes(manifest) :], private, info=info(manifest))
    except (InvalidTag, ValueError):
        raise ReportError("A sealed report cannot be opened with this key and manifest.") from None
    size = int.from_bytes(filled[:LENGTH_BYTES], "big")
    plain, rest = filled[LENGTH_BYTES : LENGTH_BYTES + size], filled[LENGTH_BYTES + size :]
    if len(plain) != size or rest.strip(b"\0"):
        raise ReportError("A sealed report does not contain a batch.")
    batch = Batch.from_cbor(plain)
    if len(batch) != 1 or batch.manifest != manifest.prefix:
        raise ReportError("A sealed report must contain exactly one report of its manifest.")
    if manifest.facts.repeat is not None and not sealed.startswith(opening_of(manifest, batch)):
        raise ReportError("A sealed report is of another wave than stands before its seal.")
    return batch


def unseal_all(private: X25519PrivateKey, manifest: Manifest, body: bytes) -> list[Batch | None]:
    """Open a body of seals of equal length. A seal that cannot be opened gives None."""
    width = sealed_bytes(manifest)
    if not body or len(body) % width:
        raise ReportError("Sealed reports in one request must be of one manifest and of equal length.")
    batches: list[Batch | None] = []
    for place in range(0, len(body), width):
        try:
            batches.append(unseal(private, manifest, body[place : place + width]))
        except ReportError:
            batches.append(None)
    return batches
