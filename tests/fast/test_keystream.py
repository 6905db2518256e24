"""The keystream of batches: the same blocks by both modes of the cipher, and the published ones of AES-256."""

import secrets
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers import CipherContext

from sottovoce.fast import keystream as streams
from sottovoce.fast.keystream import BLOCK, MANY, by_ctr, by_gcm, keystream

# NIST SP 800-38A, F.5.5: AES-256 in counter mode.
KEY = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
FIRST = 0xF0F1F2F3F4F5F6F7F8F9FAFBFCFDFEFF
PLAIN = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
CIPHER = "601ec313775789a5b7a7f504bbf3d228f443e3ca4d62b59aca84e990cacaf5c5"


@pytest.mark.parametrize("mode", [by_ctr, by_gcm])
def test_published_blocks(mode: Callable[[bytes, int], CipherContext]) -> None:
    blocks = mode(KEY, FIRST).update(bytes(2 * BLOCK))
    assert bytes(a ^ b for a, b in zip(blocks, bytes.fromhex(PLAIN), strict=True)).hex() == CIPHER


def test_both_modes_give_the_same_blocks_from_any_counter() -> None:
    for _ in range(20):
        key = secrets.token_bytes(32)
        for counter in (0, 1, 2**32 - 100, 2**32, 2**32 + 1, 2**64 - 2**20, 2**127 + 5, secrets.randbits(128)):
            assert by_gcm(key, counter).update(bytes(640)) == by_ctr(key, counter).update(bytes(640))


@pytest.mark.parametrize("faster", [False, True])
def test_counters_carry_beyond_32_bits(monkeypatch: pytest.MonkeyPatch, faster: bool) -> None:
    """GCM counts in 32 bits: where more are needed, counter mode is used."""
    monkeypatch.setattr(streams, "gcm_is_faster", lambda: faster)
    used: list[int] = []

    def noted(key: bytes, counter: int) -> CipherContext:
        used.append(counter)
        return by_gcm(key, counter)

    monkeypatch.setattr(streams, "by_gcm", noted)
    size = MANY * BLOCK
    for counter in (2**32 - MANY, 2**32 - MANY + 1, 2**64 - 7, 5):
        assert keystream(KEY, counter, MANY).update(bytes(size)) == by_ctr(KEY, counter).update(bytes(size))
    assert used == ([2**32 - MANY, 5] if faster else [])
    keystream(KEY, 5, MANY - 1)
    assert len(used) == 2 * faster
