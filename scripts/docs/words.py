"""Measure the prose of the repository: `python -m scripts.docs.words`, with `--lower` to lower the ceilings.

Two numbers for each kind of text: the share of sentences with more than 25 words, and the number of openings that
cannot be read alone. Tables, code and generated pages are left out. `--sample 10 --seed 1` prints texts at random.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CEILINGS = Path(__file__).with_name("ceilings.json")
LONG = 25  # words; a sentence with more is counted
# Openings that point at something the reader cannot see: STYLE says to name the noun instead.
OPENING = re.compile(
    r"(The same\b|That of\b|Those of\b|Of (what|those|which|these)\b|What (is|was|it|they)\b|Checked\.|In words\b"
    r"|As (above|there)\b|Both\b|It\b|Its\b|They\b|Their\b|This (is|was|has|one)\b|These\b|Such\b|Also\b|And\b|Whose\b)"
)
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^(?: {4,}).*$", re.MULTILINE)
SENTENCE = re.compile(r"(?<=[.!?])[\"')*]*\s+(?=[\"'(*`]*[A-Z0-9`])")
SHORT_FORMS = re.compile(r"\b(e\.g|i\.e|vs|al|cf|Fig|No|St)\.")
SLOTS = re.compile(
    r"^ *(Law|Privacy|Estimator|Cost|Reference|Args|Returns|Raises|Yields|Example|Examples|See also):", re.M
)
RAISED = re.compile(r"(Error|Warning|Mistake|Problem)$|^(reject|note|complain|refuse)$")
# Pages that a command writes, and the history: their sentences come from code that is measured as docstrings.
GENERATED = ("results/", "methods/index.md", "why/decisions/", "pictures/")


@dataclass
class Prose:
    """Texts of one kind: a text is what stands alone, such as a paragraph, a docstring or an error."""

    texts: list[tuple[str, str]] = field(default_factory=list)
    first: list[tuple[str, str]] = field(default_factory=list)  # those that are read alone

    def add(self, place: str, text: str, *, alone: bool = True) -> None:
        plain = " ".join(text.split())
        if len(plain.split()) >= 3:
            self.texts.append((place, plain))
            if alone:
                self.first.append((place, plain))

    def sentences(self) -> list[str]:
        return [sentence for _, text in self.texts for sentence in split(text)]

    def long_share(self) -> float:
        sentences = self.sentences()
        return sum(len(sentence.split()) > LONG for sentence in sentences) / max(1, len(sentences))

    def openings(self) -> list[tuple[str, str]]:
        return [(place, text) for place, text in self.first if OPENING.match(text)]


def split(text: str) -> list[str]:
    """Sentences of a text."""
    plain = SHORT_FORMS.sub(lambda match: match[0].replace(".", ""), text)
    return [sentence for sentence in SENTENCE.split(plain) if re.search(r"[A-Za-z]", sentence)]


def paragraphs(markdown: str) -> Iterator[str]:
    """Paragraphs and list items of a page, as plain words; a code span and a link count as they are read."""
    text = INDENTED.sub("", FENCE.sub("\n", markdown))
    text = re.sub(r"<[^>]+>", "", re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL))
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`[^`\n]*`", "Code", text)
    text = re.sub(r"^\s*(?:[-*]|\d+\.) +", "\n\n", text, flags=re.MULTILINE)
    for block in re.split(r"\n\s*\n", text):
        lines = [line for line in block.splitlines() if not re.match(r"\s*(#|\||:::|!!!|>)", line)]
        if plain := " ".join(line.strip() for line in lines).strip():
            yield re.sub(r"\*\*|(?<!\w)\*|\*(?!\w)", "", plain)


def markdown_pages(root: Path) -> Iterator[Path]:
    """README and the pages of docs that people write."""
    yield root / "README.md"
    for page in sorted((root / "docs").rglob("*.md")):
        if not page.relative_to(root / "docs").as_posix().startswith(GENERATED):
            yield page


def literal(node: ast.expr) -> str | None:
    """The text of a string or f-string; what is filled in counts as one word."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "X" for part in node.values]
        return "".join(map(str, parts))
    return None


def docstrings_and_errors(root: Path) -> tuple[Prose, Prose]:
    """Docstrings of the package, their first paragraph and the rest without slots; and texts of errors."""
    docstrings, errors = Prose(), Prose()
    for path in sorted((root / "src").rglob("*.py")):
        place = path.relative_to(root).as_posix()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if text := ast.get_docstring(node):
                    prose_only = SLOTS.split(text)[0]
                    for number, paragraph in enumerate(prose_only.split("\n\n")):
                        docstrings.add(f"{place}:{getattr(node, 'lineno', 1)}", paragraph, alone=number == 0)
            elif isinstance(node, ast.Call):
                called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                if RAISED.search(called):
                    for argument in node.args:
                        text = literal(argument) or ""
                        if text.endswith((".", "?")) and " " in text:
                            errors.add(f"{place}:{node.lineno}", text)
    return docstrings, errors


def measured(root: Path = ROOT) -> dict[str, Prose]:
    """All prose of a checkout, by kind."""
    kinds: dict[str, Prose] = {"readme, start, guides, study": Prose(), "other pages": Prose()}
    for page in markdown_pages(root):
        if not page.is_file():
            continue
        place = page.relative_to(root).as_posix()
        front = re.match(r"README|docs/(index|start|guides|study)\b", place)
        for text in paragraphs(page.read_text(encoding="utf-8")):
            kinds["readme, start, guides, study" if front else "other pages"].add(place, text)
    kinds["docstrings"], kinds["errors"] = docstrings_and_errors(root)
    return kinds


def counts(kinds: dict[str, Prose]) -> dict[str, float]:
    """The numbers that have ceilings."""
    numbers: dict[str, float] = {}
    for kind, prose in kinds.items():
        numbers[f"% of sentences over {LONG} words: {kind}"] = round(100 * prose.long_share(), 1)
        numbers[f"openings that cannot be read alone: {kind}"] = len(prose.openings())
    every = Prose([text for prose in kinds.values() for text in prose.texts])
    numbers[f"% of sentences over {LONG} words: everything"] = round(100 * every.long_share(), 1)
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lower", action="store_true", help="write the counts that are lower than their ceilings")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout")
    parser.add_argument("--sample", type=int, default=0, help="print so many texts of each kind at random")
    parser.add_argument("--long", default="", help="print the long sentences of files whose place contains this")
    parser.add_argument("--seed", type=int, default=37)
    chosen = parser.parse_args()
    kinds = measured(chosen.root)
    ceilings = json.loads(CEILINGS.read_text(encoding="utf-8")) if CEILINGS.exists() else {}
    for name, number in counts(kinds).items():
        print(f"{number:7g}  {name} (ceiling {ceilings.get(name, 'none')})")
        if chosen.lower:
            ceilings[name] = min(number, ceilings.get(name, number))
    if chosen.lower:
        CEILINGS.write_text(json.dumps(ceilings, indent=2) + "\n", encoding="utf-8")
    chance = random.Random(chosen.seed)
    for kind, prose in kinds.items():
        for place, text in chance.sample(prose.texts, min(chosen.sample, len(prose.texts))):
            print(f"\n{kind} | {place}\n{text}")
        for place, text in prose.texts:
            if chosen.long and chosen.long in place:
                for sentence in split(text):
                    if len(sentence.split()) > LONG:
                        print(f"{place} [{len(sentence.split())}] {sentence}")


if __name__ == "__main__":
    main()
