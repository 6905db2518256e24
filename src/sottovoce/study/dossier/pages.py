"""Pages of the dossier: plain HTML that prints well, without scripts and without anything from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #1a1a1a; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border: 1px solid #767676; padding: 0.35rem 0.6rem; text-align: left; vertical-align: top; }
th { background: #f0f0f0; }
h2 { margin-top: 2.5rem; border-bottom: 2px solid #1a1a1a; }
figure { margin: 1rem 0; background: #ffffff; color: #1a1a1a; } figure svg { max-width: 100%; height: auto; }
code { overflow-wrap: anywhere; }
.todo { background: #fff3c4; padding: 0 0.25rem; }
@media (prefers-color-scheme: dark) {
  body { background: #16181c; color: #ececec; } th { background: #2a2d33; } .todo { background: #5c4a00; }
}
@media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } tr { break-inside: avoid; } }
"""


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def page(title: str, parts: Iterable[str], language: str = "en") -> str:
    """A whole page."""
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="{escape(language)}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</main>\n</body>\n</html>\n"
    )


def section(title: str, *parts: str) -> str:
    """A heading and what is below it."""
    return "\n".join([f"<section>\n<h2>{escape(title)}</h2>", *parts, "</section>"])


def paragraph(text: str) -> str:
    """Plain text."""
    return f"<p>{escape(text)}</p>"


def todo(text: str) -> str:
    """What only the owner can say."""
    return f'<p class="todo">To be completed: {escape(text)}</p>'


def table(header: Sequence[str], rows: Iterable[Sequence[str]], caption: str = "") -> str:
    """Rows of plain text, or of HTML, under a header."""
    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in header)
    body = "\n".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    named = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{named}\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"


def figure(picture: str, caption: str) -> str:
    """A picture that is an element of the page."""
    return f"<figure>\n{picture}<figcaption>{escape(caption)}</figcaption>\n</figure>"


def listed(items: Iterable[str]) -> Html:
    """A list of sentences, or of answers."""
    return Html("<ul>\n" + "\n".join(f"<li>{escape(item)}</li>" for item in items) + "\n</ul>")


def _cell(content: str) -> str:
    return content if isinstance(content, Html) else escape(content)
