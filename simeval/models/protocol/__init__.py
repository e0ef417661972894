"""The protocol of models: requests, and how their replies are read."""
