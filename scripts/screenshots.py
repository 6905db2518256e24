"""`make screenshots`: the dossier of an example study and the pages of a collector in a real browser, for the docs.

Needs Chromium of the system (`make system-deps`). The pictures are docs/pictures/*.png.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from sottovoce.cli.collector.crowd import CollectorProcess, SimulatedCrowd
from sottovoce.cli.collector.demo import STUDY, people
from sottovoce.study.dossier.write import write_dossier
from sottovoce.study.reading import read_study

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
PICTURE = PICTURES / "dossier.png"
CHROMIUM = Path("/usr/bin/chromium")
PEOPLE = 3000
SIZE = {"width": 960, "height": 1100}
CUPS = """
[questions.cups]
ask = "group-mean"
text = "How many cups of coffee did you drink yesterday?"
by = ["under 30", "30 to 59", "60 and over"]
low = 0
high = 10
whole = true
unit = "cups"
"""
DRUNK = {"under 30": 1, "30 to 59": 4, "60 and over": 2}


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


def pages() -> None:
    """The pages of a collector to which 3,000 simulated participants answered."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play:
        file = Path(folder) / "study.toml"
        file.write_text(STUDY.format(epsilon=2) + CUPS, encoding="utf-8")
        collector = CollectorProcess(str(file), str(Path(folder) / "store.sqlite"), PEOPLE)
        collector.start()
        browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        try:
            groups = list(DRUNK)
            crowd = [
                {**one, "cups": (groups[place % 3], DRUNK[groups[place % 3]] + place % 4)}
                for place, one in enumerate(people(PEOPLE))
            ]
            SimulatedCrowd(collector.url).answer(crowd)
            site, _, name = collector.url.partition("/v1/studies/")
            for picture, path in (("studies", "/"), ("dashboard", f"/studies/{name}"), ("planner", f"/plan/{name}")):
                page = browser.new_page(viewport={"width": 900, "height": 620 if picture == "planner" else 1000})
                page.goto(site + path)
                page.screenshot(path=str(PICTURES / f"{picture}.png"))
                if picture == "dashboard":
                    page.get_by_text("Groups of cups, compared").click()
                    page.locator("[data-loaded]").wait_for()
                    page.locator("section[aria-labelledby=q-cups]").screenshot(path=str(PICTURES / "comparisons.png"))
            phone = browser.new_page(viewport={"width": 390, "height": 844})
            phone.goto(f"{site}/s/{name}")
            phone.wait_for_selector("#form:not([hidden])")
            phone.screenshot(path=str(PICTURES / "participant.png"))
            phone.get_by_label("night").check()
            phone.locator("[name=hours]").fill("7.5")
            phone.locator("[name=cups-group]").select_option("30 to 59")
            phone.locator("[name=cups]").fill("3")
            phone.get_by_role("button", name="Show what would be sent").click()
            phone.wait_for_selector("#preview:not([hidden])")
            phone.screenshot(path=str(PICTURES / "preview.png"))
        finally:
            browser.close()
            collector.stop()


def main() -> int:
    """Write the pictures."""
    pages()
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "dossier"
        write_dossier(read_study(ROOT / "examples" / "health-survey.toml").plan(60_000), target)
        said = opened(target / "index.html", PICTURE)
    print(said[-1])
    return 0 if len(said) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
