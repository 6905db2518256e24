"""The participant's device. Standard library only."""

from sottovoce.client.client import Client
from sottovoce.client.tick import NO_TICK, Tick

__all__ = ["NO_TICK", "Client", "Tick"]
