"""How trials move through a run: pools, order, demand, stop."""
