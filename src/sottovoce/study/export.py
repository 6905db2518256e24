"""Files that people open elsewhere: CSV and Parquet with a codebook, labelled files for R, Stata and SPSS, and tables.

What a simulation writes and what the real study writes have the same names and columns.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sottovoce.core.asked import Asked
from sottovoce.core.domain.reasons import listed_answers
from sottovoce.core.language.escape import markdown, spreadsheet
from sottovoce.core.language.plural import plural
from sottovoce.core.params import decimal_text
from sottovoce.study.display.experiment import published_differences
from sottovoce.study.display.numbers import NumberScale
from sottovoce.study.display.shown import ShownResult
from sottovoce.study.questions.result_lines import ResultLine
from sottovoce.study.repeats.waves import Wave, WaveSeries, changes_frame, waves_frame
from sottovoce.study.results import QuestionResult, StudyResults

LABELS = {
    "study": "Name of the study",
    "question": "Name of the question",
    "arm": "Arm of the experiment, or two arms whose difference it is; empty where there is no experiment",
    "measure": "What is estimated: share, mean, variance, ...",
    "label": "Category, group or reason; empty where there is one number",
    "estimate": "Unbiased estimate; by noise it may lie outside the possible range",
    "std_error": "Standard error, of noise and sampling together",
    "low": "Lower end of the confidence interval",
    "high": "Upper end of the confidence interval",
    "level": "Confidence level of the interval",
    "could_be_low": "Lower end of the interval if all who gave no answer had given the lowest",
    "could_be_high": "Upper end of the interval if all who gave no answer had given the highest",
    "p_value": "P-value of a difference, adjusted for all that are compared (groups: Holm; arms: Bonferroni)",
    "n": "Reports of this question",
    "epsilon": "Privacy budget of one participation",
    "method": "Mechanism, or mechanisms of all rounds",
    "simulated": "Whether the reports are simulated",
}
LONGEST_LABEL = 120  # bytes of a label of a value in files of SPSS
LEFT_OUT = ".."
SUPPRESSED = (
    f"A number whose interval is wider than half of its scale is left out ({LEFT_OUT}); one without a scale, if its"
    " interval is wider than the number itself. A share whose interval reaches 0 is given by its upper end (“under 7"
    " %”). Estimates are bounded to their possible range here; the exported tables hold them unbounded."
)


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
    # Stata and SPSS have no infinite numbers: a ratio without an upper limit has none there.
    limited = frame.replace([math.inf, -math.inf], math.nan)
    stata = limited.assign(simulated=frame["simulated"].astype(np.int8))
    stata.to_stata(
        folder / "estimates.dta", write_index=False, version=118, variable_labels={k: v[:80] for k, v in LABELS.items()}
    )
    if find_spec("pyreadstat") is not None:
        _write_spss(limited, folder / "estimates.sav", LABELS, _names(results))
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


def write_waves(waves: Sequence[Wave], series: Sequence[WaveSeries], folder: Path, level: float) -> None:
    """Add the tables of a repeated study: all waves, one below the other, and all changes with the trends."""
    (folder / "waves.csv").write_bytes(comma_separated(waves_frame(waves)))
    if series:
        (folder / "changes.csv").write_bytes(comma_separated(changes_frame(series, level)))


def _write_spss(frame: Any, path: Path, columns: Mapping[str, str], questions: Mapping[str, str]) -> None:
    """Questions are numbers with their names and texts as labels, as SPSS has categories (extra `labelled`)."""
    import pyreadstat

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
    return text.encode()[:LONGEST_LABEL].decode(errors="ignore")


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
            "title": study.title,
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
                **_crossed(asked),
            }
            for asked in study.questions
        },
        **({"experiment": [arm.spec() for arm in study.experiment.arms]} if study.experiment is not None else {}),
    }


def _crossed(asked: Asked) -> dict[str, Any]:
    """The attributes of a question about several answers, and its tables or boxes."""
    if not asked.attributes:
        return {}
    texts = dict(asked.attribute_texts)
    return {
        "attributes": {
            name: {
                "texts": dict(texts.get(name, ())),
                "answers": list(listed_answers(field) or ()),
            }
            for name, field in asked.full_question.domain.fields
        },
        **asked.question.fields(),
        "tables": [list(names) for names in getattr(asked.question, "tables", ())],
    }


def codebook_text(results: StudyResults) -> str:
    """The codebook for people."""
    study = results.study
    title, purpose = markdown(study.title or study.name), markdown(study.purpose)
    lines = [f"# Codebook of {title}", "", purpose, "", "| column | meaning |", "|---|---|"]
    lines += [f"| {name} | {label} |" for name, label in LABELS.items()]
    lines += ["", "| question | kind | text | reasons for giving no answer |", "|---|---|---|---|"]
    for one in study.questions:
        # A cross table has one row more for each of its attributes.
        for name in one.attributes:
            text = one.attribute_text(name, study.languages[0])
            parts = (f"{one.name}/{name}", "attribute", text, ", ".join(one.missing))
            lines.append(f"| {' | '.join(map(markdown, parts))} |")
        cells = (one.name, one.question.kind, one.text(study.languages[0]), ", ".join(one.missing))
        lines.append(f"| {' | '.join(map(markdown, cells))} |")
    if study.experiment is not None:
        lines += ["", "| arm | share | text that its participants read |", "|---|---|---|"]
        for arm in study.experiment.arms:
            text = markdown(arm.text(study.languages[0]) or "nothing more")
            lines.append(f"| {arm.name} | {arm.share} | {text} |")
    return "\n".join(lines) + "\n"


def publication(results: StudyResults) -> str:
    """Tables for a paper, with a paragraph on methods; what is too uncertain is left out, and the text says so."""
    study = results.study
    lines = [f"# {markdown(study.title or study.name)}", ""]
    by_text: dict[str, list[tuple[str, str, str]]] = {}  # questions about one answer of a person have the same text
    crossed: dict[str, list[str]] = {}
    for result in results.questions:
        arm = f" Arm “{result.arm}”" if result.arm else ""
        text = result.asked.text(study.languages[0]) + arm
        by_text.setdefault(text, []).extend(published_rows(result, results.level))
        crossed.setdefault(text, []).extend(_cross_tables(result, results.level))
    for asked in study.questions if results.comparisons else ():
        compared = [one for one in results.comparisons if one.asked.name == asked.name]
        names = ", ".join(f"“{one.arm}”" for one in compared)
        heading = f"{asked.text(study.languages[0])} Difference of {names} from “{compared[0].baseline}”"
        by_text[heading] = published_differences(compared, study.languages[0])
    for text, numbers in by_text.items():
        lines += [f"## {markdown(text)}", "", *crossed.get(text, ())]
        lines += [f"| | estimate | {100 * results.level:g} % interval |", "|---|---|---|"]
        lines += [f"| {' | '.join(map(markdown, row))} |" for row in numbers]
        lines.append("")
    return "\n".join([*lines, markdown(f"Methods: {methods_text(results)} {SUPPRESSED}")]) + "\n"


def _cross_tables(result: QuestionResult, level: float) -> Iterator[str]:
    """The cross tables of a question, with shares of all who answered and their intervals."""
    shown = ShownResult(result, level)
    for table in shown.question.cross_tables(shown):
        yield f"### {markdown(table.title)}"
        yield from ("", f"Share of all who answered, with {100 * level:g} % interval.", "")
        head = table.head()
        yield from (f"| {' | '.join(map(markdown, head))} |", f"|{'---|' * len(head)}")
        yield from (f"| {' | '.join(map(markdown, row))} |" for row in table.texts(shown.scale))
        yield ""


def published_rows(result: QuestionResult, level: float) -> Iterator[tuple[str, str, str]]:
    """What is estimated, its estimate and its interval, rounded and bounded as on the pages; dots where too wide."""
    shown = ShownResult(result, level)
    for what, line, scale in shown.question.published(shown):
        yield (what, LEFT_OUT, LEFT_OUT) if is_too_wide(line, scale) else (what, *scale.shown(line))


def is_too_wide(line: ResultLine, scale: NumberScale) -> bool:
    """Whether an interval says too little to be published: wider than half of the scale, or than the number itself."""
    if not math.isfinite(line.value):
        return True
    return scale.is_wide([line]) if scale.ends is not None else not line.high - line.low <= abs(line.value)


def methods_text(results: StudyResults) -> str:
    """Methods paragraph for a paper, as plain text."""
    study = results.study
    frame = results.to_frame()
    methods = ", ".join(dict.fromkeys(frame["method"]))
    senders = "report" if study.unit == "event" else "participant"
    said = (
        f"{plural(results.reports, senders, ',')} answered under local differential privacy with epsilon"
        f" {decimal_text(study.epsilon)} per {study.unit}: the participant's own device added the noise and sent one"
        f" report (mechanisms: {methods})."
        " Estimates are unbiased; intervals include the noise of the mechanism and the sampling of participants."
    )
    if study.experiment is not None:
        names = ", ".join(f"“{name}”" for name in study.experiment.names)
        said += (
            f" Chance put each participant into one of the arms {names}, which read different texts. Intervals and"
            " p-values of differences hold for all values and arms of a question together (Bonferroni)."
        )
    hidden = sum(row[1] == LEFT_OUT for one in results.questions for row in published_rows(one, results.level))
    if hidden:
        said += f" {plural(hidden, 'number')} {'is' if hidden == 1 else 'are'} left out ({LEFT_OUT})."
    said += "".join(f" {doubt}" for doubt in results.doubts)
    return f"SIMULATION. {said}" if bool(frame["simulated"].any()) else said


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
    texts = {
        "study": 40,
        "question": 40,
        "arm": 90,
        "measure": 40,
        "label": 200,
        "epsilon": 20,
        "method": 200,
        "simulated": 5,
    }
    kinds = " ".join(f"{name} {f'A{texts[name]}' if name in texts else 'F20.10'}" for name in LABELS)
    labels = "\n  /".join(f"{name} {json.dumps(label)}" for name, label in LABELS.items())
    return (
        "* Reads estimates.csv with labels.\n"
        'GET DATA /TYPE=TXT /FILE="estimates.csv" /ARRANGEMENT=DELIMITED /DELIMITERS="," /QUALIFIER=\'"\'\n'
        f"  /FIRSTCASE=2 /VARIABLES={kinds}.\nVARIABLE LABELS\n  {labels}.\nEXECUTE.\n"
    )
