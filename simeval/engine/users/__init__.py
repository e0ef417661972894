"""The simulated user's part that is no model's: its state, when it leaves, and how it is found out when it errs."""
