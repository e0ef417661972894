"""Where runs are kept."""

from simeval.core.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
