"""What a model is, what it is asked, and how its replies are read."""
