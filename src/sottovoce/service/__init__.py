"""The collector: takes reports exactly once, counts them, drives rounds and gives estimates over HTTP."""
