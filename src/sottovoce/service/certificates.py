"""Certificates: the exact worst-case privacy loss of every arm of a round, and its amplification by a shuffler."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sottovoce.core.exchange import codec
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.mechanism import Mechanism
from sottovoce.privacy.accounting.study import StudyAccount
from sottovoce.privacy.audit import audit


@dataclass(frozen=True, slots=True)
class ArmFacts:
    """The privacy loss and the report size of an arm."""

    name: str
    method: str
    epsilon: str
    how: str
    ok: bool
    size: int
    fingerprint: str


def arms(manifest: Manifest) -> list[ArmFacts]:
    """The certificate of every arm. Equal mechanisms share one, since an audit may take seconds."""
    return [ArmFacts(arm.name, *_audited(arm.mechanism)) for arm in manifest.stage.arms]


def behind_shuffler(manifest: Manifest) -> str | None:
    """The privacy loss of a report in the smallest batch of the shuffler, or None where nothing smaller is claimed."""
    batch = manifest.facts.collection.batch
    return None if batch is None else _shuffled(manifest, batch)


@lru_cache(maxsize=256)
def _shuffled(manifest: Manifest, batch: int) -> str | None:
    amplified = StudyAccount.of(manifest, participants=batch).amplified
    return None if amplified is None else amplified.text()


def are_made(manifest: Manifest) -> bool:
    """True if all audits of a manifest are cached, so that `arms` returns at once."""
    return all(arm.mechanism.fingerprint in _MADE for arm in manifest.stage.arms)


_MADE: set[str] = set()


@lru_cache(maxsize=4096)
def _audited(mechanism: Mechanism) -> tuple[str, str, str, bool, int, str]:
    certificate = audit(mechanism)
    size = codec.payload_bytes(mechanism.channel)
    _MADE.add(mechanism.fingerprint)
    return mechanism.name, f"{certificate.epsilon:.6g}", certificate.how, certificate.ok, size, mechanism.fingerprint
