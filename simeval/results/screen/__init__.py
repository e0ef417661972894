"""What a run looks like on a terminal.

records ──► Page ◄── a stored document        report: the screen after a run
                                              conversations: some of its trials, in full
"""
