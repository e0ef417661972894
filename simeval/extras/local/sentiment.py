"""The embedded sentiment model by name: the service's classifier of five classes that needs no download."""

from functools import partial
from typing import TYPE_CHECKING

from simeval.extras.local.checkpoints import located
from simeval.extras.local.service import LocalClassifier, service
from simeval.extras.local.vader import require_lexicon
from simeval.models.encoders import MINILM

if TYPE_CHECKING:
    from simeval.extras.local.sentiment_network import SentimentNetwork

NAME = "embedded (five classes, adapters on MiniLM, English; see weights/sentiment.md)"


def embedded() -> LocalClassifier:
    """Return the embedded model; loads nothing yet. Raises DefinitionError if a package it needs is not installed."""
    path = located(MINILM)
    require_lexicon()
    return LocalClassifier(NAME, path, service(("sentiment", path), partial(_network, path)))


def _network(path: str) -> "SentimentNetwork":
    from simeval.extras.local.sentiment_network import SentimentNetwork

    return SentimentNetwork.load(path)
