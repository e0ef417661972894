"""Near misses: answers that are on topic, fluent, courteous and wrong, made from an expectation without a model.

the expectation  ──▶ statements  ──▶ changed_values ─┐
its facts, reference, example ─────▶ changed_values ─┼──▶ frames ──▶ two answers of one rule
acts to do, ask or leave out ──────▶ statements ─────┘
"""

from simeval.core.near_misses.frames import OPENINGS, framed
from simeval.core.near_misses.making import NearMiss, near_misses

__all__ = ["OPENINGS", "NearMiss", "framed", "near_misses"]
