"""The suite is tested itself: the same seeds against deliberately worse apps."""
