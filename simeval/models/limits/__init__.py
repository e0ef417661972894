"""How many calls a model takes, how fast, and what happens while it is down."""
