"""Published parameters as options of the command line: epsilon is computed from them and shown."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from sottovoce.cli import main
from tests.each import for_each

DOMAIN = ("--low", "0", "--high", "5", "--whole")


@for_each(
    "method,options,epsilon",
    [
        ("basic-rappor", ["f=0.5", "p=0.75", "q=0.5"], math.log(77 / 45)),
        ("olh", ["g=5", "p=0.5"], math.log(4)),
        ("general-wave", ["wave=1,2,3,2,1"], math.log(3)),
    ],
)
def test_epsilon_follows_from_options(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, method: str, options: list[str], epsilon: float
) -> None:
    answers, reports, spec = (tmp_path / name for name in ("answers.csv", "reports.csv", "spec.json"))
    answers.write_text("v\n" + "3\n1\n" * 20)
    listed = [part for one in options for part in ("--option", one)]
    about = ["--column", "v", *DOMAIN, "--method", method, *listed, "-o", str(reports), "--write-spec", str(spec)]
    code = main(["privatize", str(answers), *about, "--force"])
    err = capsys.readouterr().err
    assert code == 0, err
    assert f"40 reports through {method}, epsilon {epsilon:.6g} each" in err
    assert float(json.loads(spec.read_text())["epsilon"]) == pytest.approx(epsilon, abs=2e-9)
