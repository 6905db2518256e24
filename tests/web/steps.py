"""The steps of the participant's page, as a person takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def begin(page: Any) -> str:
    """From the welcome to the first screen; the name of the question that the device drew."""
    page.locator("#consent").check()
    page.locator("#start").click()
    page.locator("fieldset:visible").wait_for()
    return str(page.locator("fieldset:visible").get_attribute("data-question"))


def answer(page: Any, values: Mapping[str, Any]) -> None:
    """Answer every screen, up to the preview. A group and a number are a pair, attributes a mapping."""
    while page.locator("fieldset:visible").count():
        screen = page.locator("fieldset:visible")
        place, part = screen.get_attribute("id"), screen.get_attribute("data-part")
        value = values[screen.get_attribute("data-question")]
        if isinstance(value, tuple):
            value = value[0 if part == "group" else 1]
        elif isinstance(value, Mapping):
            value = value[screen.get_attribute("data-attribute")]
        if screen.locator("[data-help]").count():
            screen.locator("[data-help]").fill(value)
        else:
            screen.locator(f"input[type=radio][value={value!r}]").check(force=True)
        page.locator("#next").click()
        page.wait_for_function("(place) => document.getElementById(place).hidden", arg=place)
    page.locator("#preview").wait_for()


def sent(page: Any) -> None:
    """Send, and be thanked."""
    page.locator("#send").click()
    page.locator("[data-outcome=accepted]").wait_for()
