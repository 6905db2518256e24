"""Vectors of what reports say, shared with the TypeScript client: `python -m scripts.web_vectors meanings`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

from scripts.meaning import Meaning, meaning
from sottovoce.core.asked import Asked
from sottovoce.core.coins import SeededCoins
from sottovoce.core.domain import Bins, Categories, Integers, Record
from sottovoce.core.exchange.manifest import Manifest
from sottovoce.core.exchange.study_facts import StudyFacts
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.question import Joint
from sottovoce.core.round import Arm, Round
from sottovoce.protocols.shares.tables import TableViews

MECHANISMS = Path(__file__).parents[1] / "clients" / "web" / "vectors" / "mechanisms.json"
FACTS = StudyFacts("study", "owner", "contact", "purpose", "person", Decimal(20), Decimal(20))
EPSILON = "1"  # one of the budgets of mechanisms.json is enough


def meanings() -> Iterator[dict[str, Any]]:
    """For mechanisms of mechanisms.json, by their place: what the messages that are listed there say."""
    for place, one in enumerate(json.loads(MECHANISMS.read_text(encoding="utf-8"))):
        if "refused" in one or one["spec"]["epsilon"] not in (EPSILON, "1.25"):
            continue
        mechanism = Mechanism.from_spec(one["spec"])
        asked = Asked("asked", mechanism.question)
        manifest = Manifest(FACTS, (asked,), Round((Arm("asked", mechanism),)))
        said = [meaning(asked, mechanism, bytes.fromhex(message)) for message in one["messages"]]
        yield {"mechanism": place, "question": manifest.spec()["questions"][0], "means": [*map(_plain, said)]}
    yield from map(_of_table, ((), ("refused",)))


def _of_table(missing: tuple[str, ...]) -> dict[str, Any]:
    """What reports about a view of a table say, without and with reasons for giving no answer."""
    sex, age = Categories(["f", "m"]), Bins(Integers(18, 99), [40, 65])
    joint = Joint(Record({"sex": sex, "age": age, "cups": Integers(0, 2)}))
    asked = Asked("asked", joint, missing=missing)
    full: Any = asked.full_question
    mechanism = TableViews(full.domain, full.tables, EPSILON).view(("sex", "age"))
    people = [{"sex": "f", "age": 41}, {"sex": "m", "age": 99}, {"sex": "f", "age": missing[0] if missing else 18}]
    coins = SeededCoins(1)
    messages = [mechanism.randomize(asked.answer(one), coins, report_id=bytes(16)) for one in people * 2]
    return {
        "spec": mechanism.spec(),
        "messages": [message.hex() for message in messages],
        "question": Manifest(FACTS, (asked,), Round((Arm("asked", mechanism),))).spec()["questions"][0],
        "means": [_plain(meaning(asked, mechanism, message)) for message in messages],
    }


def _plain(known: Meaning) -> dict[str, Any]:
    """In plain data; a cell only where there is one."""
    answers = [[*answer[:3], *([list(answer.cell)] if answer.cell else [])] for answer in known.answers]
    return {"answers": answers, "any": known.any}
