"""Sealed reports: only the collector can open them, and all of a manifest have the same length.

HPKE (RFC 9180) with X25519, HKDF-SHA-256 and ChaCha20-Poly1305. The hash of the manifest is the `info` of the seal, so
a report that was sealed for one round cannot be passed off as one of another. Before the seal stand the first bytes
of that hash, by which the shuffler knows which reports to mix. A device needs the package `cryptography` for this.
"""

from __future__ import annotations

from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from sottovoce.core.errors import ParameterError, PrivacyError, ReportError
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import ID_BYTES, KEY_BYTES, PREFIX_BYTES, Manifest
from sottovoce.core.exchange.wire import LARGEST, TOKEN_BYTES, Batch

SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.CHACHA20_POLY1305)
PURPOSE = b"sottovoce sealed report 1|"
SEAL_BYTES = 32 + 16  # the encapsulated key and the tag
_LENGTH = 2  # bytes that say how long the batch is, before what fills it up


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


def inner_bytes(manifest: Manifest) -> int:
    """The length of what is sealed, the same for all arms and epochs of a manifest."""
    widest = max(codec.payload_bytes(arm.mechanism.channel) for arm in manifest.stage.arms)
    tokens = bytes(TOKEN_BYTES) if manifest.facts.collection.invitations else b""
    longest = Batch(manifest.prefix, LARGEST, LARGEST, LARGEST, bytes(ID_BYTES), bytes(widest), tokens)
    return _LENGTH + len(longest.to_cbor())


def sealed_bytes(manifest: Manifest) -> int:
    """The length of a sealed report, with the prefix of its manifest."""
    return PREFIX_BYTES + SEAL_BYTES + inner_bytes(manifest)


def seal(manifest: Manifest, batch: Batch) -> bytes:
    """A batch of one report for the collector that the manifest names."""
    key = manifest.facts.collection.sealed_for
    if key is None or len(batch) != 1 or batch.manifest != manifest.prefix:
        raise ParameterError("One report of a study that names the collector's key can be sealed.")
    plain = batch.to_cbor()
    filled = (len(plain).to_bytes(_LENGTH, "big") + plain).ljust(inner_bytes(manifest), b"\0")
    public = X25519PublicKey.from_public_bytes(bytes.fromhex(key))
    try:
        return manifest.prefix + SUITE.encrypt(filled, public, info=_info(manifest))
    except ValueError:  # a point of small order: everyone could open what is sealed for it
        raise PrivacyError("The collector's key of this study seals nothing, so this device does not answer.") from None


def unseal(private: X25519PrivateKey, manifest: Manifest, sealed: bytes) -> Batch:
    """The report in a seal, for the collector; anything but one report of this manifest is refused."""
    if len(sealed) != sealed_bytes(manifest) or sealed[:PREFIX_BYTES] != manifest.prefix:
        raise ReportError("A sealed report has another length, or belongs to another manifest.")
    try:
        filled = SUITE.decrypt(sealed[PREFIX_BYTES:], private, info=_info(manifest))
    except (InvalidTag, ValueError):
        raise ReportError("A sealed report cannot be opened with this key and manifest.") from None
    size = int.from_bytes(filled[:_LENGTH], "big")
    plain, rest = filled[_LENGTH : _LENGTH + size], filled[_LENGTH + size :]
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


def _info(manifest: Manifest) -> bytes:
    return PURPOSE + bytes.fromhex(manifest.hash)
