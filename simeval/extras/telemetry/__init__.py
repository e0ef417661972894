"""Spans: a run reported to a collector, and the app's own spans read into its conversations."""
