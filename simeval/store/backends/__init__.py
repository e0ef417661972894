"""The databases a store can be in."""
