"""The documentation is true: examples run, outputs are those shown, and nothing is missing or broken.

A `python` block is executed, all blocks of a page in one namespace and in a folder of its own. A `text` block that
follows it at once is what it must print.
"""

from __future__ import annotations

import re
import runpy
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType

import pytest

import sottovoce as sv
from sottovoce.cli.app import app
from sottovoce.core import registry
from sottovoce.core.question import Frequency
from sottovoce.testing import check_mechanism
from tests.each import for_each

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.rglob("*.md"))]
# Pages that a make target writes: a link to one may come before the page.
GENERATED = {DOCS / "results/coverage.md": "coverage"}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GROUPS = {group.name for group in app.registered_groups}
VERBS = sorted({"answer", *(command.name or command.callback.__name__ for command in app.registered_commands), *GROUPS})

each_page = for_each("page", PAGES)


@dataclass(frozen=True)
class Example:
    """A block of code, the line it starts in, and what it must print (None: whatever it likes)."""

    code: str
    line: int
    output: str | None


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def prose(page: Path) -> str:
    """A page without its blocks of code."""
    return FENCE.sub("", text_of(page))


def examples(page: Path) -> Iterator[Example]:
    text = text_of(page)
    blocks = list(FENCE.finditer(text))
    for place, block in enumerate(blocks):
        if block[1] != "python":
            continue
        output = None
        for after in blocks[place + 1 : place + 2]:
            if after[1] == "text" and not text[block.end() : after.start()].strip():
                output = after[2]
        yield Example(block[2], text.count("\n", 0, block.start(2)), output)


# Pages whose examples solve linear programs or simulate for more than half a second.
LONG = {
    DOCS / f"{name}.md"
    for names in (
        "guides/audit-a-program guides/choose-a-method guides/cross-tables guides/distribution guides/groups",
        "guides/mean guides/quantiles guides/repeated-answers guides/unknown-range guides/variance guides/vector",
        "guides/daily-telemetry guides/words",
        "methods/bins-and-hierarchies methods/designed-distributions methods/gaussian-mean methods/rounds",
        "methods/series-and-mixtures results/index study/plan",
        "why/accounting why/audit why/decisions/005-hadamard-groups-and-contrasts why/errata why/errata-group-means",
    )
    for name in names.split()
}
# Commands and examples by turns: test_doors.py and test_first_hour.py run them.
IN_ORDER = {DOCS / "start/first-hour.md", DOCS / "study/run-a-survey.md"}
WITH_EXAMPLES = [
    pytest.param(page, marks=[pytest.mark.slow] if page in LONG else [])
    for page in PAGES
    if page not in IN_ORDER and any(examples(page))
]


