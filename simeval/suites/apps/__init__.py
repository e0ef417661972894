"""Apps that are reached by a protocol instead of a function: what `--app https://...` and its like mean."""
