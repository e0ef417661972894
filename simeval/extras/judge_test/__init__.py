"""Judges put to the test on conversations of which it is known what they are worth."""
