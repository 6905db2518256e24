"""Shared vectors of sealed reports: made from the primitives of `cryptography`, with fixed one-time keys."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import replace
from datetime import date
from typing import Any

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

import sottovoce as sv
from sottovoce.client.sealing import PURPOSE, inner_bytes, opening_of
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import Collection
from sottovoce.core.exchange.wire import Batch
from sottovoce.core.round import Arm, Round
from sottovoce.service.shuffler.unsealing import unseal

KEM, SUITE = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"
# RFC 9180, appendix A.2.1: base mode, the first message.
PUBLISHED = {
    "info": "4f6465206f6e2061204772656369616e2055726e",
    "secret": "f4ec9b33b792c372c1d2c2063507b684ef925b8c75a42dbcbf57d63ccd381600",
    "key": "4310ee97d88cc1f088a5576c77ab0cf5c3ac797f3d95139c6c84b5429c59662a",
    "plain": "4265617574792069732074727574682c20747275746820626561757479",
    "known": "436f756e742d30",
    "sealed": "1afa08d3dec047a643885163f1180476fa7ddb54c6a8029ea33f95796bf2ac4a"
    "1c5250d8034ec2b784ba2cfd69dbdb8af406cfe3ff938e131f0def8c8b60b4db21993c62ce81883d2dd1b51a28",
}
REPEATED, START = 4, date(2027, 3, 1)
# Points of small order (RFC 7748, section 6.1): zero, one, and one that is zero modulo the prime.
WEAK = [bytes(32).hex(), (1).to_bytes(32, "little").hex(), ((1 << 255) - 19).to_bytes(32, "little").hex()]


def seals() -> dict[str, Any]:
    """The published vector, reports of a study, and keys that are refused."""
    return {"published": PUBLISHED, "good": [report(number) for number in range(5)], "weak": WEAK}


def report(number: int) -> dict[str, Any]:
    """A report of a study with two arms of other widths, some of them with invitations; the last one is repeated."""
    private = X25519PrivateKey.from_private_bytes(_bytes("private", number))
    public = private.public_key().public_bytes_raw()
    found = manifest(public.hex(), invited=number % 2 == 1, repeat=Repeat(7, 300, 300) if number == REPEATED else None)
    secret, token = _bytes("secret", number), _bytes("token", number)[:16] if number % 2 else b""
    arm, epoch = number // 2 % 2, 258 if number == REPEATED else 0
    width = (1, 2)[arm]
    batch = Batch(found.prefix, epoch, 1, arm, _bytes("id", number)[:16], bytes([number] * width), token)
    plain = batch.to_cbor()
    filled = (len(plain).to_bytes(2, "big") + plain).ljust(inner_bytes(found), b"\0")
    sealed = opening_of(found, batch) + seal(public, PURPOSE + bytes.fromhex(found.hash), filled, secret)
    if unseal(private, found, sealed) != batch:
        raise AssertionError("The library's own HPKE opens it.")
    parts = {"private": private.private_bytes_raw(), "secret": secret, "plain": plain, "sealed": sealed}
    return {"content": found.content.decode(), "epoch": epoch, **{name: one.hex() for name, one in parts.items()}}


def manifest(public: str, *, invited: bool, repeat: Repeat | None = None) -> Manifest:
    """Of a study that goes through a shuffler."""
    asked = [
        sv.Asked("smoker", sv.Frequency(sv.Categories(["yes", "no"])), "Do you smoke?"),
        sv.Asked("cups", sv.Frequency(sv.Integers(0, 11)), "Cups?"),
    ]
    about = {"owner": "Institute", "contact": "privacy@example.org", "purpose": "How people sleep.", "unit": "person"}
    collection = Collection(sealed_for=public, batch=100, invitations=invited)
    plan = sv.Study("sleep", questions=asked, epsilon="1", collection=collection, **about)
    facts = plan.facts
    if repeat is not None:
        days = {"start": START.isoformat(), "end": repeat.end(START).isoformat()}
        facts = replace(facts, **days, repeat=repeat, lifetime=repeat.lifetime(facts.epsilon))
    arms = (
        Arm("smoker", sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=1)),
        Arm("cups", sv.mechanism("oue", sv.Integers(0, 11), epsilon=1)),
    )
    return Manifest(facts, plan.questions, Round(arms))


def seal(key: bytes, info: bytes, plain: bytes, secret: bytes, known: bytes = b"") -> bytes:
    """HPKE of RFC 9180 in base mode, with a given one-time key."""
    own = X25519PrivateKey.from_private_bytes(secret)
    enc = own.public_key().public_bytes_raw()
    agreed = own.exchange(X25519PublicKey.from_public_bytes(key))
    shared = _expand(KEM, _extract(KEM, b"", b"eae_prk", agreed), b"shared_secret", enc + key, 32)
    context = b"\0" + _extract(SUITE, b"", b"psk_id_hash", b"") + _extract(SUITE, b"", b"info_hash", info)
    derived = _extract(SUITE, shared, b"secret", b"")
    nonce = _expand(SUITE, derived, b"base_nonce", context, 12)
    cipher = ChaCha20Poly1305(_expand(SUITE, derived, b"key", context, 32))
    return enc + cipher.encrypt(nonce, plain, known)


def _extract(suite: bytes, salt: bytes, label: bytes, secret: bytes) -> bytes:
    return hmac.digest(salt, b"HPKE-v1" + suite + label + secret, "sha256")


def _expand(suite: bytes, key: bytes, label: bytes, info: bytes, length: int) -> bytes:
    text = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info + b"\x01"
    return hmac.digest(key, text, "sha256")[:length]


def _bytes(what: str, number: int) -> bytes:
    return hashlib.sha256(f"{what} {number}".encode()).digest()
