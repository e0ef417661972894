"""Attacks on an app: families of attackers, who say what is written here or are played by a model."""
