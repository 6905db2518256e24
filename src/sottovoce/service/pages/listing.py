"""The list of studies: what needs attention first, then what is collected, planned and closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from sottovoce.service.collector import Collector
from sottovoce.service.pages.header import Header, header_of
from sottovoce.service.pages.live import LiveParts
from sottovoce.service.pages.templating import title_of
from sottovoce.service.stores.base import DRAFT, OPEN
from sottovoce.study.display.dates import day_text

GROUPS = ("collecting", "planned", "closed")


@dataclass(frozen=True, slots=True)
class StudyEntry:
    """A study in the list; `created` is told where two studies have one title."""

    name: str
    title: str
    owner: str
    group: str
    head: Header
    created: str = ""


def entries(collector: Collector, parts: LiveParts) -> list[StudyEntry]:
    """All studies. Alarms are those of the last look at a study: the list computes no estimates."""
    titles = Counter(title_of(one.manifest.facts, "en") for one in collector.studies.values())
    found = []
    for running in collector.studies.values():
        plan, title = parts.planned(collector, running.name), title_of(running.manifest.facts, "en")
        with collector.store.read() as work:
            arrivals = work.arrivals(running.number)
        alarmed = parts.is_alarmed(running.name)
        head = header_of(running.row, running.manifest, plan.participants, arrivals, collector.today(), alarmed=alarmed)
        group = GROUPS[0] if running.row.state == OPEN else GROUPS[1] if running.row.state == DRAFT else GROUPS[2]
        created = f"created {day_text(date.fromisoformat(plan.created))}" if titles[title] > 1 and plan.created else ""
        found.append(StudyEntry(running.name, title, running.manifest.facts.owner, group, head, created))
    return sorted(found, key=lambda one: (not one.head.needs_attention, GROUPS.index(one.group)))


def counts(listed: Sequence[StudyEntry]) -> list[tuple[str, str, int]]:
    """The filters of the list: value, name and number of studies."""
    groups = Counter(one.group for one in listed)
    return [("", "All", len(listed)), *((one, one.capitalize(), groups[one]) for one in GROUPS if groups[one])]
