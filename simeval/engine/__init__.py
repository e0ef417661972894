"""The engine: runs, and the actors that make them."""

from simeval.core.originals import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
