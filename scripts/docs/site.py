"""Build the documentation site into build/site: `python -m scripts.docs.site`.

The pages of docs are copied to build/docs, with CONTRIBUTING and CHANGELOG among them and the Python reference written
from the stub. The build is strict: a link, an anchor or a name that leads nowhere ends it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from scripts.docs import api

ROOT = Path(__file__).resolve().parents[2]
SOURCE, STAGE, SITE = ROOT / "docs", ROOT / "build" / "docs", ROOT / "build" / "site"
# Files at the top of the repository, and where the site has them.
TOP = {"CONTRIBUTING.md": "why/contributing.md", "CHANGELOG.md": "reference/changelog.md"}
LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")
# Tables and records that would crowd the search: it finds the pages that lead to them.
UNSEARCHED = re.compile(r"results/(?!index|speed)|why/decisions/\d|reference/changelog")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def moved_links(text: str, old: Path, new: Path) -> str:
    """A page's text with its relative links changed for its place on the site."""

    def link(match: re.Match[str]) -> str:
        if "://" in match[2]:
            return match[0]
        target = Path(os.path.normpath(old.parent / match[2]))
        inside = target.relative_to(SOURCE) if target.is_relative_to(SOURCE) else None
        if inside is None:
            inside = Path(TOP[target.relative_to(ROOT).as_posix()])
        return f"{match[1]}{os.path.relpath(STAGE / inside, new.parent)}{match[3]}"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def stage() -> None:
    """Write every page of the site into build/docs."""
    shutil.rmtree(STAGE, ignore_errors=True)
    shutil.copytree(SOURCE, STAGE)
    pages = {page: STAGE / page.relative_to(SOURCE) for page in SOURCE.rglob("*.md")}
    pages |= {ROOT / name: STAGE / place for name, place in TOP.items()}
    for old, new in pages.items():
        head = "---\nsearch:\n  exclude: true\n---\n" if UNSEARCHED.match(new.relative_to(STAGE).as_posix()) else ""
        new.write_text(head + moved_links(old.read_text(encoding="utf-8"), old, new), encoding="utf-8")
    folder = STAGE / "reference" / "api"
    folder.mkdir(parents=True)
    for name, text in api.pages().items():
        (folder / name).write_text(text, encoding="utf-8")
    shutil.copy(Path(__file__).with_name("extra.css"), STAGE / "extra.css")
    shutil.copy(ROOT / "src" / "sottovoce" / "service" / "static" / "mark.svg", STAGE / "mark.svg")


def build() -> subprocess.CompletedProcess[str]:
    """Build the site; what the generator said, and its exit code."""
    stage()
    shutil.rmtree(SITE, ignore_errors=True)
    command = [sys.executable, "-m", "zensical", "build", "--clean", "--strict"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)


if __name__ == "__main__":
    done = build()
    print(done.stdout + done.stderr + f"The site is in {SITE.relative_to(ROOT)}; `make docs-serve` shows it.")
    sys.exit(done.returncode)
