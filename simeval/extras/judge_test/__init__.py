"""Tests of judges on conversations with known right verdicts."""
