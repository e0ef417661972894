"""Workers of runs in other processes, and the connections to them."""
