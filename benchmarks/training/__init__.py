"""How the models that are shipped with the package were made; nothing here is imported by it."""
