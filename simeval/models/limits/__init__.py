"""How many calls a model takes, how fast, and how its outages are handled."""
