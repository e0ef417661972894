"""The viewer of a store: its runs, side by side, one by one and two by two, and labels by people.

store ──► listing, run_page, compared, label_page ──► Site: pages and their data, by path ──► server: one browser
                                                                                        └──► bundle: a folder
"""
