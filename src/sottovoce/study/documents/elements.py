"""Parts of documents: plain HTML that prints well, without scripts and without anything from elsewhere.

A document stands alone: it has the style sheets of the pages inside. A collector serves the same parts with links to
the style sheets, because its content security policy allows no styles inside a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

from sottovoce import __version__
from sottovoce.core.language.html import Html

STYLES = ("pages.css", "results.css", "documents.css")
MADE_WITH = f"Made with sottovoce {__version__}, Apache License 2.0"
MARK = (
    '<svg class="mark" viewBox="0 4 34 32" aria-hidden="true"><path class="mark-bar" d="M3 7v26M9.5 11.5v17M16 15.5v9'
    'M22.5 18.6v2.8"/><circle class="mark-dot" cx="29.2" cy="20" r="2.8"/></svg>'
)


@cache
def static_text(name: str) -> str:
    """A static file of the pages."""
    return (files("sottovoce") / "service" / "static" / name).read_text(encoding="utf-8")


def page(title: str, parts: Iterable[str], language: str = "en", *, footer: str = "") -> str:
    """A document that stands alone. `footer` is printed at the end of every sheet of paper, with its number."""
    styles = "\n".join(map(static_text, STYLES))
    # In a string of CSS a backslash or a quote would end it, and "</" would end the style element.
    said = json.dumps(f"{footer or title}", ensure_ascii=False).replace("<", "\\3c ")
    return (
        f'<!doctype html>\n<html lang="{escape(language)}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>{styles}\n@page {{ @bottom-left {{ content: {said}; }} }}</style>\n"
        f'</head>\n<body class="document">\n<main class="sheet">\n{"".join(parts)}\n{imprint()}\n</main>\n'
        "</body>\n</html>\n"
    )


def imprint() -> str:
    """The mark, the version and the licence, at the end of a document."""
    return f'<footer class="imprint">{MARK}<span>{escape(MADE_WITH)}</span></footer>'


def masthead(owner: str, kind: str, title: str, lead: str, *, badge: str = "") -> str:
    """The head of a document: who writes, what kind of document it is, its title, and one sentence."""
    aside = f'<span class="badge warn">{escape(badge)}</span>' if badge else f"<span>{escape(kind)}</span>"
    above = f'<p class="kind">{escape(kind)}</p>' if badge else ""
    return (
        f'<header class="masthead"><p class="who"><b>{escape(owner)}</b>{aside}</p>{above}'
        f'<h1>{escape(title)}</h1><p class="lead muted">{escape(lead)}</p></header>\n'
    )


def facts(pairs: Iterable[tuple[str, str]]) -> str:
    """A few numbers in a row, each under its name."""
    items = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>" for name, value in pairs)
    return f'<dl class="facts">{items}</dl>\n'


def section(title: str, *parts: str, anchor_name: str = "", number: str = "") -> str:
    """A heading and what is below it."""
    anchor = f' id="{escape(anchor_name)}"' if anchor_name else ""
    count = f'<span class="count">{escape(number)}</span> ' if number else ""
    return "\n".join([f"<section{anchor}>\n<h2>{count}{escape(title)}</h2>", *parts, "</section>\n"])


def paragraph(text: str) -> str:
    """Plain text, or HTML."""
    return f"<p>{_cell(text)}</p>"


def todo(text: str) -> str:
    """A gap that only the owner of the study can fill."""
    return f'<p class="todo"><b>To be completed:</b> {escape(text)}</p>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Rows of plain text, or of HTML, under a header. On a phone each row is stacked."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in header)
    body = "\n".join(f"<tr>{_cells(header, row)}</tr>" for row in rows)
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f'<table class="fold">{named}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>'


def _cells(header: Sequence[str], row: Sequence[str]) -> str:
    first, *others = row
    cells = [
        f'<td data-label="{escape(name)}">{_cell(cell)}</td>' for name, cell in zip(header[1:], others, strict=True)
    ]
    return f'<th scope="row">{_cell(first)}</th>{"".join(cells)}'


def figure(picture: str, caption: str) -> str:
    """A picture that is an element of the page."""
    return f"<figure>\n{picture}<figcaption>{escape(caption)}</figcaption>\n</figure>"


def listed(items: Iterable[str]) -> Html:
    """A list of sentences, or of answers."""
    return Html("<ul>\n" + "\n".join(f"<li>{_cell(item)}</li>" for item in items) + "\n</ul>")


def _cell(content: str) -> str:
    return content if isinstance(content, Html) else escape(content)
