"""The repository itself: names no machine and no host, pins what it installs, and lists its commands."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import sottovoce as sv
from tests.each import for_each

ROOT = Path(__file__).resolve().parents[2]

# Written in pieces, so that this file does not find itself.
MACHINE_PATHS = re.compile(
    r"(?:(?<![\w.~}\-/])|(?<=://))/(?:" + "|".join(["work", "root", r"home/\w+"]) + r")(?:/|\b(?![\w-]))"
)
HOSTS = re.compile("|".join(["pypi" + r"\.org", r"python" + r"hosted\.", "registry" + r"\.npmjs", "deb" + r"\.debian"]))


def repository_files() -> list[Path]:
    """Tracked files, and new ones that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("This test needs a git checkout, to know which files belong to the repository.")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def occurrences(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for path in repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        name = path.relative_to(ROOT)
        found += [f"{name}:{number}: {line.strip()}" for number, line in enumerate(lines, 1) if pattern.search(line)]
    return found


def test_no_file_names_a_path_of_one_machine() -> None:
    assert occurrences(MACHINE_PATHS) == []


def test_no_file_names_a_registry_host() -> None:
    assert occurrences(HOSTS) == []


@pytest.mark.parametrize("text", ["/wo" + "rk/main", "cd /ro" + "ot", "'/ho" + "me/ann/x'", "file:///wo" + "rk/x"])
def test_a_path_of_one_machine_is_seen(text: str) -> None:
    assert MACHINE_PATHS.search(text)


@pytest.mark.parametrize("text", ["src/work/x", "the /roots of", "~/home/x", "a/root/b", "/workers"])
def test_an_innocent_path_is_not_seen(text: str) -> None:
    assert not MACHINE_PATHS.search(text)


def pins() -> dict[str, str]:
    """Name to version, from constraints.txt; every line is a pin or a comment."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    assert all(len(pair) == 2 for pair in pairs), "constraints.txt holds lines 'name==version' only."
    return {canonicalize_name(name): number for name, number in pairs}


def direct_requirements() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lists = [project["build-system"]["requires"], *project["project"]["optional-dependencies"].values()]
    names = {canonicalize_name(Requirement(line).name) for lines in lists for line in lines}
    return sorted(names - {"sottovoce"})


@for_each("name", direct_requirements())
def test_every_direct_dependency_is_pinned_to_what_is_installed(name: str) -> None:
    assert name in pins(), f"constraints.txt does not pin {name}."
    try:
        installed = version(name)
    except PackageNotFoundError:
        pytest.fail(f"{name} is not installed; run `make setup`.", pytrace=False)
    assert pins()[name] == installed


def test_pins_satisfy_the_project_file() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [line for group in project["project"]["optional-dependencies"].values() for line in group]
    wanted = [Requirement(line) for line in lines if not line.startswith("sottovoce")]
    wrong = [str(r) for r in wanted if not r.specifier.contains(pins()[canonicalize_name(r.name)], prereleases=True)]
    assert wrong == []


def test_the_extra_all_is_the_union_of_the_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert project["dependencies"] == []
    (union,) = (Requirement(line) for line in extras["all"])
    assert union.name == project["name"]
    assert union.extras == extras.keys() - {"all", "dev"}


def test_make_help_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z][a-z-]*):(?!=)", makefile, flags=re.MULTILINE))
    said = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    listed = dict(re.findall(r"^  make (\S+) +(\S.*)$", said, flags=re.MULTILINE))
    assert {"demo", "test"} <= targets
    assert listed.keys() == targets
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, flags=re.MULTILINE)
    assert set(phony.split()) == targets


@pytest.mark.parametrize("target", ["test", "test-quick"])
def test_make_says_how_long_the_tests_take(target: str) -> None:
    said = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    (line,) = [line for line in said.splitlines() if "timed.sh" in line]
    assert re.search(rf"scripts/timed.sh {target} \"about \d+ minutes", line)
    assert " -q" not in line, "lines of dots end with the part that is done"


def test_the_first_time_is_a_guess_and_later_ones_are_measured(tmp_path: Path) -> None:
    def timed(*command: str) -> subprocess.CompletedProcess[str]:
        script = str(ROOT / "scripts" / "timed.sh")
        return subprocess.run([script, "test", "some minutes", *command], cwd=tmp_path, capture_output=True, text=True)

    failed = timed("sh", "-c", "echo last line; exit 3")
    assert failed.returncode == 3 and failed.stdout == "last line\n"
    again = timed("true")
    for done in (failed, again):  # a run that failed may have ended early
        assert done.stderr.startswith("sottovoce: make test takes some minutes on two quiet cores; ")
    (tmp_path / "build" / "times" / "test").write_text("754\n")
    assert timed("true").stderr.startswith("sottovoce: make test took 12 min 34 s here the last time; ")
    assert int((tmp_path / "build" / "times" / "test").read_text()) < 60


def test_a_newcomer_is_told_of_the_quick_tests() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"newcomer\s+may\s+run\s+`make test-quick`\s+first", readme)


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_the_readme_names_the_two_commands(command: str) -> None:
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    fields = dict(line.split(": ", 1) for line in lines if re.match(r"\w[\w-]*: ", line))
    assert (fields["version"], fields["license"]) == (sv.__version__, project["license"])
    assert fields["cff-version"] == "1.2.0" and "authors:" in lines and fields["title"] and fields["message"]
    keywords = lines[lines.index("keywords:") + 1 :]
    assert [line.removeprefix("  - ") for line in keywords] == project["keywords"]


# Packages that are imported by another name, or by uvicorn, whose parser and loop they are.
IMPORTED_AS = {
    "scikit-learn": "sklearn",
    "prometheus-client": "prometheus_client",
    "httptools": "uvicorn",
    "uvloop": "uvicorn",
}


def test_every_extra_is_used_by_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    for extra, lines in project["optional-dependencies"].items():
        found = [Requirement(line).name for line in lines if extra not in ("all", "dev")]
        # Imported by another name; and uvicorn imports its parser and its loop.
        names = [
            {"scikit-learn": "sklearn", "httptools": "uvicorn", "uvloop": "uvicorn", "pyspark-client": "pyspark"}.get(
                name, name.replace("-", "_")
            )
            for name in found
        ]
        assert [name for name in names if not re.search(rf"^\s*(import|from) {name}\b", source, re.MULTILINE)] == []


def test_the_readme_is_a_front_door() -> None:
    """One sentence, one picture in light and dark, three promises, three doors, limits, sizes: on two screens."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    top = text[: text.index("## ")]
    shown = re.findall(r'(?:src|srcset)="(docs/pictures/[^"]+)"', top)
    assert len(shown) == 2 and all((ROOT / path).is_file() for path in shown)
    assert len(re.findall(r"^- \*\*", top, re.MULTILINE)) == 3
    doors = ["Run a survey", "Collect telemetry", "Compare methods"]
    after = ["What you can estimate", "What you cannot do", "Why trust it", "Install"]
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == [*doors, *after]
    assert not re.search(r"^\| `[a-z-]+` \|", text, re.MULTILINE), "Mechanisms are listed in the documentation."
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert {"analysis", "service", "all"} <= set(re.findall(r"'\.\[(\w+)\]'", text)) <= extras.keys()


def test_our_own_warnings_are_errors_and_those_of_others_are_not() -> None:
    with pytest.raises(UserWarning, match="ours"):
        warnings.warn_explicit("ours", UserWarning, "file.py", 1, module="sottovoce.core.domain")
    with warnings.catch_warnings(record=True) as seen:
        warnings.warn_explicit("theirs", UserWarning, "file.py", 1, module="numpy.core")
        warnings.warn_explicit("theirs", UserWarning, "file.py", 1, module="sottovoce_plugin")
    assert len(seen) == 2


CHECKS = {
    "lint": ("ruff", "check", "."),
    "format": ("ruff", "format", "--check", "."),
    "types": ("mypy",),
}
ONE_BY_ONE = {"types": pytest.mark.xdist_group("mypy")}  # with the test of static types it shares a cache


# `make check`, here as tests, so that the closing line of `make test` tells the whole truth.
@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [pytest.param(CHECKS[name], marks=ONE_BY_ONE.get(name, ()), id=name) for name in CHECKS]
)
def test_make_check_passes(command: tuple[str, ...]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"{' '.join(command)}\n{done.stdout}{done.stderr}", pytrace=False)
