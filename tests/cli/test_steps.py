"""Planning shows its steps on a terminal, and nowhere else."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

import sottovoce as sv
from sottovoce.cli import main
from sottovoce.study.study_plan import plan_study

STUDY = """\
[study]
name = "short"
owner = "Institute"
contact = "privacy@example.org"
purpose = "A test."
unit = "person"
epsilon = "1"

[questions.smoker]
ask = "frequency"
text = "Do you smoke?"
categories = ["yes", "no"]
"""


@pytest.fixture
def on_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a command writes to standard error, if that is a terminal."""
    (tmp_path / "short.toml").write_text(STUDY)
    monkeypatch.setenv("TERM", "xterm")
    for name in ("NO_COLOR", "CI"):
        monkeypatch.delenv(name, raising=False)

    def run(*options: str) -> str:
        ours, theirs = pty.openpty()
        with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
            monkeypatch.setattr(sys, "stderr", terminal)
            assert main(["plan", str(tmp_path / "short.toml"), "--participants", "100", *options]) == 0
            terminal.write("done")
            terminal.flush()
            found = b""
            while b"done" not in found:
                found += os.read(ours, 4096)
        os.close(ours)
        return found.decode()

    return run


def test_a_terminal_sees_the_steps_of_a_plan(on_terminal):
    assert "planning" in on_terminal()
    assert on_terminal("--json") == "done"


def test_a_pipe_sees_nothing(tmp_path, capsys):
    (tmp_path / "short.toml").write_text(STUDY)
    assert main(["plan", str(tmp_path / "short.toml"), "--participants", "100"]) == 0
    assert capsys.readouterr().err == ""


def test_a_plan_tells_its_steps():
    told: list[str] = []
    about = {"unit": "person", "owner": "o", "contact": "a@b.org", "purpose": "p"}
    study = sv.Study("short", epsilon=1, **about, questions={"smoker": sv.Frequency(sv.Categories(["yes", "no"]))})
    plan_study(study, 100, tell=told.append)
    assert told[0] == "planning smoker at epsilon 1" and told[-1] == "planning smoker at epsilon 1.5"
