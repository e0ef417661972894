"""The fault campaign: what a run loses when it is killed, starved or lied to, and what its user sees.

    python -m benchmarks.faults.campaign [--kills 20] [--postgres URL] [ROW ...]

__main__ ── kills, elsewhere, stores, endpoints, handlers     the rows, each a function that gives a Report
                     │
                   cases                           a run in a folder of its own: attempts, what was kept, verdicts
                     │
              child (a process)                    `simeval run`, which notes what its store acknowledged
                     │
                   work                            the suite and the apps
"""
