"""The unit and the container file: every directive is one that we know, and what they run is what the program takes.

`systemd-analyze verify` accepts the unit once its program is installed; this needs no systemd.
"""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path, PurePosixPath
from typing import Any

from typer.main import get_command

from sottovoce.cli.app import app
from sottovoce.service.http.server import FILES

ROOT = Path(__file__).parents[2]
UNIT = (ROOT / "deploy" / "sottovoce.service").read_text(encoding="utf-8")
CONTAINER = (ROOT / "deploy" / "Containerfile").read_text(encoding="utf-8")
STATE = PurePosixPath("/var/lib/sottovoce")
# Directives of systemd 252 (systemd.unit, systemd.service, systemd.exec, systemd.kill) and what their values look like.
KNOWN = {
    "Unit": {"Description": ".+", "After": r"[\w.-]+\.target"},
    "Service": {
        "ExecStart": "/.+",
        "DynamicUser": "yes|no",
        "StateDirectory": r"[\w-]+",
        "Environment": r"\w+=\S+",
        "KillSignal": "SIG[A-Z]+",
        "TimeoutStopSec": r"\d+",
        "Restart": "no|always|on-failure|on-success",
        "LimitNOFILE": r"\d+",
        "ProtectSystem": "yes|full|strict",
        "ProtectHome": "yes|read-only|tmpfs",
        "PrivateTmp": "yes|no",
        "PrivateDevices": "yes|no",
        "NoNewPrivileges": "yes|no",
        "RestrictAddressFamilies": r"(AF_\w+ ?)+",
        "CapabilityBoundingSet": "",
        "UMask": "0[0-7]{3}",
    },
    "Install": {"WantedBy": r"[\w.-]+\.target"},
}
INSTRUCTIONS = {"FROM", "COPY", "RUN", "USER", "WORKDIR", "ENV", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}


def unit() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    section = ""
    for line in UNIT.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
            found[section] = {}
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            assert name not in found[section], f"{name} twice"
            found[section][name] = value
    return found


def container() -> list[tuple[str, str]]:
    lines = [line for line in CONTAINER.splitlines() if line and not line.startswith("#")]
    return [(line.split()[0], line.partition(" ")[2]) for line in lines]


def parsed(command: list[str]) -> dict[str, Any]:
    """The options of a command line, as the program reads them; what it does not take is refused here."""
    group: Any = get_command(app)
    verb = group.commands[command[0]]
    found: dict[str, Any] = verb.make_context(command[0], command[1:]).params
    return found


def test_the_unit_has_known_directives_only() -> None:
    found = unit()
    assert list(found) == list(KNOWN)
    for section, directives in found.items():
        for name, value in directives.items():
            assert re.fullmatch(KNOWN[section][name], value), (section, name)


def test_the_unit_runs_what_the_program_takes_and_writes_where_it_may() -> None:
    service = unit()["Service"]
    program, *command = shlex.split(service["ExecStart"])
    options = parsed(command)
    assert PurePosixPath(program).name == "sottovoce" and options["host"] == "127.0.0.1"  # a proxy speaks TLS
    assert PurePosixPath("/var/lib") / service["StateDirectory"] == STATE  # all that ProtectSystem=strict leaves
    assert PurePosixPath(options["store"]).parent == STATE and options["study"] == "/etc/sottovoce/study.toml"
    name, _, cache = service["Environment"].partition("=")
    assert name == "NUMBA_CACHE_DIR" and STATE in PurePosixPath(cache).parents
    assert int(service["LimitNOFILE"]) >= FILES and service["KillSignal"] in ("SIGINT", "SIGTERM")


def test_the_container_is_made_of_what_there_is() -> None:
    found = container()
    assert {name for name, _ in found} == INSTRUCTIONS
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    base = {text.split()[0] for name, text in found if name == "FROM"}
    (version,) = (re.fullmatch(r"docker\.io/library/python:(\d+)\.(\d+)-slim", one) for one in base)
    assert version is not None and (int(version[1]), int(version[2])) >= (3, 11)
    build = next(text for name, text in found if name == "RUN" and "pip install" in text)
    (extra,) = re.findall(r'"/source\[(\w+)\]"', build)
    assert extra in project["optional-dependencies"] and "-c /source/constraints.txt" in build
    assert (ROOT / "constraints.txt").exists() and "sottovoce" in project["scripts"]


def test_the_container_copies_what_is_installed_and_nothing_else() -> None:
    """A checkout holds two gigabytes of packages, and stores of studies perhaps."""
    lines = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*" and rules[-1] == "**/__pycache__"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {"pyproject.toml", "constraints.txt", project["project"]["readme"], *project["project"]["license-files"]}
    needed |= {one.split("/")[0] for one in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]}
    assert {rule.removeprefix("!") for rule in rules[1:-1]} == needed
    assert all((ROOT / one).exists() for one in needed)


def test_the_container_runs_what_the_program_takes_and_keeps_its_store() -> None:
    found = container()
    last = {name: text for name, text in found if name not in ("FROM", "RUN", "COPY")}
    (program,) = json.loads(last["ENTRYPOINT"])
    copied = [text.split() for name, text in found if name == "COPY" and text.startswith("--from=build")]
    assert copied == [["--from=build", "/opt/sottovoce", "/opt/sottovoce"]]
    assert program == "/opt/sottovoce/bin/sottovoce" and program in UNIT
    options = parsed(json.loads(last["CMD"]))
    assert options["host"] == "0.0.0.0" and str(options["port"]) == last["EXPOSE"]
    assert PurePosixPath(options["store"]).parent == STATE == PurePosixPath(last["VOLUME"])
    assert last["WORKDIR"] == str(STATE) and last["ENV"].startswith(f"NUMBA_CACHE_DIR={STATE}/")
    assert f"useradd --system --home-dir {STATE}" in CONTAINER and last["USER"] == "sottovoce"
    comment = next(line for line in CONTAINER.splitlines() if "podman run" in line)
    assert f":{options['port']} " in comment and f":{options['study']}:ro" in comment and f":{STATE} " in comment
