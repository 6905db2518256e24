"""The account of one person over studies, waves and questions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sottovoce.core.errors import ParameterError
from sottovoce.core.guarantee import PURE, Guarantee, Loss, parallel, sequential
from sottovoce.core.language.plural import plural
from sottovoce.core.params import check_epsilon, check_integer
from sottovoce.privacy.accounting.composition import advanced

OWNER = "an account"


@dataclass(frozen=True, slots=True)
class Entry:
    """What one question costs a person.

    Attributes:
        name: of the question, with its study and wave.
        loss: of one answer; where a device keeps a memo, of all reports of one unchanged answer.
        answers: how often it is answered afresh: waves, or different answers where a device keeps a memo of each.
        apart: entries with the same text here are of people who are never the same, such as the arms of a round.
    """

    name: str
    loss: Loss
    answers: int = 1
    apart: str | None = None

    @classmethod
    def of(
        cls,
        name: str,
        epsilon: object,
        *,
        guarantee: Guarantee = PURE,
        answers: int = 1,
        apart: str | None = None,
    ) -> Entry:
        """An entry from a name and a budget under a guarantee; name and budget are checked."""
        if not isinstance(name, str) or not name:
            raise ParameterError("An entry of an account needs a name.")
        loss = guarantee.loss(check_epsilon(OWNER, epsilon))
        return cls(name, loss, check_integer("answers", OWNER, answers, 1, 10**6), apart)

    @property
    def losses(self) -> list[Loss]:
        """One for each answer."""
        return [self.loss] * self.answers


@dataclass(frozen=True, slots=True)
class Account:
    """All entries of one person, or of everyone if some are of people apart."""

    entries: tuple[Entry, ...]

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Account:
        """The account of these entries, whose names differ."""
        if len({entry.name for entry in entries}) < len(entries):
            raise ParameterError("The entries of an account must have different names.")
        return cls(tuple(entries))

    def total(self, delta: object = None) -> Loss:
        """The loss of a person who answers everything; with a delta to spend, by advanced composition."""
        losses = self._worst_losses()
        return sequential(losses) if delta is None or not losses else advanced(losses, delta)

    def _worst_losses(self) -> list[Loss]:
        """Losses of the person who loses most: of entries apart, one counts."""
        losses = [loss for entry in self.entries if entry.apart is None for loss in entry.losses]
        for kind in dict.fromkeys(entry.apart for entry in self.entries if entry.apart is not None):
            alternatives = [sequential(entry.losses) for entry in self.entries if entry.apart == kind]
            losses.append(parallel(alternatives))
        return losses

    def text(self, delta: object = None) -> str:
        """One line for each entry, then the total."""
        lines = [
            f"{entry.name}: {entry.loss}" + (f", {plural(entry.answers, 'answer')}" if entry.answers > 1 else "")
            for entry in self.entries
        ]
        lines.append(f"Together: {self.total()}.")
        if delta is not None:
            lines.append(f"Together, if delta may be spent: {self.total(delta)}.")
        return "\n".join(lines)
