"""What devices send, as one digest per mechanism: a change of structure must not change a byte.

Each digest is the SHA-256 of 1,000 messages from seeded words, for every line of the registry at three budgets and for
every arm of every protocol. `python -m tests.mechanisms.digests` writes the file again; do that only when bytes change
on purpose.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import sottovoce as sv
from sottovoce.core.coins import SeededCoins
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import fits
from sottovoce.protocols.play import State
from sottovoce.protocols.simulate import rounds
from sottovoce.testing.codes import first_message
from tests.protocols.test_checkpoints import CASES as PROTOCOLS

FILE = Path(__file__).with_name("golden") / "digests.json"
MESSAGES = 1_000
SEED = 12
BUDGETS = ("0.5", "1", "4")
PROTOCOL_SEED = 3

# A mechanism is asked about the first of these that it fits.
QUESTIONS: tuple[tuple[Any, Sequence[Any]], ...] = (
    (sv.Interval(0, 14), (0, 3.3, 7.25, 13.999, 14)),
    (sv.Integers(0, 6), range(7)),
    (sv.Integers(0, 1), range(2)),
    (sv.Pair(sv.Integers(1, 3), sv.Interval(0, 10)), [(1, 0), (2, 3.3), (3, 10), (1, 9.75)]),
    (sv.Box(0, 10, 3), [(0, 3.3, 10), (10, 10, 10), (0.1, 5, 9.75)]),
    (sv.Sparse(5, 1), [{}, {0: 1}, {3: 0.25}, {4: -1}]),
    (sv.Words("abc", 3), ["", "a", "bc", "ccc"]),
    (sv.Sets(range(9), 3), [[], [0], [3, 8], [8, 1, 4]]),
    (sv.KeyValue(range(9), sv.Interval(0, 10), 3), [{}, {0: 3.3}, {8: 10, 3: 0}, {1: 5, 8: 9.75, 4: 0.1}]),
    (sv.Ball(2, 3), [(0, 0, 0), (2, 0, 0), (0.5, -0.5, 1)]),
    (
        sv.Record({"group": sv.Integers(0, 2), "answer": sv.Integers(0, 1)}),
        [{"group": group, "answer": answer} for group in range(3) for answer in range(2)],
    ),
)


def digest(mechanism: Mechanism, answers: Sequence[Any]) -> str:
    """SHA-256 of the messages of participants who hold these answers in turn."""
    coins = SeededCoins(SEED)
    found = hashlib.sha256()
    for turn in range(MESSAGES):
        found.update(first_message(mechanism, answers[turn % len(answers)], coins))
    return found.hexdigest()


def registry_mechanisms(name: str) -> Iterator[tuple[str, Mechanism, Sequence[Any]]]:
    """A registry line at every budget, with answers to its question."""
    domain, answers = next(question for question in QUESTIONS if fits(name, question[0]))
    for epsilon in BUDGETS:
        yield f"{name} at {epsilon}", sv.mechanism(name, domain, epsilon=epsilon), answers


def protocol_mechanisms(name: str) -> Iterator[tuple[str, Mechanism, Sequence[Any]]]:
    """Every arm of every round of a protocol that is played with seeded words."""
    protocol, answers = PROTOCOLS[name]
    choices = [place % 2 for place in range(len(answers))] if name.startswith("Personal") else None
    for state in (State.first(protocol), *rounds(protocol, answers, seed=PROTOCOL_SEED, choices=choices)):
        for arm in () if state.is_over else state.round.arms:
            yield f"{name}, round {len(state.history) + 1}, {arm.name}", arm.mechanism, answers[:MESSAGES]


def digests() -> dict[str, str]:
    """Every digest, by the name of its mechanism."""
    return {
        place: digest(mechanism, answers)
        for names, mechanisms in ((sv.names(), registry_mechanisms), (list(PROTOCOLS), protocol_mechanisms))
        for name in names
        for place, mechanism, answers in mechanisms(name)
    }


if __name__ == "__main__":
    FILE.write_text(json.dumps(digests(), indent=1) + "\n", encoding="utf-8")
