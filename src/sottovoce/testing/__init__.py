"""What third parties need to test their own mechanisms."""

from sottovoce.testing.contract import check_mechanism

__all__ = ["check_mechanism"]
