"""Conversations that were recorded elsewhere, read as examples."""
