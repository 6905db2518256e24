"""Build and check everything that is published, into dist: `python -m scripts.release [--into FOLDER]`.

The source distribution, the wheel and the package for npm are built, looked into, and installed in empty folders, where
each answers a question. Beside them lie a bill of materials (CycloneDX) and the SHA-256 of every file. Nothing is
uploaded: workflows do that, and only they.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

from scripts.version import ROOT, SOURCE, versions

WEB = ROOT / "clients" / "web"
# What no published file may contain: paths of the machine that built it.
OWN_PATHS = re.compile(rb"(?<![\w.~])/(home|root|work|Users)/[\w.-]+/")
SPECIFICATION = """
import json, sottovoce as sv
print(json.dumps(sv.mechanism("grr", sv.Categories(["lark", "owl"]), epsilon=1).spec()))
"""
PYTHON_ANSWERS = """
import json, sys, sottovoce as sv
print(len(sv.Client.from_spec(sys.stdin.read(), limit=1).report("owl")))
"""
NODE_ANSWERS = """
import { readFileSync } from "node:fs";
import { mechanism } from "@sottovoce/web";
console.log((await mechanism(readFileSync(0, "utf8"))).randomize("owl").length);
"""
MESSAGE = "17"  # bytes: an id of 16, then the noisy answer


def run(*command: str | Path, cwd: Path = ROOT, text: str | None = None) -> str:
    """Run a command without the variables that would let the checkout in; its output, or its complaint."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"SOURCE_DATE_EPOCH": _commit_time()}
    done = subprocess.run(command, cwd=cwd, env=environment, input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout


def _commit_time() -> str:
    """The time of the commit, so that the same commit is built into the same bytes."""
    command = ["git", "log", "-1", "--format=%ct"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "315532800"


def check(holds: bool, sentence: str) -> None:
    """End with a sentence where something does not hold."""
    if not holds:
        raise SystemExit(sentence)


def one_version() -> str:
    """The version, which all files must agree on."""
    said = versions()
    differing = {name: version for name, version in said.items() if version != said[SOURCE]}
    check(not differing, f"{SOURCE} says {said[SOURCE]}; others differ: {differing}. Run python -m scripts.version.")
    return said[SOURCE]


def build_python(folder: Path, version: str) -> Path:
    """Build the source distribution, and the wheel from it; look into both."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", folder)
    wheel = folder / f"sottovoce-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        about = Parser().parsestr(archive.read(f"sottovoce-{version}.dist-info/METADATA").decode("utf-8"))
        _check_content((name, archive.read(name)) for name in names)
    check(about["Version"] == version and bool(about.get_payload()), "The wheel lacks its version or description.")
    for needed in ("sottovoce/py.typed", "sottovoce/__init__.pyi", "sottovoce/service/static/sottovoce.js"):
        check(needed in names, f"The wheel lacks {needed}.")
    check(any(name.endswith("/LICENSE") for name in names), "The wheel lacks the licence.")
    with tarfile.open(folder / f"sottovoce-{version}.tar.gz") as archive:
        members = {name.partition("/")[2] for name in archive.getnames()}
    for needed in (
        "LICENSE",
        "CITATION.cff",
        "SECURITY.md",
        "tests/conftest.py",
        "Makefile",
        "clients/web/package.json",
    ):
        check(needed in members, f"The source distribution lacks {needed}.")
    check(not any("node_modules" in name for name in members), "The source distribution holds node_modules.")
    return wheel


def build_web(folder: Path, version: str) -> Path:
    """Build the package for npm, and look into it."""
    shutil.rmtree(WEB / "dist", ignore_errors=True)
    (WEB / "dist").mkdir()
    run("scripts/web.sh", WEB / "dist")
    declare = ("--declaration", "--emitDeclarationOnly", "--noEmit", "false", "--outDir", "dist/types")
    run("node_modules/.bin/tsc", *declare, cwd=WEB)
    try:
        shutil.copy(ROOT / "LICENSE", WEB / "LICENSE")
        run("npm", "pack", "--silent", "--pack-destination", folder.resolve(), cwd=WEB)
    finally:
        (WEB / "LICENSE").unlink(missing_ok=True)
        shutil.rmtree(WEB / "dist")
    package = folder / f"sottovoce-web-{version}.tgz"
    with tarfile.open(package) as archive:
        files = {member.name: archive.extractfile(member).read() for member in archive if member.isfile()}  # type: ignore[union-attr]
    _check_content(files.items())
    for needed in ("dist/sottovoce.js", "dist/sottovoce.script.js", "dist/types/index.d.ts", "LICENSE", "README.md"):
        check(f"package/{needed}" in files, f"The package for npm lacks {needed}.")
    check("dependencies" not in json.loads(files["package/package.json"]), "The package for npm has dependencies.")
    return package


def _check_content(files: object) -> None:
    for name, content in files:  # type: ignore[attr-defined]
        check(not OWN_PATHS.search(content), f"{name} names a path of the machine that built it.")


def try_python(wheel: Path, folder: Path) -> None:
    """Install the wheel into an empty environment, and answer a question."""
    venv.create(folder / "python", with_pip=False, symlinks=True)
    python = folder / "python" / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-index", "--no-deps", wheel, cwd=folder)
    specification = run(python, "-c", SPECIFICATION, cwd=folder)
    check(run(python, "-c", PYTHON_ANSWERS, cwd=folder, text=specification).strip() == MESSAGE, "The wheel is mute.")
    (folder / "specification.json").write_text(specification, encoding="utf-8")


def try_web(package: Path, folder: Path) -> None:
    """Install the package for npm into an empty folder, and answer the same question."""
    place = folder / "node"
    place.mkdir()
    (place / "package.json").write_text('{"private": true}', encoding="utf-8")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", "--silent", package.resolve(), cwd=place)
    (place / "answer.mjs").write_text(NODE_ANSWERS, encoding="utf-8")
    specification = (folder / "specification.json").read_text(encoding="utf-8")
    said = run("node", "answer.mjs", cwd=place, text=specification).strip()
    check(said == MESSAGE, "The package for npm does not answer.")


def bill_of_materials(version: str) -> dict[str, object]:
    """What the extras bring, at the versions of this environment; the packages themselves bring nothing."""
    from sottovoce.study.dossier.software import bill_of_materials as installed

    bill = installed()
    own = {"type": "library", "name": "sottovoce", "version": version, "purl": f"pkg:pypi/sottovoce@{version}"}
    bill["components"] = [one for one in bill["components"] if one["name"] != "sottovoce"]
    return {**bill, "metadata": {"component": own | {"licenses": [{"license": {"id": "Apache-2.0"}}]}}}


def checksums(folder: Path) -> str:
    """The SHA-256 of every file, as `sha256sum --check` reads it."""
    files = sorted(path for path in folder.iterdir() if path.name != "SHA256SUMS")
    return "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)


def main() -> int:
    """Build, look, install, answer, write down."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--into", type=Path, default=ROOT / "dist", help="an empty or new folder; dist if left out")
    folder = parser.parse_args().into
    version = one_version()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    wheel, package = build_python(folder, version), build_web(folder, version)
    with tempfile.TemporaryDirectory() as empty:
        try_python(wheel, Path(empty))
        try_web(package, Path(empty))
    bill = json.dumps(bill_of_materials(version), indent=1)
    (folder / f"sottovoce-{version}.cdx.json").write_text(bill + "\n", encoding="utf-8")
    (folder / "SHA256SUMS").write_text(checksums(folder), encoding="utf-8")
    for path in sorted(folder.iterdir()):
        print(f"{path.stat().st_size:>9,} bytes  {path.name}")
    print("All were built, looked into and installed in an empty folder, where both packages answered a question.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
