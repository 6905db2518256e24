"""A collector that is killed under load loses nothing that it acknowledged, and counts nothing twice."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from sottovoce.cli import main
from sottovoce.cli.collector.fragile import CHANGE, WAVE

KILLS = 5


@pytest.mark.slow
def test_kills_under_load(place: str) -> None:
    store = ["--store", place] if place.startswith("postgresql") else []
    # In a process of its own: the server that forks its collectors belongs to the process that started it.
    command = [sys.executable, "-m", "sottovoce", "chaos", "--kills", str(KILLS), "--json", *store]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert (found["kills"], found["lost"], found["double"]) == (KILLS, 0, 0)
    assert found["acknowledged"] >= 100 and found["counts_agree"] and found["store_agrees"]
    assert sum(found["killed"].values()) == KILLS
    assert sum(found["killed"].get(point, 0) for point in CHANGE) == 2 and found["studies"] == 4
    assert sum(found["killed"].get(point, 0) for point in WAVE) == 1
    assert found["refused_by_full_disk"] >= 1 and found["rounds"] >= 5


@pytest.mark.slow
def test_the_demo_over_http(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--collector", "--participants", "1000", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["states"] == {"accepted": 1000} and len(found["rows"]) == 4
    assert sum(row["n"] for row in found["rows"][2:]) == 1000
    for row in found["rows"]:
        half = (row["high"] - row["low"]) / 2
        assert abs(row["estimate"] - row["truth"]) < 3 * half  # six standard errors
