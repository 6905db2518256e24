"""Checks for mechanisms, also for those of third parties."""

from sottovoce.testing.contract import check_mechanism

__all__ = ["check_mechanism"]
