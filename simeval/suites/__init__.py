"""Scenarios, the files they are written in, and the sample sizes they need."""
