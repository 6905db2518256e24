"""The participant's device. Standard library only."""

from sottovoce.client.client import Client

__all__ = ["Client"]