@pytest.mark.parametrize("page", WITH_EXAMPLES, ids=lambda page: str(page.relative_to(ROOT)))
def test_examples_print_what_the_page_shows(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = ModuleType("__page__")  # a module of its own, since dataclasses look theirs up
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for example in examples(page):
        printed = StringIO()
        source = "\n" * example.line + example.code  # so that a traceback names the line of the page
        with redirect_stdout(printed):
            exec(compile(source, str(page), "exec"), vars(module))
        if example.output is not None:
            assert printed.getvalue() == example.output, f"{page.name}, line {example.line}"


@each_page
def test_output_is_shown_only_where_it_is_checked(page: Path) -> None:
    shown = len(re.findall(r"^```text$", text_of(page), flags=re.MULTILINE))
    assert shown == sum(example.output is not None for example in examples(page))


@each_page
def test_fences_have_a_known_language(page: Path) -> None:
    known = {"python", "text", "console", "diff", "html", "toml"}
    assert {block[1] for block in FENCE.finditer(text_of(page))} <= known
    assert len(re.findall(r"^```", text_of(page), flags=re.MULTILINE)) % 2 == 0


def test_the_new_mechanism_of_the_contributing_page_takes_one_file_and_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = text_of(ROOT / "CONTRIBUTING.md")
    ((path, code),) = re.findall(r"^```python\n# src/sottovoce/(\S+)\.py\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    ((name, target),) = re.findall(r'^\+ +"(\w+)": "(\S+)",$', page, re.MULTILINE)
    assert target == path.replace("/", ".") + ":build"
    assert name not in registry.names()
    module = ModuleType("sottovoce." + path.replace("/", "."))
    exec(code, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(registry.BUILDERS, name, target)
    for size in (2, 65):
        check_mechanism(sv.mechanism(name, sv.Integers(1, size), epsilon=3, share="0.7"))
    slots = ("Law:", "Privacy:", "Estimator:", "Cost:", "Reference:")
    assert all(slot in (registry.builder(name).__doc__ or "") for slot in slots)
    with pytest.raises(sv.ParameterError, match="'share' parameter of portion"):
        sv.mechanism(name, sv.Integers(1, 9), epsilon=3, share=1)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@each_page
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if link.startswith("https://"):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if target in GENERATED and not target.exists():
            assert f"\n{GENERATED[target]}:" in text_of(ROOT / "Makefile")
            continue
        assert target.is_file(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name} links to {link}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or not page.is_file() or page.suffix != ".md":
            continue
        seen.add(page)
        links = re.findall(r"\]\(([^)\s#]+)[^)]*\)", prose(page))
        waiting += [(page.parent / link).resolve() for link in links if not link.startswith("https://")]
    assert seen == set(PAGES)


def test_pages_lie_in_the_sections() -> None:
    sections = {page.relative_to(DOCS).parts[0] for page in DOCS.rglob("*.md")}
    assert sections == {"index.md", "start", "guides", "study", "methods", "results", "reference", "why"}


@for_each("name", registry.names())
def test_every_mechanism_has_a_row_and_a_heading(name: str) -> None:
    page = prose(DOCS / "methods/index.md")
    assert re.search(rf"^\| `{re.escape(name)}` \|", page, flags=re.MULTILINE)
    assert re.search(rf"^### {re.escape(name)}$", page, flags=re.MULTILINE)


@for_each("name", registry.names(Frequency))
def test_every_frequency_oracle_has_a_row_at_a_glance(name: str) -> None:
    assert re.search(rf"^\| `{re.escape(name)}` \|", prose(DOCS / "methods/at-a-glance.md"), flags=re.MULTILINE)


@pytest.mark.slow
def test_the_methods_page_is_what_its_generator_writes() -> None:
    written = runpy.run_path(str(DOCS.parent / "scripts" / "generate_methods.py"))["page"]()
    assert text_of(DOCS / "methods/index.md") == written, "Run `python scripts/generate_methods.py`."


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_a_heading(verb: str) -> None:
    headings = [line for page in DOCS.rglob("*.md") for line in prose(page).splitlines() if line.startswith("#")]
    assert any(line.endswith(f" sottovoce {verb}") for line in headings)


def makefile_targets() -> list[str]:
    return re.findall(r"^([a-z][a-z-]*):(?!=)", text_of(ROOT / "Makefile"), flags=re.MULTILINE)


@for_each("target", makefile_targets())
def test_every_make_target_is_mentioned(target: str) -> None:
    pages = text_of(ROOT / "README.md") + text_of(ROOT / "CONTRIBUTING.md")
    assert re.search(rf"make {target}(?![\w-])", pages)


@each_page
def test_commands_that_are_named_exist(page: Path) -> None:
    marked: list[str] = re.findall(r"`([^`\n]+)`", prose(page))
    for block in FENCE.finditer(text_of(page)):
        marked += block[2].splitlines() if block[1] == "console" else []
    for command in marked:
        words = command.removeprefix("$ ").split()
        if words[:1] == ["make"] and len(words) > 1:
            assert words[1] in makefile_targets(), f"{page.name}: {command}"
        if words[:1] == ["sottovoce"] and len(words) > 1 and not words[1].startswith("--"):
            assert words[1] in VERBS, f"{page.name}: {command}"


@each_page
def test_pages_name_no_place_of_one_machine(page: Path) -> None:
    assert not re.findall(r"(?<![\w.])/(?:home|work|root|tmp|usr)/\S*", text_of(page))


def test_every_decision_has_its_three_parts() -> None:
    decisions = sorted((DOCS / "why" / "decisions").glob("[0-9]*.md"))
    numbers = [int(path.name[:3]) for path in decisions]
    assert numbers == sorted(set(numbers)) and numbers[:33] == list(range(1, 34))
    for path in decisions:
        headings = re.findall(r"^## (.+)$", text_of(path), flags=re.MULTILINE)
        parts = [heading for heading in headings if heading != "What was not reached"]
        assert parts == ["Context", "Choice", "Rejected"], path.name


def test_the_summary_of_coverage_is_that_of_its_tables() -> None:
    page = text_of(DOCS / "results/coverage.md")
    for noun, section in (("shares", "coverage-shares"), ("means", "coverage-means")):
        body = page.partition(f"<!-- section: {section} -->")[2].partition("<!-- section")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line[:1] == "|"]
        stated = re.findall(rf"^\| {noun}, `(\w+)`[^|]*\| ([\d.]+) % \|", page, flags=re.MULTILINE)
        assert stated
        for method, least in stated:
            place = rows[0].index(f"{method}, population")
            assert min(float(row[place]) for row in rows[2:] if len(row) == len(rows[0])) == float(least), method
