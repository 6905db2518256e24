"""Checks for mechanisms and questions, also for those of third parties."""

from sottovoce.testing.contract import check_mechanism
from sottovoce.testing.question import check_question

__all__ = ["check_mechanism", "check_question"]
