"""How the users of logs write, as a mix of personas that simulated users have."""
