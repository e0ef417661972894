"""Language models: one small protocol, the models that keep it, and what wraps them."""
