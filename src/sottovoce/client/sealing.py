"""Sealed reports: only the collector can open them, and all of a manifest have the same length.

HPKE (RFC 9180) with X25519, HKDF-SHA-256 and ChaCha20-Poly1305. The hash of the manifest is the `info` of the seal, so
a report that was sealed for one round cannot be passed off as one of another. Before the seal stand the first bytes
of that hash, by which the shuffler knows which reports to mix. A device needs the package `cryptography` for this.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from sottovoce.core.errors import ParameterError, PrivacyError
from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import ID_BYTES, PREFIX_BYTES, Manifest
from sottovoce.core.exchange.wire import LARGEST, TOKEN_BYTES, Batch
from sottovoce.core.late import load

PURPOSE = b"sottovoce sealed report 1|"
SEAL_BYTES = 32 + 16  # the encapsulated key and the tag
LENGTH_BYTES = 2  # bytes that say how long the batch is, before what fills it up


@cache
def _primitive(name: str) -> Any:
    """A module of `cryptography`, which is loaded when the first report is sealed or opened."""
    return load(f"hazmat.primitives.{name}", package="cryptography")


@cache
def suite() -> Any:
    """The HPKE suite."""
    hpke = _primitive("hpke")
    return hpke.Suite(hpke.KEM.X25519, hpke.KDF.HKDF_SHA256, hpke.AEAD.CHACHA20_POLY1305)


def info(manifest: Manifest) -> bytes:
    """The text that binds a seal to its manifest."""
    return PURPOSE + bytes.fromhex(manifest.hash)


def inner_bytes(manifest: Manifest) -> int:
    """The length of what is sealed, the same for all arms and epochs of a manifest."""
    widest = max(codec.payload_bytes(arm.mechanism.channel) for arm in manifest.stage.arms)
    tokens = bytes(TOKEN_BYTES) if manifest.facts.collection.invitations else b""
    longest = Batch(manifest.prefix, LARGEST, LARGEST, LARGEST, bytes(ID_BYTES), bytes(widest), tokens)
    return LENGTH_BYTES + len(longest.to_cbor())


def sealed_bytes(manifest: Manifest) -> int:
    """The length of a sealed report, with the prefix of its manifest."""
    return PREFIX_BYTES + SEAL_BYTES + inner_bytes(manifest)


def seal(manifest: Manifest, batch: Batch) -> bytes:
    """A batch of one report for the collector that the manifest names."""
    key = manifest.facts.collection.sealed_for
    if key is None or len(batch) != 1 or batch.manifest != manifest.prefix:
        raise ParameterError("One report of a study that names the collector's key can be sealed.")
    plain = batch.to_cbor()
    filled = (len(plain).to_bytes(LENGTH_BYTES, "big") + plain).ljust(inner_bytes(manifest), b"\0")
    public = _primitive("asymmetric.x25519").X25519PublicKey.from_public_bytes(bytes.fromhex(key))
    try:
        encrypted: bytes = suite().encrypt(filled, public, info=info(manifest))
    except ValueError:  # a point of small order: everyone could open what is sealed for it
        raise PrivacyError("The collector's key of this study seals nothing, so this device does not answer.") from None
    return manifest.prefix + encrypted
