"""The HTML report: one file that says what was proven, what was not, and why.

document, Trials ──► Report ──► page        record: what the page shows     charts: pictures, as trees
                     blocks: the conversations, compressed, within a budget   assets: what runs in the page
"""
