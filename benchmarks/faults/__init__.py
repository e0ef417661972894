"""What it withstands: faults, limits of endpoints, kills."""
