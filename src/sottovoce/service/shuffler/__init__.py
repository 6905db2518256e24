"""The shuffler: a process between devices and collector that mixes sealed reports, which it cannot read."""
