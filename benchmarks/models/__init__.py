"""Local models and what is scored by them."""
