"""Comparisons of runs, and judges held against people."""
