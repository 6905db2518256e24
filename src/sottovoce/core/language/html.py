"""Text that is HTML already, told apart from text that must be escaped."""

from __future__ import annotations


class Html(str):
    """Text that is HTML already. Templates show it as it is."""

    __slots__ = ()

    def __html__(self) -> str:
        """The text itself: templates ask for this before they escape."""
        return str(self)
