"""The page of the first hour, from an empty folder: commands and examples in order, with the package from its wheel."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "start/first-hour.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$(?:\n\n^```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL)
INSTALL = "python -m pip install './sottovoce[all]'"


def steps(text: str) -> Iterator[tuple[str, str, str | None]]:
    """Each command and each example with what it must print; `...` is anything, None whatever it likes."""
    for kind, body, output in BLOCK.findall(text):
        if kind == "python":
            yield kind, body, output or None
        for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:] if kind == "console" else ():
            command, _, shown = re.sub(r"\\\n", "", part).partition("\n")
            yield kind, command, shown


def agrees(shown: str, printed: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, shown.split("..."))), printed, re.DOTALL) is not None


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The wheel in a folder of its own, before what is installed; its dependencies are there already."""
    folder = tmp_path_factory.mktemp("installed")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--target"]
    subprocess.run([*pip, str(folder / "site"), str(wheel)], check=True, capture_output=True)
    # The interpreter of this environment is the `python` of the page; the command comes from the wheel.
    path = os.pathsep.join([str(folder / "site" / "bin"), str(Path(sys.executable).parent), os.environ["PATH"]])
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**kept, "PATH": path, "PYTHONPATH": str(folder / "site"), "COLUMNS": "100", "MPLBACKEND": "agg"}


def run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr
    return done.stderr + done.stdout


@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
def test_the_first_hour_is_what_the_page_says(tmp_path: Path, environment: dict[str, str]) -> None:
    where = run([sys.executable, "-c", "import sottovoce; print(sottovoce.__file__)"], tmp_path, environment)
    assert str(ROOT) not in where, "The package comes from the wheel."
    told = ""  # examples so far: one namespace, replayed in silence, since each is a process of its own
    for kind, text, shown in steps(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            quiet = f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec({told!r})\n"
            printed = run([sys.executable, "-c", f"{quiet}{text}"], tmp_path, environment)
            told += text
        elif text == INSTALL:
            continue  # the fixture has done it, without a network
        else:
            printed = run(["bash", "-c", text], tmp_path, environment)
        assert shown is None or agrees(shown, printed), (text, printed)
    assert {"people.csv", "reports.parquet", "smokes.tally"} <= {path.name for path in tmp_path.iterdir()}
    assert all("<svg" in (tmp_path / name).read_text(encoding="utf-8") for name in ("plan.svg", "smokes.svg"))


def test_the_page_goes_through_the_whole_hour() -> None:
    text = PAGE.read_text(encoding="utf-8")
    found = [heading.lower() for heading in re.findall(r"^## (.+)$", text, re.MULTILINE)]
    words = ("install", "plan", "privatize", "tally", "estimate", "plot", "compare groups", "audit something broken")
    places = [next(place for place, heading in enumerate(found) if word in heading) for word in words]
    assert places == sorted(places)
    assert INSTALL in text and sum(kind == "console" for kind, _, _ in steps(text)) >= 5
    said = [shown for kind, body, shown in steps(text) if kind == "python" and "print(" in body]
    assert sum(shown is None for shown in said) == 1, "Only the program that is written to a file prints elsewhere."


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a ... c\n", "a b c\n", True),
        ("a\n", "a\n", True),
        ("a\n", "b\n", False),
        ("a ...", "b", False),
        ("", "b", False),
    ],
)
def test_what_is_printed_is_compared(shown: str, printed: str, same: bool) -> None:
    assert agrees(shown, printed) is same


def test_the_glossary_has_the_terms_with_their_other_names() -> None:
    text = (ROOT / "docs" / "start/glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^\| ([^|]+) \| ([^|]+) \|(?: ([^|]+))? \|$", text, re.MULTILINE)[2:]
    assert len(terms) >= 35 and all(meaning.strip().endswith((".", ").")) for _, meaning, _ in terms)
    wanted = {"report", "tally", "arm", "round", "epoch", "memo", "cohort", "decoder", "target"}
    assert wanted <= {term for term, *_ in terms}
    assert sum(bool(other.strip()) for *_, other in terms) >= 20
