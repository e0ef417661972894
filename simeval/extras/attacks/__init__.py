"""Attacks on an app: families of attackers, with fixed texts or played by a model."""
