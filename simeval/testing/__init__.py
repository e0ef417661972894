"""Stand-ins for tests: a model that answers by a script, a journal in memory, an endpoint that plays every model.

simeval's own tests use them. None of them needs a network, a key or pytest.
"""

from simeval.core.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
