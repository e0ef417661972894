"""Language models: one small protocol, the models that keep it, and what wraps them."""

from simeval.core.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
