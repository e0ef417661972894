"""What a run will do: plans, fingerprints, budgets, what is resumed."""
