"""`make screenshots`: every page and state of a collector in a real browser, for the docs.

Needs Chromium of the system (`make system-deps`). The pictures are docs/pictures/*.png. `--wait 300` is quicker.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from scripts.shots import analyst, participant
from scripts.shots.showcase import showcase

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
CHROMIUM = Path("/usr/bin/chromium")
SIZE = {"width": 960, "height": 1100}
COLOURS = 128  # of a picture: the pages have few
LARGEST, ALL = 200_000, 2_500_000  # bytes of a picture, and of all of them


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


def compact(source: Path, target: Path, *, width: int | None = None) -> None:
    """Write a picture with few colours, and not wider than asked."""
    picture = Image.open(source).convert("RGB")
    if width is not None and picture.width > width:
        picture = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
    picture.quantize(COLOURS, kmeans=3, dither=Image.Dither.NONE).save(target, optimize=True)


def main(arguments: list[str] | None = None) -> int:
    """Write the pictures; 1 where a page complains or a picture is too large."""
    parser = argparse.ArgumentParser(prog="python -m scripts.screenshots", description="Write the pictures of pages.")
    parser.add_argument("--wait", type=int, default=analyst.WAIT, help="milliseconds before each picture")
    parser.add_argument("--only", choices=("analyst", "participant"), help="one kind of pages")
    wanted = parser.parse_args(arguments)
    said: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if wanted.only != "participant":
            with showcase(folder) as site, sync_playwright() as play:
                browser = play.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
                said += analyst.shots(browser, site, folder, wait=wanted.wait)
                browser.close()
            for one in analyst.SHOTS:
                compact(folder / f"{one.name}.png", PICTURES / f"{one.name}.png")
        if wanted.only != "analyst":
            participant.write(folder / "participant", wait=wanted.wait)
            for source, picture in participant.DOCS.items():
                compact(folder / "participant" / f"{source}.png", PICTURES / f"{picture}.png")
    sizes = {one.name: one.stat().st_size for one in PICTURES.glob("*.png")}
    said += [f"{name}: {size:,} bytes, more than {LARGEST:,}" for name, size in sizes.items() if size > LARGEST]
    if sum(sizes.values()) > ALL:
        said.append(f"all pictures: {sum(sizes.values()):,} bytes, more than {ALL:,}")
    print("\n".join([*said, f"{len(sizes)} pictures, {sum(sizes.values()):,} bytes."]))
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
