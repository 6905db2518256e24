"""The participant's device. Standard library only."""

from sottovoce.client.client import Client
from sottovoce.client.tick import NoTick, Tick

__all__ = ["Client", "NoTick", "Tick"]
