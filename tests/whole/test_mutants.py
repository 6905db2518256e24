"""The mutation command: operators do what they say, tests are selected by lines, justifications match by text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from scripts.mutants import __main__ as program
from scripts.mutants.cover import Cover, Traced, _part, _together
from scripts.mutants.graph import read_graph
from scripts.mutants.operators import OPERATORS, Mutant, mutants
from scripts.mutants.report import QUICK, SURVIVED, Justification, Result, Verdict, read_justifications
from scripts.mutants.sample import files, is_critical, room, sample, weights
from scripts.mutants.trees import Outcome, Tree
from tests.each import for_each

ROOT = Path(__file__).resolve().parents[2]


def changed(source: str, operator: str) -> set[str]:
    """The body of `f` after each change of one operator."""
    text = f"def f(a, b, c):\n    {source}\n"
    found = (
        mutant.apply(text).splitlines()[1].strip() for mutant in mutants(text, "f.py") if mutant.operator == operator
    )
    return set(found)


@for_each(
    "source,operator,expected",
    [
        ("return a < b", "comparison", {"return (a <= b)"}),
        ("return a <= b == c", "comparison", {"return (a < b == c)", "return (a <= b != c)"}),
        ("return a not in b", "comparison", {"return (a in b)"}),
        ("return a * (b - c)", "arithmetic", {"return (a + (b - c))", "return a * ((b + c))"}),
        ("return a >> b", "arithmetic", {"return (a << b)"}),
        ("return -a", "arithmetic", {"return (a)"}),
        ("a += b", "arithmetic", {"a -= b"}),
        ("return [a] + b", "arithmetic", set()),
        ("return a[2]", "off-by-one", {"return a[(3)]"}),
        ("return len(a)", "off-by-one", {"return (len(a) - 1)"}),
        ("return range(a, b)", "off-by-one", {"return (range(a, b - 1))"}),
        ("return True", "off-by-one", set()),
        ("return max(a, b)", "min-max", {"return (min(a, b))"}),
        ("return np.minimum(a, b)", "min-max", {"return (np.maximum(a, b))"}),
        ("return any(a)", "min-max", {"return (all(a))"}),
        ("return a + b", "dropped-term", {"return (a)", "return (b)"}),
        ("return a / b", "dropped-term", {"return (a)"}),
        (
            "return a and b or c",
            "dropped-term",
            {"return (b) or c", "return (a) or c", "return (c)", "return (a and b)"},
        ),
        ("return max(a, b)", "dropped-term", {"return (a)", "return (b)"}),
        ("a += b", "dropped-term", {"pass"}),
        ("if a > b: raise ValueError(1 + 2)", "dropped-check", {"if False: raise ValueError(1 + 2)"}),
        ("check(a)", "dropped-check", {"pass"}),
        ("return [x for x in a if x]", "dropped-check", {"return ([x for x in a])"}),
        ("if a > b: return 0", "swapped-branch", {"if (not a > b): return 0"}),
        ("return a if b else c", "swapped-branch", {"return (c if b else a)"}),
        ("return not a", "swapped-branch", {"return (a)"}),
    ],
)
def test_operators_change_one_thing(source: str, operator: str, expected: set[str]) -> None:
    assert changed(source, operator) == expected


def test_text_for_people_is_left_alone() -> None:
    source = dedent(
        '''
        def f(a: int = 1 + 1) -> int | None:
            """A docstring of 1 + 1."""
            raise ValueError(f"{a + 1}", 2 + 2)

        def __repr__(self):
            return 1 + 1

        CHOSEN = 1 << 10
        '''
    )
    assert mutants(source, "f.py") == []
    assert [m.original for m in mutants("HALF = UNIT // 2\n", "f.py")] == ["UNIT // 2", "2"]


@for_each(
    "source,operator,drawn",
    [
        ("return abs(a - b) < 1e-09", "comparison", 0),
        ("return abs(a - b) < -1e-09", "comparison", 0),
        ("return abs(a - b) < 1e-09 * c", "comparison", 1),
        ("return a < 0.5", "comparison", 1),
        ("return a < 1e-9 < b", "comparison", 2),
        ("return a == 1e-9", "comparison", 1),
        ("return a > 2 * math.log(b) / c", "comparison", 0),
        ("return a > np.sqrt(log(b) / c)", "comparison", 0),
        ("return a > np.sqrt(b)", "comparison", 1),
        ("return a > log(b) + c", "comparison", 1),
        ("for _ in range(50):\n        if a: break", "off-by-one", 0),
        ("for _ in range(TURNS):\n        if a: return b", "off-by-one", 0),
        ("for _ in range(9):\n        if a: break", "off-by-one", 2),
        ("for _ in range(50): b(a)", "off-by-one", 2),
        ("for _ in range(50):\n        while a: break", "off-by-one", 2),
        ("for _ in range(a):\n        if a: break", "off-by-one", 1),
        ("for n in range(50):\n        if a: break", "off-by-one", 2),
        ("if not isinstance(a, B): raise TypeError('No.')", "dropped-check", 0),
        ("if not isinstance(a, B): raise TypeError('No.')", "swapped-branch", 1),
        ("if not isinstance(a, B): raise ParameterError('No.')", "dropped-check", 1),
        ("if not a: raise TypeError('No.')", "dropped-check", 1),
        ("return max(1, CHUNK // (a * b))", None, 0),
        ("return max(1, _CHUNK_BYTES // a)", None, 0),
        ("return max(2, CHUNK // a)", "min-max", 1),
        ("return range(0, a, CHUNK)", "off-by-one", 2),
    ],
)
def test_changes_that_nobody_could_see_are_not_drawn(source: str, operator: str | None, drawn: int) -> None:
    """By rules of form; the same form with one thing else is drawn."""
    found = mutants(f"def f(a, b, c):\n    {source}\n", "f.py")
    assert len([one for one in found if operator in (one.operator, None)]) == drawn


@for_each(
    "source,operator,drawn",
    [
        ("SMALL = 1e-9\ndef f(a):\n    return a < SMALL", "comparison", 0),
        ("BORDER = log((2 * X) / 27)\ndef f(a):\n    return a <= BORDER", "comparison", 0),
        ("BORDER = 0.5\ndef f(a):\n    return a <= BORDER", "comparison", 1),
        ("def f(a, b):\n    for _ in range(60): c = (a + b) / 2", "off-by-one", 1),  # of the 2, not of the turns
        ("N = 60\ndef f(a, b):\n    for _ in range(N): c = (a + b) / 2", "off-by-one", 1),
        ("def f(a, b):\n    for _ in range(40): c = (a + b) / 2", "off-by-one", 3),
        ("def f(a, b):\n    for _ in range(60): a = a / 2", "off-by-one", 3),
        ("def foreign(a):\n    return [1 << 80]", "off-by-one", 1),
        ("def strange(a):\n    return [1 << 80]", "off-by-one", 2),
    ],
)
def test_changes_that_constants_of_a_module_hide_are_not_drawn(source: str, operator: str, drawn: int) -> None:
    assert len([one for one in mutants(source + "\n", "f.py") if one.operator == operator]) == drawn


def test_constants_of_an_estimate_of_work_are_not_moved_by_one() -> None:
    source = "def {}(a):\n    return 64 * a\n"
    assert [m.operator for m in mutants(source.format("effort"), "f.py")] == [
        "arithmetic",
        "dropped-term",
        "dropped-term",
    ]
    assert "off-by-one" in {m.operator for m in mutants(source.format("efforts"), "f.py")}


def test_a_change_over_several_lines_leaves_the_rest() -> None:
    source = "def f(a, b):\n    c = (a +\n         b)\n    return 'ä' if c else max(a, b)\n"
    (swapped,) = (mutant for mutant in mutants(source, "f.py") if mutant.operator == "swapped-branch")
    assert swapped.lines == (4, 4)
    assert swapped.apply(source).endswith("    return (max(a, b) if c else 'ä')\n")
    longer = next(mutant for mutant in mutants(source, "f.py") if mutant.mutated == "(a - b)")
    assert longer.apply(source) == source.replace("a +\n         b", "(a - b)")
    assert longer.lines == (2, 3)


def test_equal_changes_of_one_function_are_told_apart() -> None:
    found = mutants("def f(a):\n    return a[0], a[0]\n", "f.py")
    assert [m.occurrence for m in found] == [0, 1]
    assert len({m.name for m in found}) == 2


def test_a_sample_is_repeatable_and_spread_over_rooms_and_operators() -> None:
    chosen, again, others = (sample(ROOT, count=40, seed=seed, only="/ba") for seed in (1, 1, 2))
    assert chosen == again != others
    assert len({mutant.name for mutant in chosen}) == 40
    assert {mutant.operator for mutant in chosen} == set(OPERATORS)
    assert {room(mutant.file) for mutant in chosen} == {"core", "estimate", "fast", "mechanisms"}


def test_code_that_did_not_change_keeps_its_place_in_the_sample(tmp_path: Path) -> None:
    """A new function takes a few places, and no others are drawn anew; lines may move."""
    for number, name in enumerate(("core/a.py", "core/b.py", "tally/c.py")):
        (tmp_path / "src/sottovoce" / name).parent.mkdir(parents=True, exist_ok=True)
        functions = [f"def f{n}(a, b):\n    return max(a, b) - {n + number} if a < b else a * b\n" for n in range(20)]
        (tmp_path / "src/sottovoce" / name).write_text("\n".join(functions), encoding="utf-8")
    before, another = ({m.name for m in sample(tmp_path, count=60, seed=seed)} for seed in (1, 2))
    changed = tmp_path / "src/sottovoce/core/b.py"
    new = "def new(a, b):\n    return min(a, b) + 1 if a else b - a\n\n\n"
    changed.write_text(new + changed.read_text(encoding="utf-8"), encoding="utf-8")
    after = {m.name for m in sample(tmp_path, count=60, seed=1)}
    assert len(after) == 60 and len(before - after) <= 4
    assert {name.split("|")[1] for name in after - before} == {"new"}
    assert len(before & another) < 30


def test_rooms_and_files_weigh_the_root_of_their_size_critical_files_three_times() -> None:
    critical, other, third = "estimate/estimate.py", "estimate/prior.py", "tally/tally.py"
    made = {(critical, "arithmetic"): 2, (critical, "min-max"): 2, (other, "arithmetic"): 9, (third, "min-max"): 4}
    found = [
        replace(mutant(f"src/sottovoce/{file}", line), operator=operator)
        for (file, operator), size in made.items()
        for line in range(size)
    ]
    one = {(file.removeprefix("src/sottovoce/"), operator): w for (file, operator), w in weights(found).items()}
    total = {pool: one[pool] * size for pool, size in made.items()}
    of_file = {file: sum(w for pool, w in total.items() if pool[0] == file) for file in (critical, other, third)}
    assert total[critical, "arithmetic"] == total[critical, "min-max"]
    assert of_file[critical] / of_file[other] == pytest.approx(3 * 2 / 3)
    assert (of_file[critical] + of_file[other]) / of_file[third] == pytest.approx((13 / 4) ** 0.5)


def test_files_that_decide_privacy_are_mutated_and_studies_are_not() -> None:
    names = files(ROOT)
    assert {"src/sottovoce/core/coins.py", "src/sottovoce/client/client.py"} <= {n for n in names if is_critical(n)}
    assert "src/sottovoce/estimate/prior.py" in names and not any(name.startswith("experiments/") for name in names)


# --- selection ------------------------------------------------------------------------------------------------------
def package(folder: Path) -> Path:
    room = folder / "src" / "sottovoce"
    room.mkdir(parents=True)
    (room / "kernel.py").write_text(
        dedent(
            """
            from numba import njit
            UNIT = 8
            HALF = UNIT // 2

            @njit
            def inner(x):
                return x + HALF

            @njit(cache=True)
            def outer(x):
                return inner(x)

            def plain(x):
                return outer(x)

            def other(x):
                return x
            """
        )
    )
    (folder / "tests").mkdir()
    (folder / "tests" / "test_kernel.py").write_text(
        "from sottovoce.kernel import HALF, inner as one, outer, plain\n\n"
        "def test_one():\n    one(1)\n\ndef test_outer():\n    outer(HALF)\n\ndef test_plain():\n    plain(1)\n"
    )
    (room / "user.py").write_text("from sottovoce.kernel import outer as kernel\n\ndef use(x):\n    return kernel(x)\n")
    return folder


def test_lines_of_kernels_are_found_through_those_who_call_them(tmp_path: Path) -> None:
    graph = read_graph(package(tmp_path))
    kernel, user = "src/sottovoce/kernel.py", "src/sottovoce/user.py"
    for line in (4, 8, 12):  # the constant, the inner and the outer kernel
        around = graph.around(kernel, line)
        assert around is not None and around.hidden
        assert graph.entries(around) == {(kernel, 15), (user, 4)}
        assert graph.stale(around) == {kernel}
    plain = graph.around(kernel, 15)
    assert plain is not None and not plain.hidden and graph.stale(plain) == set()


def test_a_test_that_calls_a_kernel_itself_is_one_of_its_tests(tmp_path: Path) -> None:
    """No line of the package is traced then: neither that of the kernel nor one that calls it."""
    graph, kernel, both = read_graph(package(tmp_path)), "src/sottovoce/kernel.py", ["test_one", "test_outer"]
    for line, expected in ((4, both), (8, both), (12, ["test_outer"]), (15, ["test_plain"])):
        around = graph.around(kernel, line)
        assert around is not None
        assert graph.callers(around) == {f"tests/test_kernel.py::{name}" for name in expected}
    names = [f"tests/test_kernel.py::{name}" for name in ("test_one[1]", "test_one[2]", "test_outer", "test_plain")]
    cover = Cover({name: Traced(name, 0.1, 0.1, 10) for name in names}, {}, {})
    assert set(cover.selected(mutant(kernel, 8), graph)) == {*names[:3]}
    assert cover.selected(mutant(kernel, 12), graph) == names[2:3]


def mutant(file: str, line: int) -> Mutant:
    return Mutant(file, "f", "arithmetic", "a + b", "(a - b)", (line, 0), (line, 1), (line, line))


def test_tests_are_selected_by_the_lines_they_run(tmp_path: Path) -> None:
    graph = read_graph(package(tmp_path))
    kernel, user = "src/sottovoce/kernel.py", "src/sottovoce/user.py"
    names = ["t.py::a[1]", "t.py::a[2]", "t.py::b", "u.py::c", "u.py::d"]
    cover = Cover(
        {
            name: Traced(name, seconds, 0.1, 10)
            for name, seconds in zip(names, (0.12, 0.1, 0.15, 0.3, 0.3), strict=True)
        },
        {(user, 4): {"t.py::a[1]", "t.py::a[2]", "t.py::b"}, (kernel, 18): {"u.py::c"}},
        {(kernel, 18): {"u.py"}},
    )
    assert cover.selected(mutant(kernel, 8), graph) == ["t.py::a[2]", "t.py::b", "t.py::a[1]"]
    assert cover.selected(mutant(kernel, 18), graph) == ["u.py::c", "u.py::d"]  # the file runs it when it is collected
    assert cover.selected(mutant(user, 1), graph) == []


def test_a_test_that_runs_few_lines_comes_first() -> None:
    broad, narrow = Traced("t.py::broad", 0.1, 0.1, 2000), Traced("u.py::narrow[7]", 0.2, 0.1, 30)
    assert (
        Cover({test.name: test for test in (broad, narrow)}, {}, {}).ordered([broad.name, narrow.name])[0]
        == narrow.name
    )


def test_the_first_batch_is_cheap() -> None:
    tests = {f"{file}.py::x": Traced(f"{file}.py::x", 1.0, 3.0, 10) for file in "abcdefg"}
    cover = Cover(tests | {"h.py::long": Traced("h.py::long", 60.0, 0.1, 10)}, {}, {})
    first, rest = cover.batches(["h.py::long", *tests])
    assert first == ["a.py::x", "b.py::x", "c.py::x"] and set(first) | set(rest) == cover.tests.keys()


# --- one mutant -----------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_files_of_a_folder_are_traced_together_and_each_keeps_its_own_lines() -> None:
    names = [f"tests/a/test_{number}.py" for number in range(10)]
    assert _together([*names, "tests/b/test_b.py"]) == [names[:8], names[8:], ["tests/b/test_b.py"]]
    seen = {"seconds": 1.0, "passed": True}
    found = {
        "collected": 6.0,
        "names": ["", "a.py::x", "b.py::y", "a.py::z"],
        "tests": {"a.py::x": seen, "b.py::y": seen, "a.py::z": seen},
        "lines": {"f.py": {"1": [0], "2": [1, 2], "3": [3]}},
    }
    assert _part(found, "a.py", 2) == {
        "collected": 3.0,
        "names": ["", "a.py::x", "a.py::z"],
        "tests": {"a.py::x": seen, "a.py::z": seen},
        "lines": {"f.py": {"1": [0], "2": [1], "3": [2]}},
    }
    assert _part({}, "a.py", 2) == {}


def test_a_mutant_is_killed_by_a_test_that_sees_it_and_the_source_is_restored(tmp_path: Path) -> None:
    source = "def larger(a, b):\n    return a if a > b else b\n"
    for name, text in {
        "src/sottovoce/toy.py": source,
        "src/sottovoce/__init__.py": "",
        "tests/test_toy.py": "from sottovoce.toy import larger\n\ndef test_a():\n    assert larger(2, 2) == 2\n\n"
        "def test_b():\n    assert larger(1, 2) == 2\n",
        "pyproject.toml": '[tool.pytest.ini_options]\naddopts = ["--import-mode=importlib"]\n',
        "scripts/mutants/__init__.py": "",
        "scripts/mutants/plugin.py": (ROOT / "scripts/mutants/plugin.py").read_text(encoding="utf-8"),
    }.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text, encoding="utf-8")
    tree = Tree(tmp_path / "tree", tmp_path / "numba")
    found = {m.operator: m for m in mutants(source, "src/sottovoce/toy.py")}
    tests = ["tests/test_toy.py::test_b", "tests/test_toy.py::test_a"]
    killed = tree.run(found["swapped-branch"], tests, {}, stale=(), seconds=60)
    assert killed.killer == tests[0] and "assert 1 == 2" in killed.why
    equivalent = tree.run(found["comparison"], tests, {}, stale=(), seconds=60)
    assert equivalent.killer == "" and equivalent.finished
    assert (tree.folder / "src/sottovoce/toy.py").read_text(encoding="utf-8") == source


# --- justifications -------------------------------------------------------------------------------------------------
CRITICAL, OTHER = "src/sottovoce/core/coins.py", "src/sottovoce/estimate/prior.py"


def outcome(file: str, line: int, state: str) -> Result:
    return Result(mutant(file, line), state, "", "", 1.0)


def justify(file: str, verdict: str) -> Justification:
    return Justification(file, "f", "arithmetic", "a + b", "(a - b)", verdict, "a reason")


def test_a_justification_matches_by_text_wherever_the_line_is() -> None:
    entry = justify(OTHER, "equivalent")
    assert entry.matches(mutant(OTHER, 5)) and entry.matches(mutant(OTHER, 500))
    assert not entry.matches(mutant(CRITICAL, 5))
    assert not entry.matches(replace(mutant(OTHER, 5), occurrence=1))  # an equal change elsewhere in the function


def test_the_verdict_wants_most_killed_and_every_critical_survivor_justified() -> None:
    killed = tuple(outcome(CRITICAL, line, QUICK) for line in range(19))
    assert Verdict((*killed, outcome(OTHER, 1, SURVIVED)), ()).ok  # 19 of 20
    assert not Verdict((*killed, outcome(CRITICAL, 1, SURVIVED)), ()).ok
    assert Verdict((*killed, outcome(CRITICAL, 1, SURVIVED)), (justify(CRITICAL, "accepted"),)).ok
    assert not Verdict((*killed[1:], outcome(OTHER, 1, SURVIVED)), ()).ok  # 18 of 19
    assert not Verdict((*killed[1:], outcome(OTHER, 1, SURVIVED)), (justify(OTHER, "accepted"),)).ok
    equivalent = Verdict((*killed[1:], outcome(OTHER, 1, SURVIVED)), (justify(OTHER, "equivalent"),))
    assert equivalent.ok and equivalent.share == 1


def test_the_justified_survivors_can_be_read() -> None:
    entries = read_justifications(ROOT / "scripts" / "mutants" / "survivors.toml")
    found = {file: mutants((ROOT / file).read_text(encoding="utf-8"), file) for file in {e.file for e in entries}}
    for entry in entries:
        assert sum(map(entry.matches, found[entry.file])) == 1, f"{entry.function} has no such change: {entry.original}"


def test_slow_tests_are_traced_and_run_only_for_what_quick_tests_leave_alive(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed, alive, met = (
        replace(mutant("src/a.py", 1), original=name) for name in ("killed", "alive", "met by slow tests")
    )
    traced: list[bool] = []
    runs: list[tuple[str, str]] = []

    class FakeTree:
        def run(self, mutant: Mutant, tests: list[str], usual: Any, *, stale: Any, seconds: float) -> Outcome:
            runs.append((mutant.original, tests[0]))
            assert 0 < seconds <= program.SLOW_SECONDS and usual == {tests[0]: 1.0}
            return Outcome(tests[0] if (mutant.original, tests[0]) in kills else "", "", True)

    class FakeCover:
        def __init__(self, name: str) -> None:
            self.tests = {name: Traced(name, 1.0, 0.0, 1)}

        def selected(self, mutant: Mutant, graph: Any) -> list[str]:
            return [] if mutant is met and "quick" in self.tests else [*self.tests]

        def batches(self, names: list[str]) -> list[list[str]]:
            return [[name] for name in names]

    kills = {("killed", "quick"), ("met by slow tests", "slow")}
    monkeypatch.setattr(program, "BUILD", tmp_path)
    monkeypatch.setattr(program, "copy_tree", lambda root, folder: FakeTree())
    monkeypatch.setattr(program, "read_graph", lambda root: SimpleNamespace(around=lambda file, line: None))

    def read(root: Path, folder: Path, trees: Any, *, slow: bool) -> FakeCover:
        traced.append(slow)
        return FakeCover("slow" if slow else "quick")

    monkeypatch.setattr(program, "read_cover", read)
    results = {one.mutant.original: one for one in program.run_all([killed, alive, met], {}, workers=1, with_slow=True)}
    assert {name: one.state for name, one in results.items()} == {
        **{"killed": "killed quick", "alive": "survived", "met by slow tests": "killed slow"}
    }
    assert traced == [False, True] and ("killed", "slow") not in runs
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 3
    traced.clear()
    assert [one.state for one in program.run_all([killed], {}, workers=1, with_slow=True)] == ["killed quick"]
    assert [one.state for one in program.run_all([met], {}, workers=1, with_slow=False)] == ["no test"]
    assert traced == [False, False]
