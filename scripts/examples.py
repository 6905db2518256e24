"""`make examples`: plan, simulate, export and document the example studies, into build/examples.

Answers come from generators. With SOTTOVOCE_DATA the health survey uses the shared hospital data instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.study.dossier.write import write_dossier
from sottovoce.study.export import write_export
from sottovoce.study.reading import read_study
from sottovoce.study.simulating import simulate_study

ROOT = Path(__file__).resolve().parents[1]
Answers = Mapping[str, Any]


def patients(rng: np.random.Generator) -> Answers:
    """Hospital stays, from the shared data if they are there."""
    folder = os.environ.get("SOTTOVOCE_DATA")
    if folder:
        import pandas as pd

        frame = pd.read_parquet(Path(folder) / "diabetes_130_hospitals.parquet")
        known = frame.drop_duplicates("patient")
        known = known[known["gender"].isin(["Female", "Male"])]
        return {
            "days": known["days_in_hospital"],
            "insulin": known["insulin"],
            "medications": known["num_medications"],
            "medications/by": known["gender"],
        }
    n = 60_000
    return {
        "days": np.clip(rng.geometric(0.25, n), 1, 14),
        "insulin": rng.choice(["No", "Steady", "Up", "Down", "don't know"], n, p=[0.45, 0.3, 0.1, 0.12, 0.03]),
        "medications": np.clip(rng.poisson(16, n), 1, 81),
        "medications/by": rng.choice(["Female", "Male"], n),
    }


def sessions(rng: np.random.Generator) -> Answers:
    """Sessions of an application."""
    n = 100_000
    features = ["read", "write", "search", "share", "print", "export", "settings", "other"]
    shares = np.array([30, 25, 15, 10, 3, 2, 5, 10]) / 100
    return {"feature": rng.choice(features, n, p=shares), "minutes": np.clip(rng.exponential(14, n), 0, 120)}


def students(rng: np.random.Generator) -> Answers:
    """A large lecture."""
    n = 900
    return {
        "copied": rng.choice(["yes", "no", "refused"], n, p=[0.3, 0.65, 0.05]),
        "grade": rng.integers(1, 6, n),
    }


STUDIES: dict[str, Callable[[np.random.Generator], Answers]] = {
    "health-survey": patients,
    "product-telemetry": sessions,
    "classroom": students,
}


def run(name: str, folder: Path, seed: int = 1) -> Any:
    """One example: its table, beside an export and a dossier in a new folder."""
    answers = STUDIES[name](np.random.default_rng(seed))
    plan = read_study(ROOT / "examples" / f"{name}.toml").plan(len(next(iter(answers.values()))))
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
        shown = ["question", "measure", "label", "truth", "estimate", "low", "high"]
        print(frame[shown].round(3).to_string(index=False), end="\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
