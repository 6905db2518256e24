"""Files that people open elsewhere: CSV and Parquet with a codebook, labelled files for R, Stata and SPSS, and tables.

What a simulation writes and what the real study writes have the same names and columns.
"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.core.language.escape import markdown, spreadsheet
from sottovoce.core.language.plural import plural
from sottovoce.core.late import load
from sottovoce.core.params import decimal_text
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.results import StudyResults

LABELS = {
    "study": "Name of the study",
    "question": "Name of the question",
    "measure": "What is estimated: share, mean, variance, ...",
    "label": "Category, group or reason; empty where there is one number",
    "estimate": "Unbiased estimate; by noise it may lie outside the possible range",
    "std_error": "Standard error, of noise and sampling together",
    "low": "Lower end of the confidence interval",
    "high": "Upper end of the confidence interval",
    "level": "Confidence level of the interval",
    "could_be_low": "Lower end of the interval if all who gave no answer had given the lowest",
    "could_be_high": "Upper end of the interval if all who gave no answer had given the highest",
    "n": "Reports of this question",
    "epsilon": "Privacy budget of one participation",
    "method": "Mechanism, or mechanisms of all rounds",
    "simulated": "Whether the reports are simulated",
}
WIDEST = 0.3  # half-widths above this part of a share or of a range are not published


def write_export(results: StudyResults, folder: Path) -> list[Path]:
    """Write all files into a folder, which is made if needed; the names of the files.

    The file of SPSS is written where the extra `labelled` is installed; its script reads the CSV without it.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    frame = results.to_frame()
    (folder / "estimates.csv").write_bytes(comma_separated(frame))
    table = pa.Table.from_pandas(frame, preserve_index=False)
    fields = [field.with_metadata({"label": LABELS[field.name]}) for field in table.schema]
    pq.write_table(table.cast(pa.schema(fields)), folder / "estimates.parquet")
    stata = frame.assign(simulated=frame["simulated"].astype(np.int8))
    stata.to_stata(
        folder / "estimates.dta", write_index=False, version=118, variable_labels={k: v[:80] for k, v in LABELS.items()}
    )
    if find_spec("pyreadstat") is not None:
        load("study.labelled:write_spss")(frame, folder / "estimates.sav", LABELS, _names(results))
    texts = {
        "codebook.json": json.dumps(codebook(results), indent=2, ensure_ascii=False) + "\n",
        "codebook.md": codebook_text(results),
        "estimates.R": _r_script(),
        "estimates.sps": _spss_script(),
        "publication.md": publication(results),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return sorted(folder.iterdir())


def comma_separated(frame: Any) -> bytes:
    """A table as CSV that spreadsheets may open: no label is taken for a formula."""
    text: str = frame.map(spreadsheet).to_csv(index=False, lineterminator="\n")
    return text.encode()


def _names(results: StudyResults) -> dict[str, str]:
    """What the names of questions stand for."""
    study = results.study
    return {asked.name: asked.text(study.languages[0]) for asked in study.questions}


def codebook(results: StudyResults) -> dict[str, Any]:
    """What the columns mean, and what was asked."""
    study = results.study
    return {
        "study": {
            "name": study.name,
            "owner": study.owner,
            "contact": study.contact,
            "purpose": study.purpose,
            "unit": study.unit,
            "epsilon": decimal_text(study.epsilon),
        },
        "columns": LABELS,
        "questions": {
            asked.name: {
                "kind": asked.question.kind,
                "texts": dict(asked.texts),
                "unit": asked.unit,
                "missing": list(asked.missing),
                "domain": asked.question.domain.spec(),
            }
            for asked in study.questions
        },
    }


def codebook_text(results: StudyResults) -> str:
    """The codebook for people."""
    study = results.study
    title, purpose = markdown(study.name), markdown(study.purpose)
    lines = [f"# Codebook of {title}", "", purpose, "", "| column | meaning |", "|---|---|"]
    lines += [f"| {name} | {label} |" for name, label in LABELS.items()]
    lines += ["", "| question | kind | text | reasons for giving no answer |", "|---|---|---|---|"]
    for one in study.questions:
        cells = (one.name, one.question.kind, one.text(study.languages[0]), ", ".join(one.missing))
        lines.append(f"| {' | '.join(map(markdown, cells))} |")
    return "\n".join(lines) + "\n"


def publication(results: StudyResults) -> str:
    """Tables for a paper, with a paragraph on methods; what is too uncertain is left out, and the text says so."""
    study, hidden = results.study, 0
    lines = [f"# {markdown(study.name)}", ""]
    for result in results.questions:
        lines += [f"## {markdown(result.asked.text(study.languages[0]))}", ""]
        lines += [f"| | estimate | {100 * results.level:g} % interval |", "|---|---|---|"]
        for line in result.lines(results.level):
            name = markdown(" ".join(filter(None, (line.measure, line.label))))
            if _too_wide(line):
                hidden += 1
                lines.append(f"| {name} | .. | .. |")
            else:
                lines.append(f"| {name} | {line.value:.4g} | {line.low:.4g} to {line.high:.4g} |")
        lines.append("")
    return "\n".join([*lines, methods_paragraph(results, hidden)]) + "\n"


def methods_paragraph(results: StudyResults, hidden: int) -> str:
    """What a paper says about how the numbers came about."""
    study = results.study
    frame = results.to_frame()
    methods = ", ".join(dict.fromkeys(frame["method"]))
    senders = "report" if study.unit == "event" else "participant"
    said = (
        f"Methods: {plural(results.reports, senders, ',')} answered under local differential privacy with epsilon"
        f" {decimal_text(study.epsilon)} per {study.unit}: the participant's own device added the noise and sent one"
        f" report (mechanisms: {methods})."
        " Estimates are unbiased; intervals include the noise of the mechanism and the sampling of participants."
    )
    if hidden:
        said += (
            f" {plural(hidden, 'number')} with an interval wider than {2 * WIDEST:g} times the estimate, or a share"
            f" wider than {2 * WIDEST * 100:g} points, {'is' if hidden == 1 else 'are'} not shown (..)."
        )
    said += "".join(f" {markdown(doubt)}" for doubt in results.doubts)
    if bool(frame["simulated"].any()):
        said = "SIMULATION. " + said
    return said


def _too_wide(line: ResultLine) -> bool:
    scale = 1.0 if line.is_share else abs(line.value)
    return not line.high - line.low <= 2 * WIDEST * scale  # also where a mean has no estimate, which is not a number


def _r_script() -> str:
    """Reads the CSV in R, with labels."""
    labels = "\n".join(f'attr(estimates${name}, "label") <- {json.dumps(label)}' for name, label in LABELS.items())
    return (
        "# Reads estimates.csv with labels; the same data are in estimates.dta (haven::read_dta).\n"
        'estimates <- read.csv("estimates.csv", colClasses = c(epsilon = "character"), na.strings = "")\n'
        f"{labels}\n"
    )


def _spss_script() -> str:
    """Reads the CSV in SPSS, with labels."""
    texts = {"study": 40, "question": 40, "measure": 40, "label": 200, "epsilon": 20, "method": 200, "simulated": 5}
    kinds = " ".join(f"{name} {f'A{texts[name]}' if name in texts else 'F20.10'}" for name in LABELS)
    labels = "\n  /".join(f"{name} {json.dumps(label)}" for name, label in LABELS.items())
    return (
        "* Reads estimates.csv with labels.\n"
        'GET DATA /TYPE=TXT /FILE="estimates.csv" /ARRANGEMENT=DELIMITED /DELIMITERS="," /QUALIFIER=\'"\'\n'
        f"  /FIRSTCASE=2 /VARIABLES={kinds}.\nVARIABLE LABELS\n  {labels}.\nEXECUTE.\n"
    )
