"""How a run under way is shown: a screen of its own, a bar, or a line in the log now and then."""
