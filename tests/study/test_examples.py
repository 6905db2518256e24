"""The example studies of the repository: each planned, simulated, exported and documented."""

import warnings

import pytest

import sottovoce as sv
from scripts.examples import ROOT, STUDIES, run
from sottovoce.study.reading import parse_study

pytestmark = pytest.mark.slow


def test_every_example_has_participants():
    assert {path.stem for path in (ROOT / "examples").glob("*.toml")} == {*STUDIES}
    for path in (ROOT / "examples").glob("*.toml"):
        assert parse_study(path.read_bytes())[1] == []


@pytest.mark.parametrize("name", STUDIES)
def test_examples(name, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sv.PoorIntervalWarning)
        plan, frame = run(name, tmp_path)
    known = frame.dropna(subset=["truth", "std_error"])  # ratios have intervals, but no standard errors
    assert len(known) >= 4
    # Six standard errors: fails once in half a billion numbers.
    assert ((known["estimate"] - known["truth"]).abs() <= 6 * known["std_error"]).all()
    assert (tmp_path / "export" / "estimates.dta").stat().st_size > 1000
    assert (tmp_path / "dossier" / "index.html").exists()
    assert plan.study.name == name
