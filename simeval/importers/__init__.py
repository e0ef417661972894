"""Conversations that were recorded elsewhere, read as examples: a module for each family of formats."""
