"""The test server's answers to embeddings and moderations: computed from the text, and always the same."""

from collections.abc import Sequence
from math import sqrt
from typing import Any
from zlib import crc32

from simeval.models.providers.offline import words

DIMENSIONS = 256
CATEGORIES = {"violence": "kill", "hate": "hate", "self-harm/intent": "myself"}


def embeddings(model: str, texts: Sequence[str]) -> dict[str, Any]:
    """Answer a request for embeddings: a count of words, by a hash of each, of length 1."""
    items = [{"object": "embedding", "index": place, "embedding": vector(text)} for place, text in enumerate(texts)]
    tokens = sum(len(text) for text in texts) // 4
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "data": items[::-1], "model": model, "usage": usage}  # the order is in the index


def vector(text: str) -> list[float]:
    """Return the vector of a text; zero if it has no word."""
    counts = [0.0] * DIMENSIONS
    for word in words(text):
        counts[crc32(word.encode()) % DIMENSIONS] += 1
    length = sqrt(sum(count * count for count in counts)) or 1.0
    return [count / length for count in counts]


def moderation(model: str, text: str) -> dict[str, Any]:
    """Answer a request for a moderation: a category is flagged by its word."""
    flags = {name: word in words(text) for name, word in CATEGORIES.items()}
    scores = {name: 0.9 if flag else 0.01 for name, flag in flags.items()}
    result = {"flagged": any(flags.values()), "categories": flags, "category_scores": scores}
    return {"id": "modr-test", "model": model, "results": [result]}
