"""Near misses: answers that are on topic, fluent, courteous and wrong, made from an expectation without a model.

Where no rule makes one, the writer of the rubric gives them.

the expectation  ──▶ statements  ──▶ changed_values ─┐
its facts, reference, example ─────▶ changed_values ─┼──▶ frames ──▶ two answers of one rule
acts to do, ask or leave out ──────▶ statements ─────┤
words of form, such as "short" ────▶ form ───────────┘

the rubric's reply  ──▶ written  ──▶ two answers, if they can be used
"""

from simeval.core.near_misses.making import OPENINGS, NearMiss, framed, near_misses, unusable
from simeval.core.near_misses.other_languages import language_in

__all__ = ["OPENINGS", "NearMiss", "framed", "language_in", "near_misses", "unusable"]
