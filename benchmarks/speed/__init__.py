"""How fast: the engine, the store, resuming, experiments, against their bounds and a peer."""
