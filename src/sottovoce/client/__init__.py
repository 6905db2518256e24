"""The participant's device. Standard library only."""

from sottovoce.client.client import Client
from sottovoce.client.tick import Tick, Untimed

__all__ = ["Client", "Untimed", "Tick"]
