"""How many questions a study has, and how many of them one participant is asked."""

from __future__ import annotations

from typing import Any, NamedTuple

from sottovoce.core.exchange.manifest import Manifest
from sottovoce.study.words import spoken, words


class AskedCounts(NamedTuple):
    """Each attribute of a cross table is a question. Chance draws between `least` and `most` of the `total`."""

    total: int
    least: int
    most: int

    @property
    def draws(self) -> bool:
        """Whether chance leaves out some of the questions."""
        return self.least < self.total

    @property
    def some(self) -> str:
        """How many chance draws: "2", or "1-2"."""
        return str(self.most) if self.least == self.most else f"{self.least}\u2013{self.most}"

    def key(self, one: str, several: str) -> str:
        """The key of a sentence: for one question that is drawn, or for several."""
        return one if self.most == 1 else several

    def sentence(self, language: str, *, asks_all: bool) -> str:
        """What a participant reads about the number of questions; empty where chance leaves none out."""
        if not self.draws:
            return ""
        say: Any = words(language)["page"]
        key = self.key("all_more", "all_some_more") if asks_all else self.key("drawn_more", "some_more")
        return spoken(say[key], count=self.total, some=self.some)


def asked_counts(manifest: Manifest) -> AskedCounts:
    """The counts of one round."""
    screens: dict[str, int] = {}
    drawn = []
    for place, arm in enumerate(manifest.stage.arms):
        asked = manifest.asked(place)
        first = next(one for one in manifest.questions if one.name == asked.key)
        screens[asked.key] = max(1, len(first.attributes))
        drawn.append(len(getattr(arm.mechanism.domain, "names", ())) if first.attributes else 1)
    return AskedCounts(sum(screens.values()), min(drawn), max(drawn))
