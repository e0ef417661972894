"""Where the trials of a run are held and measured: in its own process, or elsewhere."""
