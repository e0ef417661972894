"""The counts of hard phrases: what is prose, and how often a phrase is in it."""

from benchmarks.prose import docstrings, page_prose, rates


def test_code_of_a_page_is_no_prose() -> None:
    assert page_prose("so `what`:\n\n```python\nwhat = 1\n```\n\nand on") == "so :\n\n\n\nand on"


def test_all_docstrings_of_a_module_count_and_no_other_text() -> None:
    source = '"""A."""\nclass B:\n    """C."""\n    def d(self):\n        """E."""\n        return "f"\n'

    assert list(docstrings(source)) == ["A.", "C.", "E."]


def test_a_phrase_counts_per_thousand_words() -> None:
    found = rates("What it is of which one tells " + "word " * 93)

    assert found["what"] == found["told/said"] == found["prep + which"] == 10
    assert found["where + clause"] == found["stands/lies"] == 0
