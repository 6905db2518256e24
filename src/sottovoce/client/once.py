"""Whether a device may answer a study: once, once in each round, in its waves, or in each epoch from memos.

A device knows a study by the hash of its first manifest and by its owner. A later round only claims that hash, so
another owner under the same hash is another study: it can neither block the first one nor spend its budget.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from sqlite3 import Connection

from sottovoce.client import outbox
from sottovoce.client.device_file import DeviceFile
from sottovoce.core.errors import PrivacyError
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.repeat import Repeat
from sottovoce.core.exchange.study_facts import StudyFacts
from sottovoce.core.specs import canonical

NUMBER_BYTES = 16


def check_once(database: Connection, manifest: Manifest, epoch: int) -> None:
    """Refuse a second answer of a person or device to a study, and a round that changes what the study says.

    A further epoch is answered only where every report so far was made by a round of the same mechanisms, all of which
    keep a memo: another mechanism would draw another memo and spend the budget again.
    """
    facts = manifest.facts
    row = database.execute(
        "SELECT facts FROM study WHERE root = ? AND owner = ?", (manifest.study, facts.owner)
    ).fetchone()
    if row is not None and row[0] != _said(facts):
        raise PrivacyError("This round says something else about the study than the round that was answered.")
    if facts.unit == "event":
        return
    before = [entry for entry in outbox.entries(database, manifest.study) if entry.owner == facts.owner]
    if facts.repeat is not None:
        _check_wave(turns_of(database, manifest, epoch), facts.repeat, epoch, {entry.epoch for entry in before})
        return
    if facts.rounds > 1:
        if len(before) >= facts.rounds or any(entry.round >= manifest.number for entry in before):
            raise PrivacyError("This device has answered this round already, or all the rounds that it answers.")
        return
    memos = memos_of(manifest)
    if not all(memos and entry.memos == memos and entry.epoch < epoch for entry in before):
        raise PrivacyError("This device has answered this study already; a second answer would spend its budget again.")


def _check_wave(turns: range, repeat: Repeat, wave: int, answered: set[int]) -> None:
    """A wave is answered on the device's turn, and never where another one of the same window was answered."""
    near = [one for one in answered if abs(one - wave) < repeat.window]
    if near:
        raise PrivacyError("This device has answered this wave already, or another one of the same window.")
    if wave not in turns:
        later = next((one for one in turns if one > wave), None)
        when = "no later turn" if later is None else f"its next turn in wave {later + 1} of {repeat.waves}"
        raise PrivacyError(
            f"This device answers in waves that it drew beforehand, not in this one. The device has {when}."
        )


def keep_turns(file: DeviceFile, manifest: Manifest, wave: int) -> None:
    """Draw the waves of a repeated study and keep them, whether or not it is the device's turn."""
    if manifest.facts.repeat is not None:
        with file.changed() as database:
            turns_of(database, manifest, wave)


def turns_of(database: Connection, manifest: Manifest, wave: int) -> range:
    """The waves in which a device answers a repeated study: drawn when it first hears of the study, then kept."""
    repeat, key = manifest.facts.repeat, (manifest.study, manifest.facts.owner)
    assert repeat is not None
    database.execute("INSERT OR IGNORE INTO turn VALUES (?, ?, ?, ?)", (*key, os.urandom(NUMBER_BYTES), wave))
    where = "SELECT number, joined FROM turn WHERE root = ? AND owner = ?"
    number, joined = database.execute(where, key).fetchone()
    return repeat.turns(manifest.study, number, joined)


def write_facts(database: Connection, manifest: Manifest) -> None:
    """Write down what a study says about itself when it is answered first."""
    row = (manifest.study, manifest.facts.owner, _said(manifest.facts))
    database.execute("INSERT OR IGNORE INTO study VALUES (?, ?, ?)", row)


def memos_of(manifest: Manifest) -> str:
    """The fingerprints of a round's mechanisms if all of them keep a memo, else an empty text."""
    mechanisms = [arm.mechanism for arm in manifest.stage.arms]
    if any(one.ratio_forever is None for one in mechanisms):
        return ""
    return " ".join(sorted({one.fingerprint for one in mechanisms}))


@lru_cache(maxsize=64)
def _said(facts: StudyFacts) -> bytes:
    """A digest of what a study says about itself."""
    return hashlib.sha256(canonical(facts.spec())).digest()
