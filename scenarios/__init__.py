"""Apps under test and their suites: a shop's support bot, A.L.I.C.E., and tau-bench's tasks."""
