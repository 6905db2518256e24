"""The fuzzers of `make fuzz`, for some seconds each."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.fuzz.routes import run, target
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow


def test_the_collector_keeps_to_its_description(tmp_path: Path) -> None:
    with target(tmp_path) as app:
        assert run(app, 12) > 80
        assert app.collector.writer.is_well
        plain, sealed = app.collector.studies.values()
        assert plain.reports > 0 and sealed.reports > 0  # some requests reach the store


def test_no_bytes_break_the_decoder_of_batches(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    command = [sys.executable, "-m", "scripts.fuzz.decoder", "--minutes", "0.1", "--seeds", str(tmp_path)]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False, timeout=PATIENCE
    )
    assert done.returncode == 0 and "Done " in done.stderr, done.stderr[-2000:]
