"""The device side's foundation: coins, domains, channels, mechanisms. Standard library only."""
