"""Mechanisms of other distributions, installed into a folder the way an installer does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import sottovoce as sv
from sottovoce.core import plugins, registry
from sottovoce.core.errors import PluginWarning
from sottovoce.core.question import Frequency, Mean

BUILDERS = '''
from sottovoce.core.channel import Subset
from sottovoce.core.mechanism import Mechanism
from sottovoce.core.params import check_epsilon
from sottovoce.core.question import Frequency
from sottovoce.core.arithmetic.rational import floor_unit, odds
from sottovoce.core.statistic.outputs import CountOutputs
from sottovoce.mechanisms.frequency.common import categories
from sottovoce.mechanisms.mean import bernoulli


def build(domain, *, epsilon, factor=1):
    """Randomized response of somebody else."""
    if factor == 7:
        raise RuntimeError("the answer was 'owl'")
    budget = check_epsilon("their-rr", epsilon)
    k = categories("their-rr", domain, 100)
    e = odds(budget)
    keep = floor_unit(e / (e + k - 1))
    return Mechanism("their-rr", Frequency(domain), Subset(k, 1, keep), budget, CountOutputs())


def mean(domain, *, epsilon):
    """A mean of somebody else."""
    from dataclasses import replace
    return replace(bernoulli.build(domain, epsilon=epsilon), name="their-mean")


def wasteful(domain, *, epsilon):
    """Half of the budget."""
    from dataclasses import replace
    return replace(build(domain, epsilon=epsilon / 2 if isinstance(epsilon, int) else str(float(epsilon) / 2)),
                   name="wasteful", claimed=check_epsilon("wasteful", epsilon))


def other_name(domain, *, epsilon):
    return build(domain, epsilon=epsilon)


def raises(domain, *, epsilon):
    raise KeyError("owl")


not_a_function = 7
'''
GOOD = "their-rr = their_package:build\ntheir-mean = their_package:mean\n"
BROKEN = """
no-module = there_is_no_such_package:build
no-function = their_package:nothing
number = their_package:not_a_function
other-name = their_package:other_name
raises = their_package:raises
grr = their_package:build
g-rr = their_package:build
Their_RR = their_package:build
"""


def install(folder: Path, name: str, entries: str, modules: dict[str, str] | None = None) -> None:
    """A distribution, as an installer leaves it in a folder: modules and metadata."""
    folder.mkdir(exist_ok=True)
    for module, text in (modules or {}).items():
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
    metadata = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[sottovoce.mechanisms]\n{entries}", encoding="utf-8")


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the path with a distribution of two mechanisms."""
    folder = tmp_path / "site"
    install(folder, "their-distribution", GOOD, {"their_package": BUILDERS})
    use(folder, monkeypatch)
    return folder


def use(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "their_package", raising=False)
    installed = getattr(plugins.installed, "__wrapped__", plugins.installed)  # without what other tests have found
    monkeypatch.setattr(plugins, "installed", installed)


