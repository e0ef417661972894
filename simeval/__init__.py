"""simeval: find out whether a conversational AI app is good enough, with a stated error rate."""

from simeval.core.originals import attach_names

__getattr__, __dir__, __all__ = attach_names(__name__, __file__)
