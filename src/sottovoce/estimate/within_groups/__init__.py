"""Shares and distributions within groups, from the shares of all cells of a table of group and answer."""
