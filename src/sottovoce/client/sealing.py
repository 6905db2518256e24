"""Sealed reports: only the collector can open them, and all of a manifest have the same length.

HPKE (RFC 9180) with X25519, HKDF-SHA-256 and ChaCha20-Poly1305. The hash of the manifest is the `info` of the seal, so
a report that was sealed for one round cannot be passed off as one of another. Before the seal stand the first bytes
of that hash, and in repeated studies the wave: the shuffler mixes reports for which both are equal. A device needs the
package `cryptography` for this.
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
WAVE_BYTES = 2
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


def open_bytes(manifest: Manifest) -> int:
    """The length of what stands before a seal, in the clear."""
    return PREFIX_BYTES + (0 if manifest.facts.repeat is None else WAVE_BYTES)


def sealed_bytes(manifest: Manifest) -> int:
    """The length of a sealed report, with what stands before it."""
    return open_bytes(manifest) + SEAL_BYTES + inner_bytes(manifest)


def opening_of(manifest: Manifest, batch: Batch) -> bytes:
    """What stands before the seal of a report: the prefix of its manifest, and the wave of a repeated study.

    The collector reads the wave of a report. Among reports of other waves it would be hidden by nobody, so a shuffler
    mixes the reports of each wave by themselves.
    """
    if manifest.facts.repeat is None:
        return manifest.prefix
    return manifest.prefix + batch.epoch.to_bytes(WAVE_BYTES, "big")


def wave_of(manifest: Manifest, sealed: bytes) -> int:
    """The wave that stands before a seal; 0 in a study that is asked once."""
    return int.from_bytes(sealed[PREFIX_BYTES : open_bytes(manifest)], "big")


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
    return opening_of(manifest, batch) + encrypted
