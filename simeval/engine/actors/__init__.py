"""The actors of a run."""
