"""Language models: one small protocol, the models that implement it, and their wrappers."""

from simeval.core.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
