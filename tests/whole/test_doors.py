"""The three doors of the README and the survey from end to end, from an empty folder, as a newcomer types them."""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE
from tests.whole.test_first_hour import agrees, steps

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SURVEY = (ROOT / "docs" / "study" / "run-a-survey.md").read_text(encoding="utf-8")
SECONDS = 60  # of processor time for a door, with a warm cache
# Participants of the survey, through the client, until the collector has counted them.
CROWD = """
import sys
from sottovoce.client.participant import Participant
from sottovoce.client.tick import Untimed
from sottovoce.client.transport import HttpTransport, fetch_manifest
manifest, url = fetch_manifest(sys.argv[1], HttpTransport())
for number in range(40):
    smoker = ["daily", "never", "sometimes", "never"][number % 4] if "sleep-2027" in manifest.facts.name else "no"
    answers = {"smoker": smoker, "hours": 6 + number % 3}
    assert Participant(None, tick=Untimed()).answer(manifest, answers, url=url).state == "accepted"
"""


def section(title: str) -> str:
    """A section of the README."""
    return README.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def spent() -> float:
    """Processor seconds of the commands so far: what a quiet machine would take."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@pytest.fixture
def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "COLUMNS": "100", "MPLBACKEND": "agg"}


def run(command: str, folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        input="\n" * 9,
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stderr + done.stdout


def served(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Start a collector, let people answer, and stop it as Ctrl+C does; what it printed."""
    command = f"{command.partition('#')[0].strip()} --port 0"
    process = subprocess.Popen(["bash", "-c", f"exec {command}"], cwd=folder, env=environment, stdout=subprocess.PIPE)
    assert process.stdout is not None
    try:
        line = process.stdout.readline().decode()
        addresses = json.loads(line)
        subprocess.run([sys.executable, "-c", CROWD, addresses["url"]], check=True, env=environment, cwd=folder)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE)
        process.stdout.close()
    return re.sub(r":\d{4,5}/", ":8000/", line)


def walked(text: str, folder: Path, environment: dict[str, str]) -> None:
    """Write the files that a text shows, run its commands and examples in order, and compare what they print."""
    for name, content in re.findall(r"^```toml\n# (\S+\.toml)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        (folder / name).write_text(content, encoding="utf-8")
    for kind, body, shown in steps(text):
        if kind == "python":
            printed = run(f"{sys.executable} - <<'PYTHON'\n{body}\nPYTHON", folder, environment)
        elif body.startswith("pip install"):
            continue  # done by `make setup`
        elif body.startswith("sottovoce serve"):
            printed = served(body, folder, environment)
        else:
            printed = run(body, folder, environment)
        assert not shown or agrees(shown, printed), (body, printed)


@pytest.mark.slow
def test_the_door_to_a_survey_is_five_commands(tmp_path: Path, environment: dict[str, str]) -> None:
    text, begin = section("Run a survey"), spent()
    assert sum(kind == "console" for kind, _, _ in steps(text)) == 5
    walked(text, tmp_path, environment)
    assert {"estimates.csv", "publication.md"} <= {path.name for path in (tmp_path / "results").iterdir()}
    assert spent() - begin < SECONDS


@pytest.mark.slow
def test_the_doors_to_telemetry_and_to_methods_are_ten_lines(tmp_path: Path, environment: dict[str, str]) -> None:
    begin, told = spent(), ""
    for title in ("Collect telemetry", "Compare methods"):
        ((body, shown),) = [(body, shown) for kind, body, shown in steps(section(title)) if kind == "python"]
        assert len([line for line in body.splitlines() if line]) <= 10
        quiet = f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    exec({told!r})\n"
        assert run(f"{sys.executable} - <<'PYTHON'\n{quiet}{body}\nPYTHON", tmp_path, environment) == shown
        told += body
    reproduce = re.findall(r"`(sottovoce reproduce [^`]+)`", section("Compare methods"))
    assert "12 of 12 cells are stable" in run(reproduce[0], tmp_path, environment)
    assert spent() - begin < 2 * SECONDS


@pytest.mark.slow
def test_the_survey_from_end_to_end_is_what_its_page_says(tmp_path: Path, environment: dict[str, str]) -> None:
    walked(SURVEY, tmp_path, environment)
    for place in ("dossier/index.html", "rehearsal/estimates.csv", "results/publication.md", "smokers.svg"):
        assert (tmp_path / place).stat().st_size > 0
