"""`sottovoce answer` with a mechanism that keeps a memo."""

from __future__ import annotations

from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.client.command import main
from sottovoce.client.memo import Memo, Spent
from sottovoce.core.specs import canonical
from tests.client.toys import unary


def test_the_command_keeps_a_memo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec, path, mechanism = tmp_path / "spec.json", tmp_path / "memo", unary()
    spec.write_bytes(canonical(mechanism.spec()))
    for value in ("1", "2"):
        assert main([str(spec), "--value", value, "--memo", str(path), "--lifetime-limit", "5"]) == 0
    out, err = capsys.readouterr()
    assert [len(line) for line in out.split()] == [34, 34]
    assert "2.19722 for all reports of one unchanged value" in err
    assert Memo(path).spent(mechanism) == Spent(2, 2)
    with pytest.raises(sv.PrivacyError, match="give the client a file"):
        main([str(spec), "--value", "1"])
