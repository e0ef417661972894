"""Texts to unit vectors by whatever encoder a scorer was given: a name, a service here, or a plain function."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import anyio.to_thread

from simeval.errors import DefinitionError
from simeval.models.local.hashed import HASHED, HashedEncoder
from simeval.models.protocol.encoder import Encoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@runtime_checkable
class TextEncoder(Protocol):
    """Turns texts into vectors of one length, in their order."""

    async def encode_all(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Return a vector for each text."""


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
        from simeval.models.local.service import encoder

        return encoder(str(of))
    if isinstance(of, TextEncoder):
        return of
    if isinstance(of, Encoder):
        return _InThread(of)
    do = 'give "hashed", "minilm", a hub name or folder, or an object with encode_all(texts)'
    raise DefinitionError(f"{where}: encoder", found=f"found {of!r:.80}", do=do)


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
