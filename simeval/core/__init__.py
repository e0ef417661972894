"""Records and helpers that know no other package."""
