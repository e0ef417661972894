"""Error rates, measured through the whole engine."""
