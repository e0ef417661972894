"""A run on a terminal.

report         the screen after a run
conversations  some of its trials, in full
requirement    one requirement, with a picture of its interval
"""
