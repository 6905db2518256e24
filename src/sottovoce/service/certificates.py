"""Certificates: the exact worst-case loss of every arm of a round, by the audit, and what a shuffler adds to it."""

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
    """What an arm loses and sends."""

    name: str
    method: str
    epsilon: str
    how: str
    ok: bool
    size: int
    fingerprint: str


def arms(manifest: Manifest) -> list[ArmFacts]:
    """The certificate of every arm. Arms with the same mechanism share one, since an audit may take seconds."""
    return [ArmFacts(arm.name, *_audited(arm.mechanism)) for arm in manifest.stage.arms]


def behind_shuffler(manifest: Manifest) -> str | None:
    """What a report loses in the smallest batch of the shuffler; None without one, where nothing is claimed."""
    batch = manifest.facts.collection.batch
    return None if batch is None else _shuffled(manifest, batch)


@lru_cache(maxsize=256)
def _shuffled(manifest: Manifest, batch: int) -> str:
    found = StudyAccount.of(manifest, participants=batch).amplified
    assert found is not None
    return found.text()


def are_made(manifest: Manifest) -> bool:
    """Whether the audits were made before, so that `arms` is quick."""
    return all(arm.mechanism.fingerprint in _MADE for arm in manifest.stage.arms)


_MADE: set[str] = set()


@lru_cache(maxsize=4096)
def _audited(mechanism: Mechanism) -> tuple[str, str, str, bool, int, str]:
    found = audit(mechanism)
    size = codec.payload_bytes(mechanism.channel)
    _MADE.add(mechanism.fingerprint)
    return mechanism.name, f"{found.epsilon:.6g}", found.how, found.ok, size, mechanism.fingerprint
