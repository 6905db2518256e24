"""The wheel alone, in an empty environment, answers a question and names the extra for the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

# One worker builds for all of them.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("wheel")]

ROOT = Path(__file__).resolve().parents[2]

ANSWER = """
import sottovoce as sv
m = sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=1.0)
from sottovoce.client import Client
r = Client.from_spec(m.spec()).report("owl")
assert len(r) == 17, len(r)
"""

BATCH = """
import sottovoce as sv
from sottovoce.core.errors import MissingExtraError
m = sv.mechanism("grr", sv.Categories(["lark", "owl", "neither"]), epsilon=1.0)
try:
    m.privatize(["owl"])
except MissingExtraError as error:
    assert isinstance(error, ImportError)
    print(error)
else:
    raise SystemExit("privatize worked without the extra")
"""

DISTRIBUTIONS = """
from importlib.metadata import distributions
print(*sorted(d.metadata["Name"] for d in distributions()))
"""


def run(*command: str | Path, cwd: Path = ROOT) -> str:
    """Standard output; a failure shows what the command said."""
    # Variables such as PYTHONPATH would let the source tree in by the back door.
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    if done.returncode:
        pytest.fail(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}", pytrace=False)
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    # Without isolation, because an isolated build fetches its back-end from the network.
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    (path,) = folder.glob("sottovoce-*.whl")
    return path


@pytest.fixture(scope="module")
def bare_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment that holds the wheel and nothing else, not even pip."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-index",
        "--no-deps",
        wheel,
    )
    return python


def test_the_environment_holds_the_wheel_only(bare_python: Path, tmp_path: Path) -> None:
    assert run(bare_python, "-c", DISTRIBUTIONS, cwd=tmp_path).split() == ["sottovoce"]


def test_the_bare_install_answers_a_question(bare_python: Path, tmp_path: Path) -> None:
    run(bare_python, "-c", ANSWER, cwd=tmp_path)


def test_the_batch_side_names_the_extra_in_one_sentence(bare_python: Path, tmp_path: Path) -> None:
    said = run(bare_python, "-c", BATCH, cwd=tmp_path)
    assert "pip install 'sottovoce[analysis]'" in said
    assert len(said.splitlines()) == 1


def test_the_wheel_holds_the_package_its_types_and_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        fields = Parser().parsestr(archive.read(metadata).decode())
    assert "sottovoce/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"sottovoce"}
    required = [line for line in fields.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert required == [], "The bare install must need nothing."


def test_the_bare_install_has_help_and_a_version(bare_python: Path, tmp_path: Path) -> None:
    said = run(bare_python, "-m", "sottovoce", "--help", cwd=tmp_path)
    assert said == run(bare_python, "-m", "sottovoce", cwd=tmp_path)
    assert all(f"\n  {verb} " in said for verb in ("answer", "explain", "privatize", "tally", "audit"))
    assert "pip install 'sottovoce[analysis]'" in said
    assert run(bare_python, "-m", "sottovoce", "--version", cwd=tmp_path).startswith("sottovoce ")
