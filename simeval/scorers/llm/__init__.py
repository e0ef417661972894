"""Scorers that ask a language or embedding model."""
