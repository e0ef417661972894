"""The plan of a run: plans, fingerprints, budgets, resuming."""
