"""The HTML report: one file with each proof, each missing proof, and the reasons.

document, Trials ──► Report ──► page        record: the page's data       charts: pictures, as trees
                     blocks: the conversations, compressed, within a budget   assets: the page's scripts
"""
