"""Live traffic, scored beside the app."""
