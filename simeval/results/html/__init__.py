"""The HTML report: one file with each proof, each missing proof, and the reasons.

document, Trials ──► Report ──► page        record: what the page shows     charts: pictures, as trees
                     blocks: the conversations, compressed, within a budget   assets: what runs in the page
"""
