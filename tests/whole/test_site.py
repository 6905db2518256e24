"""The sources of the documentation site; tests/web/test_documentation.py opens the built site in a browser."""

from __future__ import annotations

import json
import re
import tomllib

import sottovoce as sv
from scripts.docs import api, reference, site, words

NAVIGATION = tomllib.loads((site.ROOT / "zensical.toml").read_text(encoding="utf-8"))["project"]["nav"]


def listed(entry: object) -> list[str]:
    """The pages of a part of the navigation, in order."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in listed(part)]  # type: ignore[attr-defined]


def test_every_page_is_in_the_navigation_once() -> None:
    pages = {page.relative_to(site.SOURCE).as_posix() for page in site.SOURCE.rglob("*.md")}
    pages = {page for page in pages if not re.match(r"why/decisions/\d", page)}  # their index lists them
    pages |= {*site.TOP.values(), *(f"reference/api/{name}" for name in api.pages())}
    assert sorted(listed(NAVIGATION)) == sorted(pages)


def test_every_public_name_is_on_one_page_of_the_reference() -> None:
    assert sorted(api.names()) == sorted(sv.__all__)


def test_the_reference_is_what_the_code_says() -> None:
    """Commands, options, routes, study keys, error classes and codes: their pages are written from the code."""
    for name, written in reference.PAGES.items():
        shown = (reference.FOLDER / name).read_text(encoding="utf-8")
        assert shown == written(), f"Run `python -m scripts.docs.reference` ({name})."


def test_every_route_is_on_the_page() -> None:
    page = reference.http_api()
    assert [path for path in reference.routes() if not re.search(rf"[` ]{re.escape(path)}[`\n]", page)] == []


# Pages that a command writes, or that list what is generated: they may be longer.
LONGER = re.compile(
    r"results/|methods/(index|decoders|gaussian-mean)|reference/(command-line|http-api)|why/(decisions/|errata)"
)


def test_pages_are_short() -> None:
    lengths = {
        page.relative_to(site.SOURCE).as_posix(): len(page.read_text(encoding="utf-8").splitlines())
        for page in site.SOURCE.rglob("*.md")
    }
    assert {name: length for name, length in lengths.items() if length > 250 and not LONGER.match(name)} == {}


def test_pages_open_with_what_the_reader_gets() -> None:
    """A title, then a paragraph that can be read alone."""
    for page in site.SOURCE.rglob("*.md"):
        name = page.relative_to(site.SOURCE).as_posix()
        if re.match(r"(start|guides|study)/", name):
            title, opening, *_ = page.read_text(encoding="utf-8").split("\n\n")
            assert title.startswith("# ") and not words.OPENING.match(opening), name


def test_words_stay_below_their_ceilings() -> None:
    ceilings = json.loads(words.CEILINGS.read_text(encoding="utf-8"))
    counted = words.counts(words.measured())
    assert counted.keys() == ceilings.keys()
    above = {name: number for name, number in counted.items() if number > ceilings[name]}
    assert above == {}, "Shorten sentences; `python -m scripts.docs.words --long docs/guides` lists the long ones."


# What a reader asks first, and the pages that answer it, at most four.
READERS = {
    "health researcher": "study/run-a-survey start/choosing-epsilon study/ethics-boards start/read-an-interval",
    "survey statistician": "start/what-you-cannot-do guides/cross-tables start/read-an-interval guides/r-users",
    "telemetry engineer": "study/telemetry guides/repeated-answers guides/large-data study/operate",
    "privacy researcher": "why/audit methods/index results/index why/errata",
    "ethics board": "study/ethics-boards start/what-epsilon-means why/security start/glossary",
}


def test_readers_find_their_answers_within_four_pages() -> None:
    home = (site.SOURCE / "index.md").read_text(encoding="utf-8")
    for reader, path in READERS.items():
        first, *others = path.split()
        assert f"({first}.md)" in home, reader
        for number, name in enumerate(others, 1):
            earlier = [site.SOURCE / f"{one}.md" for one in path.split()[:number]]
            linked = {
                (page.parent / link).resolve().relative_to(site.ROOT).as_posix()
                for page in earlier
                for link in re.findall(r"\]\(([^)\s#]+\.md)", page.read_text(encoding="utf-8"))
            }
            assert f"docs/{name}.md" in linked, (reader, name)
