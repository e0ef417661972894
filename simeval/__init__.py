"""simeval: find out whether a conversational AI app is good enough, with a stated error rate."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
