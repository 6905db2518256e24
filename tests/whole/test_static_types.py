"""What type checkers know of `import sottovoce as sv`: every name, with its type, and no other name."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce as sv
from scripts.write_stub import stubs

ROOT = Path(__file__).resolve().parents[2]

# A line that ends in "# error" must be refused, all others must pass.
USER = """\
import sottovoce as sv
from sottovoce import Categories, mechanism
from sottovoce import nosuchname  # error

m: sv.Mechanism = sv.mechanism("grr", sv.Categories(["lark", "owl"]), epsilon=1)
reports: sv.Reports = m.privatize(["owl", "lark"])
tally: sv.Tally = m.tally(reports)
estimate: sv.Estimate = m.estimate(tally)
estimate.ci(0.95).high
estimate.cy(0.95)  # error
m.tally(1)  # error
m.estimate(tally, decoder=1)  # error
at_one: float = m.variance(0.5, 100)
at_all: int = m.variance([0.5, 0.5], 100)  # error
names: list[str] = sv.names(sv.Frequency)
holds: bool = sv.audit(m).ok
plan: sv.Plan = sv.plan(sv.Mean(sv.Interval(0, 14)), epsilon=1, participants=1000)
text: str = sv.__version__
wrong: int = sv.mechanism("grr", Categories(["lark", "owl"]), epsilon=1)  # error
other: int = sv.mechanism  # error
sv.nosuchthing  # error
sv.load  # error
sv.mechanism("grr")  # error
sv.plan(sv.Mean(sv.Interval(0, 14)), people=1000)  # error


def widest(estimate: sv.Estimate) -> float:
    return float((estimate.ci(0.95).high - estimate.ci(0.95).low).max())


def show(found: sv.Certificate | sv.Tally | sv.Reports) -> str:
    return repr(found)
"""
EVERY_NAME = "import sottovoce as sv\n\n" + "\n".join(f"sv.{name}" for name in sv.__all__) + "\n"
CHECKERS = {
    "mypy": [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"],
    "basedpyright": [sys.executable, "-m", "basedpyright", "--level", "error"],  # pyright as a Python package
}


def refused(checker: str, folder: Path) -> set[tuple[str, int]]:
    """The files and lines that a checker refuses, run as `make check` does, so that its cache serves both."""
    done = subprocess.run(
        [*CHECKERS[checker], *map(str, sorted(folder.iterdir()))], cwd=ROOT, capture_output=True, text=True
    )
    found = re.findall(r"(\w+\.py):(\d+)(?::\d+)?(?:: error| - error)", done.stdout)
    assert bool(found) is bool(done.returncode), done.stdout + done.stderr
    return {(name, int(line)) for name, line in found}


@pytest.mark.slow
@pytest.mark.xdist_group("mypy")
@pytest.mark.parametrize("checker", CHECKERS)
def test_a_checker_knows_every_name_and_no_other(checker: str, tmp_path: Path) -> None:
    for name, text in {"user.py": USER, "every_name.py": EVERY_NAME}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    wrong = {("user.py", place) for place, line in enumerate(USER.splitlines(), 1) if line.endswith("# error")}
    assert len(wrong) == 11 and refused(checker, tmp_path) == wrong


REVEALED = """\
import sottovoce as sv

m = sv.mechanism("grr", sv.Categories(["lark", "owl"]), epsilon=1)
reveal_type(m.privatize(["owl"]))  # Reports
reveal_type(m.tally([b""]))  # Tally
reveal_type(m.tally_batches([]))  # Tally
reveal_type(m.estimate(m.tally([])))  # Estimate
reveal_type(m.estimate(m.tally([])).ci(0.95).low)  # ndarray[tuple[Any, ...], dtype[float64]]
reveal_type(m.estimate(m.tally([])).values)  # ndarray[tuple[Any, ...], dtype[float64]]
reveal_type(m.variance(0.5))  # float
reveal_type(m.variance([0.5, 0.5]))  # ndarray[tuple[Any, ...], dtype[float64]]
reveal_type(m.worst_case_variance())  # float
"""


@pytest.mark.slow
@pytest.mark.xdist_group("mypy")
def test_a_checker_knows_what_the_verbs_of_a_mechanism_return(tmp_path: Path) -> None:
    (tmp_path / "revealed.py").write_text(REVEALED, encoding="utf-8")
    command = [*CHECKERS["mypy"], "--no-pretty", str(tmp_path / "revealed.py")]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout
    types = [re.sub(r"\b(\w+\.)+", "", name) for name in re.findall(r'Revealed type is "(.*)"', said)]
    assert types == re.findall(r"# (.*)", REVEALED)


def test_the_stub_is_what_its_script_writes() -> None:
    for path, text in stubs().items():
        assert path.read_text(encoding="utf-8") == text, "Run `python -m scripts.write_stub`."


def test_the_stub_offers_what_the_package_offers() -> None:
    tree = ast.parse(Path(sv.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    imported = {
        alias.asname: node.module for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert sorted(imported) == sv.__all__
    for name, module in imported.items():
        own = getattr(sv, name)
        assert getattr(sys.modules[str(module)], getattr(own, "__name__", name).rpartition(".")[2]) is own, name


def test_nothing_foreign_is_listed() -> None:
    offered = [name for name in dir(sv) if not name.startswith("__")]
    assert offered == [name for name in sv.__all__ if not name.startswith("__")]
    for name in ("load", "Any", "core", "estimate", "TYPE_CHECKING"):
        assert name not in dir(sv)
    assert not hasattr(sv, "load") and not hasattr(sv, "Any")
