"""Tallies of single files that an interrupted run leaves behind, so that the next one goes on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from sottovoce.core.mechanism import Mechanism
from sottovoce.files.intake import REASONS, Intake
from sottovoce.files.opening import STANDARD, FileProblem, naming, writing
from sottovoce.files.places import stamp_of
from sottovoce.files.reports import TALLY_KINDS
from sottovoce.files.writer import MESSAGE_KINDS
from sottovoce.tally.tally import Tally

VERSION = 3


@dataclass(frozen=True, slots=True)
class KeptTallies:
    """A folder with a file for each input that was counted: what was left out of it, and its tally.

    The name of a file comes from the place, size and times of the input, and from how it is counted: an input that
    changed is counted again. They are read before it is counted, and one that changes meanwhile is not kept. Messages
    are not kept, because their ids are compared over all inputs.
    """

    folder: Path
    how: str

    @classmethod
    def at(cls, folder: str, *, spec: Mechanism | None, kind: str | None, strict: bool) -> KeptTallies:
        """The folder, which is made where it does not exist."""
        place = Path(folder)
        try:
            place.mkdir(exist_ok=True)
        except OSError:
            raise FileProblem("The folder of --resume cannot be made: its parent must be a folder.") from None
        return cls(place, f"{VERSION}|{spec and spec.fingerprint}|{kind}|{strict}")

    def place(self, path: str) -> Path | None:
        """Where the tally of an input is kept as long as it does not change; None for a pipe."""
        if path == STANDARD:
            return None
        return self.folder / f"{hashlib.sha256(f'{self.how}|{stamp_of(path)}'.encode()).hexdigest()}.kept"

    def load(self, place: Path | None, intake: Intake) -> tuple[str, Tally] | None:
        """The kind and the tally of an input that was counted before; the intake learns what was left out of it."""
        if place is None or not place.exists():
            return None
        with naming("A file in the folder of --resume"):
            head, _, data = place.read_bytes().partition(b"\n")
            facts = json.loads(head)
            if intake.lists and facts["left_out"]:
                return None  # which rows were left out is not kept: they are found again
            intake.read += int(facts["read"])
            intake.left_out.update({REASONS[int(place)]: int(count) for place, count in facts["left_out"].items()})
            return TALLY_KINDS[int(facts["kind"])], Tally.from_bytes(data)

    def save(
        self, place: Path | None, path: str, kind: str, tally: Tally, intake: Intake, before: tuple[int, Counter[str]]
    ) -> bool:
        """Keep what was counted since `before`; whether the input is still the one that was counted."""
        if place is None or kind in MESSAGE_KINDS:
            return True
        if self.place(path) != place:
            return False
        # Numbers only: texts of a file are never shown again.
        left_out = {REASONS.index(reason): count for reason, count in (intake.left_out - before[1]).items()}
        facts = {"kind": TALLY_KINDS.index(kind), "read": intake.read - before[0], "left_out": left_out}
        with writing(str(place), force=True, name="A file in the folder of --resume") as file:
            file.write(json.dumps(facts).encode() + b"\n" + tally.to_bytes())
        return True
