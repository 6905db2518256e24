"""Pictures of the pages for analysts and boards: every state, on a desktop, a phone, in the dark and on paper."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from scripts.shots.showcase import TODAY, Showcase
from sottovoce.core.exchange.wire import Batch

DESKTOP = {"viewport": {"width": 1160, "height": 1000}}
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
PAPER = {"viewport": {"width": 794, "height": 1123}}  # A4 at 96 dpi
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": DESKTOP,
    "dark": {**DESKTOP, "color_scheme": "dark"},
    "phone": PHONE,
    "print": PAPER,
}
WAIT = 5000  # milliseconds, after which nothing may have moved


class Shot(NamedTuple):
    """A picture: its name, the look, the path of the page, and what is shown of it."""

    name: str
    look: str
    path: str
    part: str = ""  # a selector; empty: the first screen


SHOTS = (
    Shot("studies", "desktop", "/"),
    Shot("studies-phone", "phone", "/"),
    Shot("crowd", "desktop", "/s/{collecting}/results"),
    Shot("crowd-phone", "phone", "/s/{collecting}/results?lang=de"),
    Shot("dashboard", "desktop", "/studies/{collecting}"),
    Shot("dashboard-dark", "dark", "/studies/{collecting}"),
    Shot("dashboard-phone", "phone", "/studies/{collecting}"),
    Shot("dashboard-print", "print", "/studies/{collecting}"),
    Shot("dashboard-few", "desktop", "/studies/{few}"),
    Shot("dashboard-empty", "desktop", "/studies/{empty}"),
    Shot("dashboard-closed", "desktop", "/studies/{closed}"),
    Shot("shares", "desktop", "/studies/{collecting}", "#q-medicine"),
    Shot("curve", "desktop", "/studies/{collecting}", "#q-sleep"),
    Shot("comparisons", "desktop", "/studies/{collecting}", "#q-pain"),
    Shot("comparisons-phone", "phone", "/studies/{collecting}", "#q-pain"),
    Shot("planner", "desktop", "/plan/{collecting}"),
    Shot("planner-phone", "phone", "/plan/{collecting}"),
    Shot("report", "print", "/studies/{collecting}/report"),
    Shot("report-desktop", "desktop", "/studies/{collecting}/report"),
    Shot("report-phone", "phone", "/studies/{collecting}/report"),
    Shot("dossier", "print", "/studies/{collecting}/dossier"),
    Shot("dossier-label", "print", "/studies/{collecting}/dossier", ".consequences"),
    Shot("dossier-phone", "phone", "/studies/{collecting}/dossier"),
    Shot("consent", "print", "/studies/{collecting}/consent-de.html"),
    Shot("design", "desktop", "/design"),
    Shot("problem", "desktop", "/problems/conflict"),
    Shot("dashboard-alarm", "desktop", "/studies/{collecting}"),  # last: it forges reports
)


def forge(site: Showcase) -> None:
    """Send two reports with one id, as somebody does who makes reports up."""
    collector, name = site.collector, site.studies["collecting"]
    manifest = collector.study(name).manifest
    report_id = next(one for one in iter(lambda: os.urandom(16), None) if manifest.arm_of(one) == 0)
    mechanism, epoch = manifest.stage.arms[0].mechanism, manifest.facts.collection.epoch(TODAY)
    payloads = {mechanism.randomize("Rest", report_id=report_id)[16:] for _ in range(200)}
    for payload in sorted(payloads)[:2]:
        batch = Batch(manifest.prefix, epoch, manifest.number, 0, report_id, payload)
        collector.submit(name, batch, Future()).future.result(60)


def shots(browser: Any, site: Showcase, folder: Path, *, wait: int = WAIT) -> Iterator[str]:
    """Write every picture; what the browser complains about, and pages that are wider than their window."""
    for one in SHOTS:
        if one.name == "dashboard-alarm":
            forge(site)
        context = browser.new_context(**LOOKS[one.look], bypass_csp=one.look == "print")
        page = context.new_page()
        said: list[str] = []
        page.on("console", lambda message, said=said: said.append(message.text))
        page.on("pageerror", lambda error, said=said: said.append(str(error)))
        page.goto(site.address + one.path.format(**site.studies))
        if one.look == "print":
            page.emulate_media(media="print")
            page.add_style_tag(content="body { padding: 13mm 15mm }")  # the margins of the paper
        page.wait_for_timeout(wait)
        if page.evaluate("document.documentElement.scrollWidth") > LOOKS[one.look]["viewport"]["width"]:
            said.append("wider than the window")
        where = page.locator(one.part).first if one.part else page
        where.screenshot(path=str(folder / f"{one.name}.png"))
        context.close()
        yield from (f"{one.name}: {text}" for text in said)
