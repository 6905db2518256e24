"""`sottovoce compare`: the numbers of `sv.compare`, as a table, JSON and CSV."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sottovoce as sv
from tests.cli.test_files import call


def test_the_command_prints_what_the_function_computes(tmp_path: Path) -> None:
    mechanism = sv.mechanism("grr", sv.Categories(["yes", "no"]), epsilon=2)
    tallies = [sv.simulate_counts(mechanism, counts, seed=1) for counts in ([600, 400], [500, 500])]
    paths = [tmp_path / "new.tally", tmp_path / "old.tally"]
    for path, tally in zip(paths, tallies, strict=True):
        path.write_bytes(tally.to_bytes())
    expected = sv.compare(*(mechanism.estimate(tally) for tally in tallies))
    told = json.loads(call("compare", *paths, "--json").out)
    assert told["rows"][0]["difference"] == pytest.approx(expected.values[0])
    assert told["rows"][0]["p_value"] == pytest.approx(expected.p_values[0])
    assert told["overall"]["simulation"] and told["overall"]["degrees"] == 1
    table = call("compare", *paths)
    assert table.code == 0 and b"nobody is in both samples" in table.out and b"adjusted" in table.out
    assert call("compare", *paths, "--csv").out.count(b"\n") == 3
    assert call("compare", *paths, "--json", "--csv").code == 2
    assert "one of holm, bonferroni, fdr" in call("compare", *paths, "--correction", "none").err
