"""Spans: a run told to a collector, and what the app's own spans tell of its conversations."""
