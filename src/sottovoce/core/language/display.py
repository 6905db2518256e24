"""What objects show of themselves in a notebook: small tables in HTML, and short texts.

Every text is escaped, since a label may be anything. Nothing here shows an answer or a report, only what was asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from sottovoce.core.exchange import codec
from sottovoce.core.language.plural import plural
from sottovoce.core.params import decimal_text
from sottovoce.core.simulation import in_words

if TYPE_CHECKING:
    from sottovoce.core.domain.base import Domain
    from sottovoce.core.mechanism import Mechanism

MOST_TEXT = 60  # characters of a label
MOST_LISTED = 4  # values of a domain
MOST_ROWS = 20  # of a table in a notebook


def printable(value: object, most: int = MOST_TEXT) -> str:
    """A label as one line of limited length, without control characters."""
    text = str(value)
    text = text if text.isprintable() else repr(text)
    return text if len(text) <= most else text[: most - 3] + "..."


def card(
    title: str,
    facts: Iterable[tuple[str, object]] = (),
    *,
    table: tuple[Sequence[str], Sequence[Sequence[str]]] | None = None,
    notes: Iterable[str | None] = (),
    simulated: bool = False,
) -> str:
    """A title, facts, a table whose first column is text, and sentences, as well-formed HTML; all of it is escaped."""
    said = [in_words("", simulated).strip(), *notes]
    parts = [f"<p><b>{_safe(title)}</b></p>"]
    rows = [f'<tr><th style="text-align:left">{_safe(name)}</th>{_cell(fact)}</tr>' for name, fact in facts]
    if rows:
        parts.append(f"<table>{''.join(rows)}</table>")
    if table is not None:
        parts.append(_table(*table))
    parts += [f"<p>{_safe(sentence)}</p>" for sentence in said if sentence]
    return f'<div class="sottovoce">{"".join(parts)}</div>'


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f'<th style="text-align:left">{_safe(name)}</th>' for name in header)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows[:MOST_ROWS])
    more = len(rows) - MOST_ROWS
    if more > 0:
        body += f'<tr><td colspan="{len(header)}">and {plural(more, "more row", ",")}</td></tr>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return f'<td style="text-align:left">{_safe(value)}</td>'


def _safe(value: object) -> str:
    """One line of text that is no markup; sentences are longer than labels."""
    return escape(printable(value, 2000))


# --- mechanisms ---------------------------------------------------------------------------------------------------
def domain_text(domain: Domain) -> str:
    """A domain in a few words, such as "Interval(low=0, high=14)"; of many values the first ones."""
    return printable(_described(domain.spec()), 4 * MOST_TEXT)


def _described(spec: Mapping[str, Any]) -> str:
    parts = {name: _part(value) for name, value in spec.items() if name != "kind"}
    inside = ", ".join(part if name == "values" else f"{name}={part}" for name, part in parts.items())
    return f"{str(spec['kind']).capitalize()}({inside})"


def _part(value: object) -> str:
    if isinstance(value, Mapping):
        named = {name: _part(part) for name, part in value.items()}
        return _described(value) if "kind" in value else f"{{{', '.join(f'{n}: {p}' for n, p in named.items())}}}"
    if isinstance(value, (list, tuple)):
        shown = [printable(one) if isinstance(one, str) else _part(one) for one in value[:MOST_LISTED]]
        more = len(value) - MOST_LISTED
        return f"[{', '.join(shown)}{f' and {more:,} more' * (more > 0)}]"
    return printable(value)


def mechanism_text(mechanism: Mechanism) -> str:
    """The representation of a mechanism: what is asked, how, and with which budget."""
    budget = f"epsilon={decimal_text(mechanism.claimed)}"
    if mechanism.claimed_forever is not None:
        budget += f", epsilon_forever={decimal_text(mechanism.claimed_forever)}"
    return (
        f"Mechanism({mechanism.name}, {mechanism.question.kind} of {domain_text(mechanism.domain)}, {budget},"
        f" {mechanism.fingerprint[:12]})"
    )


def mechanism_html(mechanism: Mechanism) -> str:
    """A mechanism as a notebook shows it."""
    own, factor = mechanism, f"a factor {math.exp(mechanism.epsilon):.4g}"
    but = f" ({own.guarantee.remark})" if own.guarantee.remark else ""
    facts = [
        ("question", own.question.kind),
        ("answers", domain_text(own.domain)),
        ("epsilon", f"{own.epsilon:.6g} ({decimal_text(own.claimed)} claimed)"),
        ("one report", f"changes the odds between two answers by at most {factor}{but}"),
        ("guarantee", str(own.guarantee)),
        (
            "message",
            f"{plural(codec.ID_BYTES, 'byte', ',')} of id, {plural(codec.payload_bytes(own.channel), 'byte', ',')}",
        ),
        ("tally", f"{plural(own.cells, 'integer', ',') if own.statistic.known else 'unknown'} ({own.statistic.kind})"),
        ("fingerprint", own.fingerprint[:12]),
    ]
    if own.claimed_forever is not None:
        ever = f"{own.epsilon_forever:.6g} ({decimal_text(own.claimed_forever)} claimed), for one unchanged answer"
        facts.insert(3, ("all reports", ever))
    return card(f"Mechanism {own.name}", facts, notes=[own.unused and f"Budget is left unused: {own.unused}"])
