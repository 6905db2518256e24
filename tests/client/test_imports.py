"""What importing the client loads: the contracts, and none of what a specification may name."""

from __future__ import annotations

import json
import subprocess
import sys

MOST_MODULES = 33
# A node, a domain, a question, a statistic is loaded by the specification that names it.
ON_DEMAND = (
    *("core.channel.", "core.domain.", "core.question.", "core.statistic.", "mechanisms."),
    *("core.registry", "core.exact"),
)
CONTRACTS = {
    "core.channel.base",
    "core.channel.closed_forms",
    "core.channel.facets",
    "core.domain.base",
    "core.question.base",
    "core.question.read",
    "core.statistic.base",
}
HEAVY = {"argparse", "asyncio", "email", "http", "logging", "pathlib", "random", "socket", "subprocess", "urllib"}

LOADED = "import sys, json; sys.stdin.read(); {0}; print(json.dumps(sorted(sys.modules)))"


def modules_after(code: str, given: str = "") -> list[str]:
    command = [sys.executable, "-c", LOADED.format(code)]
    done = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))


def own(modules: list[str]) -> list[str]:
    return [name.removeprefix("sottovoce.") for name in modules if name.startswith("sottovoce.")]


def test_importing_the_client_loads_contracts_only() -> None:
    loaded = modules_after("import sottovoce.client")
    ours = own(loaded)
    assert len(ours) < MOST_MODULES, ours
    assert {name for name in ours if name.startswith(ON_DEMAND)} == CONTRACTS
    assert not HEAVY & {name.split(".")[0] for name in loaded} - set(modules_after("pass"))


def test_a_specification_loads_what_it_names_and_nothing_else() -> None:
    spec = (
        "import sottovoce as sv; text = json.dumps(sv.mechanism('grr', sv.Integers(0, 3), epsilon=1).spec());"
        "print(text); sys.exit()"
    )
    text = subprocess.run(
        [sys.executable, "-c", f"import sys, json; {spec}"], capture_output=True, text=True, check=True
    ).stdout
    loaded = own(modules_after(f"from sottovoce.client import Client; Client.from_spec({text.strip()!r}).report(2)"))
    named = {name for name in loaded if name.startswith(ON_DEMAND)} - CONTRACTS
    assert named == {
        *("core.channel.finite", "core.channel.finite.subset", "core.domain.plain", "core.statistic.outputs"),
        *("core.domain.written", "core.question.frequency", "core.domain.reasons"),
    }


def test_a_mechanism_shows_itself_without_third_parties_and_only_then_loads_how() -> None:
    build = "import sottovoce as sv; m = sv.mechanism('grr', sv.Integers(0, 3), epsilon=1)"
    assert "core.language.display" not in own(modules_after(f"{build}; m.randomize(2)"))
    shown = modules_after(f"{build}; assert 'grr' in repr(m) and '</table>' in m._repr_html_()")
    assert "core.language.display" in own(shown)
    before = set(modules_after("pass"))
    assert {name.split(".")[0] for name in set(shown) - before} - set(sys.stdlib_module_names) == {"sottovoce"}
