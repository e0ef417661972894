"""Evaluators: statistical requirements on scores, and the verdicts they come to."""

from simeval.core.originals import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
