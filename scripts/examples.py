"""`make examples`: plan, simulate, export and document the example studies, into build/examples.

Answers are drawn from the populations that the study files describe. With SOTTOVOCE_DATA the health survey uses the
shared hospital data instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sottovoce.study.dossier.write import write_dossier
from sottovoce.study.export import write_export
from sottovoce.study.reading import read_study
from sottovoce.study.simulating import drawn_answers, drawn_in_arms, simulate_study
from sottovoce.study.study import Study

ROOT = Path(__file__).resolve().parents[1]
Answers = Mapping[str, Any]


def patients(folder: Path) -> Answers:
    """Hospital stays of the shared data."""
    import pandas as pd

    frame = pd.read_parquet(folder / "diabetes_130_hospitals.parquet")
    known = frame.drop_duplicates("patient")
    known = known[known["gender"].isin(["Female", "Male"])]
    return {
        "days": known["days_in_hospital"],
        "insulin": known["insulin"],
        "medications": known["num_medications"],
        "medications/by": known["gender"],
    }


# How many people answer, where the population of the study file does.
STUDIES = {
    "health-survey": 60_000,
    "message-test": 12_000,
    "product-telemetry": 100_000,
    "classroom": 900,
    "commuting": 20_000,
    "clinic-survey": 9_000,
    "cross-tables": 40_000,
    "panel": 8_000,
}
DATA: dict[str, Callable[[Path], Answers]] = {"health-survey": patients}


def answers_of(study: Study, seed: int) -> Answers:
    """From the shared data where they are there, else of the described population."""
    folder = os.environ.get("SOTTOVOCE_DATA")
    if folder and study.name in DATA:
        return DATA[study.name](Path(folder))
    if study.experiment is not None:
        return drawn_in_arms(study, dict(study.population), STUDIES[study.name], seed)
    return drawn_answers(study.questions, dict(study.population), STUDIES[study.name], seed)


def run(name: str, folder: Path, seed: int = 1) -> Any:
    """One example: its table, beside an export and a dossier in a new folder."""
    study = read_study(ROOT / "examples" / f"{name}.toml")
    answers = answers_of(study, seed)
    plan = study.plan(len(next(iter(answers.values()))))
    simulated = simulate_study(plan, answers, seed=seed)
    write_export(simulated.results, folder / "export")
    write_dossier(plan, folder / "dossier")
    (folder / "plan.txt").write_text(plan.text() + "\n", encoding="utf-8")
    return plan, simulated.to_frame()


def main(arguments: list[str]) -> int:
    """Run all examples, or those that are named."""
    target = ROOT / "build" / "examples"
    for name in arguments or STUDIES:
        folder = target / name
        if folder.exists():
            print(f"{folder.relative_to(ROOT)} exists already: remove it first.", file=sys.stderr)
            return 1
        plan, frame = run(name, folder)
        print(plan.text())
        shown = ["question", "arm", "measure", "label", "truth", "estimate", "low", "high"]
        print(frame[shown].round(3).to_string(index=False), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
