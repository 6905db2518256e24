"""The structure of the package: each count of `scripts.structure` has a ceiling, and ceilings only fall."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from scripts import structure
from scripts.structure import COUNTS, ROOT, Package, ceilings, exceeded


@pytest.fixture(scope="module")
def package() -> Package:
    return Package.of(ROOT)


@pytest.mark.parametrize("name", COUNTS)
def test_no_count_exceeds_its_ceiling(package: Package, name: str) -> None:
    fault = exceeded(name, COUNTS[name](package), ceilings()[name])
    assert fault is None, fault


def written(root: Path, **modules: str) -> Package:
    """A package of these modules, of which two underscores in a name stand for a folder."""
    channel = "class Channel:\n    def sample(self): ...\n\n\nclass Bits(Channel): ...\n"
    for name, text in {"core__channel__base": channel, **modules}.items():
        file = root / "src" / "sottovoce" / f"{name.replace('__', '/')}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return Package.of(root)


BAD = {
    "checks of channel nodes outside their rooms": {
        "tally__a": "isinstance(x, (int, Bits))\nisinstance(x, Channel)",
        "fast__a": "type(x) is Bits",
    },
    "checks of domains outside their room": {"core__domain__a": "class Text: ...", "tally__a": "isinstance(x, Text)"},
    "checks of questions outside their room": {
        "core__question__a": "class Mean: ...",
        "study__a": "isinstance(x, Mean)",
    },
    "comparisons with names of questions or statistics": {"study__a": "if asked.kind == 'group-mean': ..."},
    "late loads": {"cli__a": "load('study.plan:plan')\nlate.load(name)\njson.load(file)"},
    "late loads that hide a cycle inside a room": {
        "estimate__a": "def f():\n    return load('estimate.b:g')",
        "estimate__b": "from sottovoce.estimate.c import h",
        "estimate__c": "from sottovoce.estimate import a",
        "estimate__d": "load('estimate.e:g')",
        "estimate__e": "if TYPE_CHECKING:\n    from sottovoce.estimate import d",
    },
    "upward loads in strings": {"tally__a": "load('estimate.b:c')"},
    "members of Channel": {},
    "class names used twice": {"study__a": "class Bits: ..."},
    "functions written twice": {
        "study__a": "def f(x):\n    y = [one + 2 for one in x if one]\n    return sum(y) / len(y)",
        "tally__a": "def g(x):\n    'Text.'\n    y = [one + 2 for one in x if one]\n    return sum(y) / len(y)",
        "tally__b": "def h(x):\n    return x\n\n\ndef i(x):\n    return x",
    },
    "functions alike but for names": {
        "study__a": "def f(x):\n    y = [one + 2 for one in x if one]\n    return sum(y) / len(y)",
        "tally__a": "def g(a):\n    b = [each + 2 for each in a if each]\n    return sum(b) / len(b)",
        "tally__b": "def h(a):\n    b = [each + 3 for each in a if each]\n    return sum(b) / len(b)",
    },
    "functions that only forward to a part": {
        "study__a": "class A:\n    @property\n    def a(self):\n        return self.b.a\n"
        "    @property\n    def c(self):\n        'Text.'\n        return self.b.c\n"
        "    def d(self, x):\n        return self.b.d(1)",
    },
    "constants written as properties": {
        "study__a": "class A:\n    @property\n    def a(self):\n        return B\n"
        "    @property\n    def b(self):\n        return self.c\n"
        "    @property\n    def c(self):\n        'Text.'\n        return 1",
    },
    "lines of src": {"study__a": "x = 1\n"},
    "lines of the longest module": {"study__a": "x = 1\n" * 10},
}
EXPECTED = {"checks of channel nodes outside their rooms": 2, "late loads": 2, "lines of src": 6}
EXPECTED |= {"lines of the longest module": 10}


@pytest.mark.parametrize("name", COUNTS)
def test_each_count_sees_what_it_counts(name: str, tmp_path: Path) -> None:
    counts = COUNTS[name](written(tmp_path, **BAD[name]))
    assert counts.total() == EXPECTED.get(name, 1), counts


def test_the_failure_says_where() -> None:
    said = exceeded("late loads", Counter({"cli/a.py": 3, "study/b.py": 1}), 3)
    assert said == "late loads: 4, above the ceiling of 3: cli/a.py 3, study/b.py 1."
    assert exceeded("late loads", Counter({"cli/a.py": 3}), 3) is None


def test_ceilings_only_fall(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, cli__a="load('study.plan:plan')")
    file = tmp_path / "ceilings.json"
    file.write_text(json.dumps({**dict.fromkeys(COUNTS, 0), "late loads": 5}), encoding="utf-8")
    monkeypatch.setattr(structure, "CEILINGS", file)
    structure.main(tmp_path, lower=False)
    assert ceilings()["late loads"] == 5
    structure.main(tmp_path, lower=True)
    assert ceilings() == {**dict.fromkeys(COUNTS, 0), "late loads": 1}
    assert "late loads: 1 (ceiling 5)" in capsys.readouterr().out
