"""Who works for runs in other processes, and how they are reached."""
