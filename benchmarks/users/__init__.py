"""Benchmarks of the simulated user."""
