"""Scorers of texts and data structures that ask no model."""
