"""Release notes from the files of `changes`: `python -m scripts.release_notes --version 0.2.0 --against main`.

Without a version the entries are printed. With one they become a section of CHANGELOG.md, and their files are removed.
With `--against` the command fails where src changed since that commit and no entry was added.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CHANGES, CHANGELOG = ROOT / "changes", ROOT / "CHANGELOG.md"
HEADINGS = {
    "security": "Security",
    "breaking": "What breaks, and what to do",
    "deprecated": "Deprecated",
    "added": "Added",
    "changed": "Changed",
    "fixed": "Fixed",
    "removed": "Removed",
}
MOST_WORDS = 25
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.([a-z]+)\.md")
# Openings that need the heading or another entry to be understood.
NOT_A_SUBJECT = re.compile(
    r"(it|its|this|that|these|those|they|the same|what|which|who|whose|now|also|and|or|so|there|of|in|on|with|for|from"
    r"|added|changed|fixed|removed|fixes|adds|changes|removes|breaking|security|deprecated)\b",
    re.IGNORECASE,
)
# A release section begins with this; entries of a new version go above the newest one.
SECTION = re.compile(r"^## ", re.MULTILINE)


def fragments(folder: Path = CHANGES) -> list[Path]:
    """List the files with entries, by name."""
    return sorted(path for path in folder.glob("*") if path.name != "README.md")


def problem(path: Path) -> str | None:
    """Say in one sentence what is wrong with the file of an entry, or None."""
    match = NAME.fullmatch(path.name)
    if not match or match[2] not in HEADINGS:
        return f"{path.name}: the name must be NAME.KIND.md, with a kind of {', '.join(HEADINGS)}."
    text = path.read_text(encoding="utf-8")
    line = text.strip()
    words, advised = line.partition(" Do: ")[::2] if match[2] == "breaking" else (line, "")
    if "\n" in line or not line:
        return f"{path.name}: an entry is one line."
    for part in (words, advised):
        if len(part.split()) > MOST_WORDS:
            return f"{path.name}: an entry has at most {MOST_WORDS} words; this one has {len(part.split())}."
    if NOT_A_SUBJECT.match(line) or line.startswith(("-", "*", "#")):
        return f"{path.name}: an entry begins with its subject, such as a public name in backticks."
    if match[2] == "breaking" and not advised:
        return f"{path.name}: an entry of this kind ends with what users must do: Do: ..."
    return None if line.endswith(".") else f"{path.name}: an entry ends with a full stop."


def notes(paths: list[Path]) -> str:
    """Write the entries under the heading of their kind."""
    parts = []
    for kind, heading in HEADINGS.items():
        entries = [path.read_text(encoding="utf-8").strip() for path in paths if path.name.endswith(f".{kind}.md")]
        if entries:
            parts.append(f"### {heading}\n\n" + "".join(f"- {entry}\n" for entry in entries))
    return "\n".join(parts)


def release(text: str, version: str, entries: str, day: date) -> str:
    """The text of the changelog with a section for a new version above the others."""
    if re.search(rf"^## {re.escape(version)}\b", text, re.MULTILINE):
        raise SystemExit(
            f"CHANGELOG.md has a section {version} already. Add the entries to it by hand, and delete their files."
        )
    start = match.start() if (match := SECTION.search(text)) else len(text)
    return f"{text[:start]}## {version} ({day.isoformat()})\n\n{entries}\n{text[start:]}"


def without_entry(base: str) -> bool:
    """True if src changed since a commit and no entry was added."""

    def changed(*arguments: str) -> bool:
        command = ["git", "diff", "--name-only", *arguments]
        return bool(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout)

    return changed(f"{base}...", "--", "src") and not changed("--diff-filter=A", f"{base}...", "--", "changes")


def main() -> int:
    """Print the entries, or write them into the changelog."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--version", help="write a section of CHANGELOG.md for this version, and remove the files")
    parser.add_argument("--against", help="fail where src changed since this commit without an entry")
    options = parser.parse_args()
    paths = fragments()
    problems = [sentence for path in paths if (sentence := problem(path))]
    if options.against and without_entry(options.against):
        problems.append("src changed without an entry: write changes/NAME.KIND.md, or mark the request as internal.")
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    entries = notes(paths)
    if not options.version:
        print(entries or "There are no entries in changes.")
        return 0
    text = release(CHANGELOG.read_text(encoding="utf-8"), options.version, entries, date.today())
    CHANGELOG.write_text(text, encoding="utf-8")
    for path in paths:
        path.unlink()
    print(f"CHANGELOG.md has a section {options.version}. Write three highlights above its entries.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
