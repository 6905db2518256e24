"""Files of SPSS, with the labels of columns, questions and yes or no (needs the extra `labelled`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pyreadstat

if TYPE_CHECKING:
    import pandas as pd

LONGEST = 120  # bytes of a label of a value


def write_spss(frame: pd.DataFrame, path: Path, columns: Mapping[str, str], questions: Mapping[str, str]) -> None:
    """Questions are numbers with their names and texts as labels, as SPSS has categories."""
    names = list(questions)
    coded = frame.assign(
        question=[float(names.index(name) + 1) for name in frame["question"]],
        simulated=frame["simulated"].astype(float),
    )
    labels = {float(place): _short(f"{name}: {text}") for place, (name, text) in enumerate(questions.items(), 1)}
    pyreadstat.write_sav(
        coded,
        str(path),
        column_labels=dict(columns),
        variable_value_labels={"question": labels, "simulated": {0.0: "no", 1.0: "yes"}},
        variable_measure={"question": "nominal", "simulated": "nominal"},
    )


def _short(text: str) -> str:
    """The first bytes of a text, whole characters only."""
    return text.encode()[:LONGEST].decode(errors="ignore")
