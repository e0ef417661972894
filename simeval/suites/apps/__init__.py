"""Apps reached by a protocol instead of a function: `--app https://...` and the like."""
