"""Scorers: everything that measures."""
