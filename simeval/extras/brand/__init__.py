"""Brand voice: personas, authenticity, safety, stability."""