def command(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """The command line in a process of its own, with the folder on its path."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "120"}
    line = [sys.executable, "-m", "sottovoce", *arguments]
    done = subprocess.run(line, capture_output=True, text=True, env=environment, cwd=folder, timeout=600)
    return done.returncode, done.stdout, done.stderr


def test_their_mechanisms_are_listed_by_question_after_ours(theirs: Path) -> None:
    assert sv.names()[-2:] == ["their-mean", "their-rr"]
    assert sv.names()[:-2] == list(registry.BUILDERS)
    assert sv.names(Frequency)[-1] == "their-rr" and sv.names(Mean)[-1] == "their-mean"
    assert "their-rr" not in sv.names(Mean)


def test_theirs_is_built_audited_and_estimated_like_ours(theirs: Path) -> None:
    m = sv.mechanism("their-rr", sv.Categories(["a", "b", "c"]), epsilon=1)
    certificate = sv.audit(m)
    assert certificate.ok and certificate.waste is None and certificate.name == "their-rr"
    estimate = m.estimate(m.tally(m.privatize(["a"] * 3000 + ["b"] * 1000, seed=1)))
    assert abs(estimate.values[0] - 0.75) < 8 * estimate.std_errors[0]
    assert sv.mechanism("THEIR_RR", sv.Integers(0, 3), epsilon=1).name == "their-rr"
    with pytest.raises(sv.ParameterError, match=r"no such parameter\. Known: epsilon, factor"):
        sv.mechanism("their-rr", sv.Integers(0, 3), epsilon=1, w=3)


def test_a_specification_of_theirs_is_read_where_they_are_not_installed(
    theirs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = sv.mechanism("their-rr", sv.Categories(["a", "b", "c"]), epsilon=1).spec()
    monkeypatch.setattr(plugins, "installed", None)  # a device asks nobody
    assert len(sv.Client.from_spec(json.dumps(spec), limit=1).report("a")) == 17


def test_the_planner_knows_theirs(theirs: Path) -> None:
    shares = sv.plan(sv.Frequency(sv.Integers(0, 3)), epsilon=1, participants=1000)
    by_name = {option.method: option for option in shares.options}
    assert by_name["their-rr"].std_error == by_name["grr"].std_error
    mean = sv.plan(sv.Mean(sv.Interval(0, 1)), epsilon=1, participants=1000, methods=["their-mean", "bernoulli"])
    assert {option.method for option in mean.options} == {"their-mean", "bernoulli"}


def test_an_error_of_theirs_is_one_sentence_without_their_words(theirs: Path) -> None:
    with pytest.raises(sv.ParameterError) as caught:
        sv.mechanism("their-rr", sv.Integers(0, 3), epsilon=1, factor=7)
    said = "The mechanism 'their-rr' of the distribution 'their-distribution' failed: RuntimeError."
    assert str(caught.value) == said and caught.value.__suppress_context__


def test_broken_ones_are_left_out_with_one_sentence_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path / "site", "broken-distribution", BROKEN + GOOD, {"their_package": BUILDERS})
    use(tmp_path / "site", monkeypatch)
    with pytest.warns(PluginWarning) as caught:
        assert sv.names() == [*registry.BUILDERS, "their-mean", "their-rr"]
    said = {str(warning.message) for warning in caught}
    start = "The mechanism {!r} of the distribution 'broken-distribution' "
    expected = {
        "no-module": "cannot be loaded (ModuleNotFoundError)",
        "no-function": "cannot be loaded (AttributeError)",
        "number": "cannot be loaded (TypeError)",
        "other-name": "builds no mechanism of that name for any of the domains that were tried",
        "raises": "builds no mechanism of that name for any of the domains that were tried (KeyError)",
        "grr": "has a name that is already taken",
        "g-rr": "has a name that is already taken",
        "Their_RR": "has a name that is not made of lower-case letters, digits and hyphens",
    }
    assert said == {f"{start.format(name)}{problem}, so it is left out." for name, problem in expected.items()}
    with pytest.warns(PluginWarning), pytest.raises(sv.ParameterError, match="no mechanism of this name"):
        sv.mechanism("raises", sv.Integers(0, 3), epsilon=1)


def test_ours_are_built_without_looking_at_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "installed", None)
    for name in ("grr", "k-rr"):
        assert sv.mechanism(name, sv.Integers(0, 3), epsilon=1).name == "grr"


def test_of_two_with_one_name_the_first_distribution_has_it(
    theirs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path / "more", "another-distribution", "their-rr = their_package:build\n")
    use(tmp_path / "more", monkeypatch)
    with pytest.warns(PluginWarning, match="'their-distribution' has a name that is already taken"):
        assert sv.names().count("their-rr") == 1


# --- the command line ----------------------------------------------------------------------------------------
@pytest.mark.slow
def test_the_command_line_knows_theirs(tmp_path: Path) -> None:
    folder = tmp_path / "site"
    entries = f"{GOOD}wasteful = their_package:wasteful\nbad = there_is_no_such_package:build\n"
    install(folder, "their-distribution", entries, {"their_package": BUILDERS})
    sentence = (
        "sottovoce: The mechanism 'bad' of the distribution 'their-distribution' cannot be loaded"
        " (ModuleNotFoundError), so it is left out.\n"
    )
    code, out, err = command(folder, "methods")
    assert (code, err) == (0, sentence)
    assert "Randomized response of somebody else." in out and "A mean of somebody else." in out
    code, out, err = command(folder, "audit", "--name", "their-rr")
    assert (code, err) == (0, sentence) and "their-rr  16" in out and "NO" not in out
    code, out, _ = command(folder, "audit", "--name", "wasteful")
    assert code == 1 and "wasteful: It loses epsilon 0.5 of the 1 claimed" in out
    (folder / "people.csv").write_text("bird\nlark\nowl\n", encoding="utf-8")
    line = "privatize people.csv --column bird --method their-rr --epsilon 1 --categories lark,owl -o reports.parquet"
    code, out, err = command(folder, *line.split())
    assert code == 0 and "2 reports through their-rr, epsilon 1 each." in err
    code, out, err = command(folder, "estimate", "reports.parquet")
    assert code == 0 and "2 reports through their-rr" in out
