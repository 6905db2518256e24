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
        "StateDirectoryMode": "0700",
        "Environment": r"\w+=\S+",
        "KillSignal": "SIG[A-Z]+",
        "TimeoutStopSec": r"\d+",
        "Restart": "no|always|on-failure|on-success",
        "LimitNOFILE": r"\d+",
        "MemoryMax": r"\d+[MG]",
        "TasksMax": r"\d+",
        "ProtectSystem": "yes|full|strict",
        "ProtectHome": "yes|read-only|tmpfs",
        "ProtectProc": "invisible",
        **dict.fromkeys(("ProtectClock", "ProtectHostname", "ProtectKernelLogs", "ProtectKernelModules"), "yes"),
        **dict.fromkeys(("ProtectKernelTunables", "ProtectControlGroups", "LockPersonality"), "yes"),
        **dict.fromkeys(("RestrictNamespaces", "RestrictRealtime", "RestrictSUIDSGID"), "yes"),
        "SystemCallArchitectures": "native",
        "SystemCallFilter": "@system-service",
        "SystemCallErrorNumber": "EPERM",
        "PrivateTmp": "yes|no",
        "PrivateDevices": "yes|no",
        "NoNewPrivileges": "yes|no",
        "RestrictAddressFamilies": r"(AF_\w+ ?)+",
        "CapabilityBoundingSet": "",
        "UMask": "0[0-7]{3}",
    },
    "Install": {"WantedBy": r"[\w.-]+\.target"},
}
INSTRUCTIONS = {"ARG", "FROM", "COPY", "RUN", "USER", "WORKDIR", "ENV", "VOLUME", "EXPOSE", "ENTRYPOINT", "CMD"}
INSTRUCTIONS |= {"HEALTHCHECK"}


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


def test_the_unit_holds_what_an_attacker_would_use() -> None:
    """Every directive that is known here and restricts something is set."""
    service = unit()["Service"]
    assert {*KNOWN["Service"]} == {*service}
    assert "MemoryDenyWriteExecute" not in service  # kernels are compiled


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
    assert {text.split()[0] for name, text in found if name == "FROM"} == {"${BASE}"}
    (base,) = (text.removeprefix("BASE=") for name, text in found if name == "ARG")  # a digest may be given
    version = re.fullmatch(r"docker\.io/library/python:(\d+)\.(\d+)-slim", base)
    assert version is not None and (int(version[1]), int(version[2])) >= (3, 11)
    locked, build = (text for name, text in found if name == "RUN" and "pip install" in text)
    (extra,) = re.findall(r'"/source\[(\w+)\]"', build)
    assert extra in project["optional-dependencies"] and "--no-deps --no-build-isolation" in build
    assert "--require-hashes -r /source/deploy/requirements.txt" in locked and "sottovoce" in project["scripts"]
    health = json.loads(next(text for name, text in found if name == "HEALTHCHECK").partition("CMD ")[2])
    assert health[0] == "/opt/sottovoce/bin/python" and "/healthz" in health[-1]
    compile(health[-1], "health", "exec")


def test_the_packages_of_the_container_have_hashes_and_the_versions_of_development() -> None:
    """`make lock-image` writes them. Where pip is told to require hashes, it refuses every other file."""
    text = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8")
    assert "://" not in text and "--index" not in text
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    packages = text.replace(" \\\n", "").splitlines()
    for line in packages:
        pin, *hashes = line.split()
        assert pin in pins, pin
        assert hashes and all(re.fullmatch("--hash=sha256:[0-9a-f]{64}", one) for one in hashes), pin
    names = {line.partition("==")[0] for line in packages}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    wanted = {re.split(r"[\[><=;]", one)[0] for one in (*project["analysis"], *project["service"])} - {"sottovoce"}
    assert wanted | {"hatchling"} <= names


def test_the_container_copies_what_is_installed_and_nothing_else() -> None:
    """A checkout holds two gigabytes of packages, and stores of studies perhaps."""
    lines = (ROOT / ".containerignore").read_text(encoding="utf-8").splitlines()
    rules = [line for line in lines if line and not line.startswith("#")]
    assert rules[0] == "*" and rules[-1] == "**/__pycache__"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = {
        "pyproject.toml",
        "deploy/requirements.txt",
        project["project"]["readme"],
        *project["project"]["license-files"],
    }
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
