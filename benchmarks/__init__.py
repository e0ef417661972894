"""Benchmarks: each prints ratios against a bound or a peer, measured in the same run."""
