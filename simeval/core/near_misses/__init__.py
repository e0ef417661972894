"""Near misses: answers that are on topic, fluent, courteous and wrong, made from an expectation without a model.

Where no rule makes one, the writer of the rubric gives them.

the expectation  ──▶ statements  ──▶ changed_values ─┐
its facts, reference, example ─────▶ changed_values ─┼──▶ frames ──▶ two answers of one rule
acts to do, ask or leave out ──────▶ statements ─────┘

the rubric's reply  ──▶ written  ──▶ two answers, if they can be used
"""

from simeval.core.near_misses.frames import OPENINGS, framed
from simeval.core.near_misses.making import NearMiss, near_misses
from simeval.core.near_misses.statements import language_in
from simeval.core.near_misses.written import usable_pair

__all__ = ["OPENINGS", "NearMiss", "framed", "language_in", "near_misses", "usable_pair"]
