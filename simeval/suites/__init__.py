"""Scenarios, the files they are written in, and the sample sizes they need."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
