"""What is published: one version, no host of a registry, workflows of `make` targets alone, packages that answer."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import sottovoce as sv
from scripts.version import ROOT, versions

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TARGET = re.compile(r"^make(?: -C source)? ([a-z-]+)((?: [A-Z]+=\S+)*)$")


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    return dict(read(path)["jobs"])


def targets() -> set[str]:
    return set(re.findall(r"^([a-z][a-z-]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))


def test_every_file_says_the_version_of_the_package() -> None:
    assert set(versions().values()) == {sv.__version__}


def test_no_lock_file_names_a_registry() -> None:
    for name in ("clients/web/package-lock.json", "constraints.txt", "deploy/requirements.txt"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"\"resolved\"|registry|index-url|\btgz\b|@ https?://", text), name


def test_workflows_run_make_targets_alone() -> None:
    steps = [step for path in WORKFLOWS for job in jobs(path).values() for step in job["steps"]]
    commands = [step["run"].replace("${{ github.base_ref }}", "main") for step in steps if "run" in step]
    matches = [TARGET.match(command) for command in commands]
    assert all(matches), commands
    assert {match[1] for match in matches if match} <= targets()
    assert all(("run" in step) != ("uses" in step) for step in steps)


def test_tests_run_on_three_pythons_and_two_systems() -> None:
    (quick,) = (job for path in WORKFLOWS for job in jobs(path).values() if "strategy" in job)
    matrix = quick["strategy"]["matrix"]
    assert len(matrix["python"]) == 3 and len(matrix["system"]) == 2


def test_publishing_needs_no_secret_and_one_permission() -> None:
    for path in WORKFLOWS:
        assert "secrets." not in path.read_text(encoding="utf-8")
        assert read(path)["permissions"] == {"contents": "read"}
    publishing = {
        name: job["permissions"] for path in WORKFLOWS for name, job in jobs(path).items() if "environment" in job
    }
    assert publishing == {"python": {"id-token": "write"}, "web": {"id-token": "write"}}


def test_hooks_fetch_nothing() -> None:
    (repository,) = read(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert {hook["language"] for hook in repository["hooks"]} == {"system"}
    called = [hook["entry"].split()[1] for hook in repository["hooks"] if hook["entry"].startswith("make ")]
    assert set(called) <= targets()


def test_forms_for_issues_are_complete() -> None:
    for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        if path.stem != "config":
            form = read(path)
            assert {"name", "description", "body"} <= set(form), path
            assert any(part.get("validations", {}).get("required") for part in form["body"]), path


@pytest.mark.slow
@pytest.mark.xdist_group("wheel")
def test_the_release_is_built_and_answers_from_an_empty_folder(tmp_path: Path) -> None:
    folder = tmp_path / "dist"
    command = [sys.executable, "-m", "scripts.release", "--into", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    names = {path.name for path in folder.iterdir()}
    version = sv.__version__
    assert names == {
        f"sottovoce-{version}-py3-none-any.whl",
        f"sottovoce-{version}.tar.gz",
        f"sottovoce-web-{version}.tgz",
        f"sottovoce-{version}.cdx.json",
        "SHA256SUMS",
    }
    bill = json.loads((folder / f"sottovoce-{version}.cdx.json").read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX" and bill["metadata"]["component"]["version"] == version
    assert {"numpy", "starlette"} <= {one["name"] for one in bill["components"]}
    sums = subprocess.run(["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=folder, capture_output=True)
    assert sums.returncode == 0
