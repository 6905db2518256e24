"""Tests of hypotheses: their level, their power, and what happens while they are watched."""
