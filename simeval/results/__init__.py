"""The results of a run: as records, JSON, text and JUnit."""

from simeval.core.originals import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
