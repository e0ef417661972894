"""Evaluators: statistical requirements on scores, and the verdicts they come to."""
