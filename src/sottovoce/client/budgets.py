"""What a device lost in a study, beside what the study and the device allow."""

from __future__ import annotations

from decimal import Decimal
from sqlite3 import Connection

from sottovoce.client import ledger
from sottovoce.client.deliveries import StudyStatement
from sottovoce.client.once import turns_of
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.guarantee import parallel
from sottovoce.core.mechanism import Mechanism


def refusal(database: Connection, manifest: Manifest, mechanism: Mechanism, lifetime: Decimal | None) -> str | None:
    """Why the losses would exceed the limit of the device or that of the study with this report, or None."""
    memoised = mechanism.ratio_forever is not None
    mechanisms = [] if memoised else [arm.mechanism for arm in manifest.stage.arms]
    # A mechanism that keeps memos is charged by now; of the others the worst one counts, whichever was drawn.
    more = parallel([one.guarantee.charge(one.ratio) for one in mechanisms]).epsilon
    if lifetime is not None and ledger.lost(database, more) > lifetime:
        return "With this report the device would lose more than it allows in its lifetime, so it does not answer."
    facts = manifest.facts
    # Of events too: participants are told what their device spends at most in a study.
    if ledger.lost(database, more, study=manifest.study, owner=facts.owner) > facts.lifetime:
        return "With this report the device would lose more than the lifetime budget of this study."
    return None


def study_account(database: Connection, manifest: Manifest, wave: int, lifetime: Decimal | None) -> StudyStatement:
    """What a study got from a device: in the window of waves that ends with this one, in all, and in all studies."""
    facts, repeat = manifest.facts, manifest.facts.repeat
    first = wave if repeat is None else wave - repeat.window + 1
    return StudyStatement(
        ledger.lost_since(database, first, study=manifest.study, owner=facts.owner),
        ledger.lost(database, study=manifest.study, owner=facts.owner),
        ledger.lost(database),
        facts.epsilon,
        facts.lifetime,
        lifetime,
        () if repeat is None else tuple(turns_of(database, manifest, wave)),
    )
