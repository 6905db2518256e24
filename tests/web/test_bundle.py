"""What is shipped: small, without dependencies, and exactly what its source builds."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from sottovoce.core.mechanism import Mechanism
from sottovoce.core.registry import names
from sottovoce.service.http.static import FOLDER
from sottovoce.testing.codes import first_message
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "clients" / "web"
MOST = 25 * 1024  # bytes, compressed, of everything but the nodes for vectors
pytestmark = pytest.mark.xdist_group("browser")


def loaded_at_once() -> list[Path]:
    """The module, and what it imports before anything runs."""
    found, left = [], ["sottovoce.js"]
    while left:
        path = FOLDER / left.pop()
        found.append(path)
        left += re.findall(r'(?:from|import)"\./([^"]+)"', path.read_text(encoding="utf-8"))
    return found


def compressed(paths: list[Path]) -> int:
    return sum(len(gzip.compress(path.read_bytes(), 9, mtime=0)) for path in paths)


def test_everything_but_the_nodes_for_vectors_has_less_than_25_kib():
    """What seals reports is also a file of its own, which only studies with a shuffler load."""
    always = loaded_at_once()
    loaded_later = set(re.findall(r'import\("\./([^"]+)"\)', "".join(path.read_text("utf-8") for path in always)))
    holds = {name: (FOLDER / name).read_text("utf-8") for name in loaded_later}
    (vectors,) = (name for name, text in holds.items() if "half-space" in text)
    (seals,) = (name for name, text in holds.items() if "HPKE" in text)
    (tables,) = (name for name, text in holds.items() if "a record's field" in text)
    (keys,) = (name for name, text in holds.items() if '"key-ends"' in text and name != tables)
    (rare,) = (name for name, text in holds.items() if '"cohorts"' in text and name not in (vectors, tables))
    (meanings,) = {*holds} - {vectors, seals, tables, keys, rare}  # what a report says, loaded by a preview
    others = [path for path in FOLDER.glob("sottovoce*.js") if path.name not in loaded_later]
    assert {path.name for path in others} == {path.name for path in always} | {"sottovoce.script.js"}
    assert compressed(others) < MOST
    assert compressed([FOLDER / vectors]) < 5 * 1024 and compressed([FOLDER / seals]) < 2 * 1024
    assert (
        compressed([FOLDER / meanings]) < 2 * 1024
        and compressed([FOLDER / rare]) < 2048
        and compressed([FOLDER / tables]) < 5120
        and compressed([FOLDER / keys]) < 2560
    )


@pytest.mark.parametrize(
    ("page", "most"),
    [("participant.js", MOST + 6912), ("dashboard.js", 2048), ("planner.js", 1536), ("sottovoce.script.js", MOST)],
)
def test_what_each_page_loads(page: str, most: int):
    client = loaded_at_once() if "sottovoce.js" in (FOLDER / page).read_text("utf-8") else []
    assert compressed([FOLDER / page, *client]) < most


def test_there_are_no_run_time_dependencies_and_no_hosts():
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert "dependencies" not in package
    assert "resolved" not in (CLIENT / "package-lock.json").read_text(encoding="utf-8")


def test_the_vectors_cover_the_registry_and_are_those_of_the_package():
    vectors = json.loads((CLIENT / "vectors" / "mechanisms.json").read_text(encoding="utf-8"))
    assert {one["spec"]["name"] for one in vectors} == {*names()}
    assert sum(path.stat().st_size for path in (CLIENT / "vectors").glob("*.json")) < 1_700_000
    from sottovoce.core.coins import SeededCoins

    for one in vectors:
        if "refused" in one:
            continue
        found = Mechanism.from_spec(one["spec"])
        assert found.fingerprint == one["fingerprint"]
        answer = one["answers"][0]
        value = dict(map(tuple, answer)) if found.domain.kind == "sparse" else answer
        assert first_message(found, value, SeededCoins(one["seed"])).hex() == one["messages"][0]


def test_the_quick_files_of_vectors_are_current():
    from scripts import web_vectors

    for name in ("budgets", "wire", "seals", "domains", "kinds", "manifests", "meanings"):
        current = web_vectors.text_of(web_vectors.FILES[name]())
        message = f"Run `python -m scripts.web_vectors {name}`."
        assert (CLIENT / "vectors" / f"{name}.json").read_text(encoding="utf-8") == current, message


@pytest.mark.slow
def test_the_source_builds_exactly_what_is_shipped(built: Path):
    made = {path.name: path.read_bytes() for path in built.iterdir()}
    assert made == {path.name: path.read_bytes() for path in FOLDER.glob("sottovoce*.js")}


@pytest.mark.slow
@pytest.mark.parametrize("command", [["node_modules/.bin/tsc", "--noEmit"], ["node_modules/.bin/vitest", "run"]])
def test_types_and_shared_vectors_in_node(command: list[str], built: Path):
    done = subprocess.run(
        command, cwd=CLIENT, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ, "NO_COLOR": "1"}
    )
    assert done.returncode == 0, done.stdout[-3000:]
