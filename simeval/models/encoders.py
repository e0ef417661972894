"""Texts to unit vectors by whatever encoder a scorer was given: a name, a service here, or a plain function."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from math import hypot, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import anyio.to_thread

from simeval.core.faces import load
from simeval.errors import DefinitionError
from simeval.models.protocol.model import Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MINILM = "minilm"  # all-MiniLM-L6-v2, out of a package: no download
LOCAL_PREFIX = "local/"
LOCAL_ENCODER = "simeval.extras.local.service:encoder"  # a feature that attaches from outside
HASHED = "hashed"
DIMENSIONS = 512

_TOKEN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")


@runtime_checkable
class TextEncoder(Protocol):
    """Turns texts into vectors of one length, in their order."""

    async def encode_all(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""


class LocalModel:
    """A model on this machine, which is loaded once for all who ask it."""

    __slots__ = ()

    async def load(self) -> None:
        """Load the model now, where it is not loaded yet. Raises ModelUnusable where it cannot be."""
        raise NotImplementedError


class LoadsModels:
    """A scorer that loads the models on this machine among its attributes before the first trial."""

    async def prepare(self, columns: Mapping[str, Any]) -> None:  # noqa: ARG002
        """Load them. Raises ModelUnusable where one cannot be loaded."""
        for held in vars(self).values():
            if isinstance(held, LocalModel):
                await held.load()


def local_encoder(path_or_name: str) -> TextEncoder:
    """Return an encoder on this machine by its folder, its name on the hub, or "minilm"; loads nothing yet.

    Raises DefinitionError where it is known already that it cannot be loaded.
    """
    found: TextEncoder = load(LOCAL_ENCODER)(path_or_name)
    return found


Encoding = str | Path | TextEncoder | Encoder
"""An encoder: "hashed", "minilm", a hub name or folder, or an object with `encode_all`, or `encode`, of texts."""


@dataclass(frozen=True, slots=True)
class _InThread:
    """A plain encoder, called in a worker thread."""

    encoder: Encoder

    async def encode_all(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        return await anyio.to_thread.run_sync(self.encoder.encode, texts, abandon_on_cancel=True)


def encoder_name(of: object) -> str:
    """Return the name of an encoder in results."""
    return str(of) if isinstance(of, (str, Path)) else str(getattr(of, "name", type(of).__name__))


def text_encoder(of: object, where: str) -> TextEncoder:
    """Return an encoder. Raises DefinitionError, which names `where`, for anything else."""
    if of == HASHED:
        return HashedEncoder()
    if isinstance(of, (str, Path)):
        return local_encoder(str(of))
    if isinstance(of, TextEncoder):
        return of
    if isinstance(of, Encoder):
        return _InThread(of)
    do = 'give "hashed", "minilm", a hub name or folder, or an object with encode_all(texts)'
    raise DefinitionError(f"{where}: encoder", found=f"found {of!r:.80}", do=do)


class HashedEncoder:
    """A weak encoder that needs nothing: counts of words and of pairs of words, hashed into a vector of length 1.

    It knows which words two texts share and nothing else: texts that say the same in other words are as far apart as
    texts about different things. A text without a word or a mark has the zero vector.
    """

    async def encode(self, text: str) -> list[float]:
        """Return the vector of a text; never waits."""
        return _encoded(text)

    async def encode_all(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text; never waits."""
        return [_encoded(text) for text in texts]


def _encoded(text: str) -> list[float]:
    tokens = [token.replace("’", "'") for token in _TOKEN.findall(text.casefold())]
    counts = Counter([*tokens, *(f"{one} {other}" for one, other in pairwise(tokens))])
    vector = [0.0] * DIMENSIONS
    for feature, count in counts.items():
        place, sign = _place(feature)
        vector[place] += sign * sqrt(count)
    length = hypot(*vector)
    return [number / length for number in vector] if length else vector


@lru_cache(maxsize=50_000)
def _place(feature: str) -> tuple[int, int]:
    """Return the place of a feature and its sign, so that features that share a place do not add up."""
    number = int.from_bytes(blake2b(feature.encode("utf-8", "surrogatepass"), digest_size=8).digest())
    return number % DIMENSIONS, 1 if number >> 63 else -1


async def unit_vectors(encoder: TextEncoder, texts: Sequence[str]) -> "NDArray[np.float64]":
    """Return a row of length 1 for each text; equal texts are encoded once.

    Raises ValueError if a vector is zero, which has no direction, or the vectors are none. The encoder's own errors
    pass through.
    """
    import numpy as np

    distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    found = np.array(await encoder.encode_all(list(distinct)), dtype=np.float64)
    if found.ndim != 2 or len(found) != len(distinct) or not np.isfinite(found).all():
        raise ValueError(f"the encoder gave no vector of numbers for each of {len(distinct)} texts: {found.shape}")
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    if not lengths.all():
        zero = list(distinct)[int(np.flatnonzero(lengths == 0)[0])]
        raise ValueError(f"the vector of {zero!r:.60} is zero, which has no direction")
    unit: NDArray[np.float64] = (found / lengths)[[distinct[text] for text in texts]]
    return unit
