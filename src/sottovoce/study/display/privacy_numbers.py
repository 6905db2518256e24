"""How private a study is, in numbers of 100. Every page and document that states them takes them from here."""

from __future__ import annotations

import math
from functools import lru_cache

from sottovoce.core.channel.overlap import overlap
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.params import decimal_text
from sottovoce.privacy.explain import explain


def coin_number(manifest: Manifest) -> int:
    """Of 100 reports to the worst question, how many chance alone decides at least."""
    return _coin_number(manifest.hash, manifest)


@lru_cache(maxsize=256)
def _coin_number(_: str, manifest: Manifest) -> int:
    # Many questions share a mechanism, and each overlap takes milliseconds.
    channels = {arm.mechanism.fingerprint: arm.mechanism.channel for arm in manifest.stage.arms}
    return math.floor(100 * min(map(overlap, channels.values())))


def wrong_guesses(manifest: Manifest) -> int:
    """Of 100 guesses between two equally likely answers, how many are wrong at least."""
    return math.floor(100 * (1 - explain(manifest.facts.epsilon).guess))


def strength(manifest: Manifest) -> str:
    """The budget in a word, such as "Moderate"."""
    return explain(manifest.facts.epsilon).words.partition(":")[0]


def coin_sentence(manifest: Manifest) -> str:
    """What chance decides at least, for analysts; empty where nothing can be promised."""
    coin = coin_number(manifest)
    return f"On at least {coin} of 100 devices chance alone picks what is sent." if coin else ""


def guess_sentence(manifest: Manifest) -> str:
    """How often a guess is wrong at least."""
    wrong = wrong_guesses(manifest)
    return f"A guess between two equally likely answers is wrong at least {wrong} times in 100 (a blind guess: 50)."


def epsilon_text(manifest: Manifest) -> str:
    """The budget with what it protects: epsilon 2 per person."""
    return f"epsilon {decimal_text(manifest.facts.epsilon)} per {manifest.facts.unit}"
