"""Property tests draw the same examples each time, and a slow machine does not fail them."""

from hypothesis import settings

settings.register_profile("unit", deadline=None, derandomize=True, database=None)
settings.load_profile("unit")
