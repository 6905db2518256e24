"""Tables of estimates for papers and notebooks: Markdown, LaTeX and HTML, with a sentence that says how they were made.

Labels are escaped in each of them, since a label may be anything.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

from sottovoce.core.language.display import printable
from sottovoce.core.question import Mean, Variance
from sottovoce.core.registry import BUILDERS, builder
from sottovoce.core.registry import names as registered
from sottovoce.core.simulation import COLUMN, in_words
from sottovoce.estimate.axes import VALUE
from sottovoce.estimate.group_mean.ratio import NOT_ESTIMABLE
from sottovoce.estimate.request import IntervalRequest, Target

if TYPE_CHECKING:
    import pandas as pd

    from sottovoce.estimate.estimate import Estimate
    from sottovoce.estimate.sources import EstimateSource

TARGETED = {
    Target.POPULATION: "for the population that the participants were drawn from",
    Target.SAMPLE: "for these participants themselves",
}
# What one value among several is, where that is not "the <noun> of each <value or group>".
SUBJECTS = {
    "mean of a coordinate": "mean of each coordinate",
    "variance within": "variance within each group",
    "value of an attribute": "value of each attribute",
    "share within": "share of each value within each group",
}
LABELS = ("group", "other")  # of comparisons
# Columns whose numbers have another scale than the estimates.
FORMATS = {"size": "{:,.0f}", "share": "{:.3f}", "p_value": "{:.2g}", "adjusted": "{:.2g}"}
HEADINGS = {"std_error": "standard error", "p_value": "p-value", "adjusted": "adjusted p-value"}
MOST_DECIMALS = 12
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&#@]|:(?=//)|(?<=www)\.)")
_LATEX = {
    **{character: f"\\{character}" for character in "{}$&#_%"},
    **{"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "`": r"\`{}"},
}


class PrintedTable(NamedTuple):
    """A table as texts: the first `labels` columns are labels, the others numbers."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    labels: int


def decimals(std_errors: Iterable[float]) -> int:
    """Decimal places that show two digits of the smallest standard error."""
    known = [error for error in std_errors if math.isfinite(error) and error > 0]
    return min(max(1 - math.floor(math.log10(min(known))), 0), MOST_DECIMALS) if known else 4


def printed(frame: pd.DataFrame, labels: Sequence[str] = LABELS) -> PrintedTable:
    """The texts of a table of estimates, with these columns of labels. The sentence below it marks a simulation."""
    form = f"{{:.{decimals(frame['std_error'])}f}}"
    labels = [name for name in frame.columns if name in labels]
    numbers = [name for name in frame.columns if name not in (*labels, COLUMN, "note")]
    texts = [[printable(value) for value in frame[name].tolist()] for name in labels]
    texts += [[number(value, FORMATS.get(name, form)) for value in frame[name].tolist()] for name in numbers]
    header = tuple(HEADINGS.get(name, name) for name in (*labels, *numbers))
    return PrintedTable(header, tuple(zip(*texts, strict=True)), len(labels))


def number(value: float, form: str) -> str:
    """A number of a table."""
    if math.isnan(value):
        return NOT_ESTIMABLE.removeprefix("is ")
    return form.format(value) if math.isfinite(value) else f"{value}"


# --- the sentence -------------------------------------------------------------------------------------------------
def references_of(names: Iterable[str]) -> list[str]:
    """The publications of the mechanisms among these that are registered."""
    references = []
    for name in dict.fromkeys(names):
        if name not in BUILDERS and name not in registered():  # of a protocol, or of a specification
            continue
        text = inspect.getdoc(builder(name)) or ""
        slot = re.search(r"^Reference:(.*?)(?=^\w+:|\Z)", text, flags=re.MULTILINE | re.DOTALL)
        if slot:
            references.append(f"{name}: {' '.join(slot[1].split()).rstrip('.')}")
    return references


def subject(estimate: Estimate) -> str:
    """The name of the estimated values, such as "share of each value"."""
    noun = estimate.evidence.noun
    if len(estimate.values) == 1:
        labelled = isinstance(estimate.question, (Mean, Variance)) and estimate.axes.headings == (VALUE,)
        return printable(estimate.labels[0]) if labelled else noun
    return SUBJECTS.get(noun, f"{noun} of each {' and '.join(estimate.axes.headings)}")


def methods_sentence(
    subject: str, n: int, sources: Sequence[EstimateSource], about: Sequence[str], simulated: bool
) -> str:
    """The methods paragraph: estimated values, mechanisms, number of reports, and notes about the numbers."""
    through = " and ".join(
        f"{source.mechanism.name} (epsilon {source.mechanism.epsilon:.6g}"
        f"{', ' * (not source.mechanism.guarantee.is_pure)}{source.mechanism.guarantee.remark}"
        f"{f', {source.n:,} reports' if len(sources) > 1 else ''})"
        for source in sources
    )
    first = f"The {subject} was estimated from {n:,} reports under local differential privacy"
    text = [f"{first}, randomized by {through}." if through else f"{first}.", *about]
    text.append(f"Computed with sottovoce {version('sottovoce')}.")
    if cited := references_of(source.mechanism.name for source in sources):
        text.append(f"{'Reference' if len(cited) == 1 else 'References'}: {'; '.join(cited)}.")
    return in_words(" ".join(text), simulated)


def intervals_sentence(request: IntervalRequest) -> str:
    """The sentence about the intervals of a table."""
    held = ", which hold all at once (Bonferroni)" if request.simultaneous else ""
    return (
        f"Intervals are {100 * request.level:g} % confidence intervals by the method {request.method}{held},"
        f" {TARGETED[request.target]}."
    )


# --- three formats ------------------------------------------------------------------------------------------------
def markdown(table: PrintedTable, sentence: str) -> str:
    """A table that GitHub, Pandoc and notebooks read, and the sentence below it."""
    lines = [
        _row(map(_in_markdown, table.header)),
        _row("---" if column < table.labels else "---:" for column in range(len(table.header))),
    ]
    lines += [_row(map(_in_markdown, row)) for row in table.rows]
    return "\n".join([*lines, "", _in_markdown(sentence)])


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _in_markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", text)


def latex(table: PrintedTable, sentence: str) -> str:
    """A table environment that needs no package, with the sentence as its caption."""
    body = [" & ".join(map(_in_latex, row)) + r" \\" for row in (table.header, *table.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{_in_latex(sentence)}}}",
            rf"\begin{{tabular}}{{{'l' * table.labels}{'r' * (len(table.header) - table.labels)}}}",
            r"\hline",
            body[0],
            r"\hline",
            *body[1:],
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _in_latex(text: str) -> str:
    if re.fullmatch(r"-[\d.,]+(e-?\d+)?", text):
        return f"${text}$"  # a minus sign, not a hyphen
    escaped = "".join(_LATEX.get(character, character) for character in text)
    return re.sub(r'"([^"]*)"', r"``\1''", escaped).replace('"', "''")
