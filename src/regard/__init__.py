"""Regard learns to turn one sequence into another by attention, and shows what it looked at."""

__version__ = "0.1.0"
