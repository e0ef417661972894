"""The engine: runs, and the actors that make them."""
