"""`python -m scripts.screenshots`: the dossier of an example study in a real browser, as a picture of the docs.

Needs Chromium of the system (`make system-deps`). The picture is docs/pictures/dossier.png.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from sottovoce.study.dossier.write import write_dossier
from sottovoce.study.reading import read_study

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "dossier.png"
CHROMIUM = Path("/usr/bin/chromium")
SIZE = {"width": 960, "height": 1100}


def opened(page_file: Path, picture: Path | None = None) -> list[str]:
    """Open a page without a network; what the browser complains about, and the title. The picture is its first part."""
    said: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE)  # type: ignore[arg-type]
        page.context.set_offline(True)
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("requestfailed", lambda request: said.append(request.url))
        page.goto(page_file.as_uri())
        said.append(page.title())
        wide = page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")
        if wide:
            said.insert(0, "The page is wider than the window.")
        if picture is not None:
            page.screenshot(path=str(picture))
        browser.close()
    return said


def main() -> int:
    """Write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "dossier"
        write_dossier(read_study(ROOT / "examples" / "health-survey.toml").plan(60_000), target)
        said = opened(target / "index.html", PICTURE)
    print(said[-1])
    return 0 if len(said) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
