"""Encoders on this machine: what turns texts into vectors without a call to a provider."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from threading import Lock
from typing import Any, Protocol, runtime_checkable

from simeval.errors import DefinitionError, ModelUnusable

LOCAL_PREFIX = "local/"
_NEEDED = ("torch", "transformers")


@runtime_checkable
class Encoder(Protocol):
    """Turns texts into vectors of one length, in their order. It is called in worker threads."""

    def encode(self, texts: Sequence[str]) -> Sequence[Sequence[float]]:
        """Give a vector for each text; may block."""


@dataclass(slots=True)
class TransformersEncoder:
    """A transformers encoder by its folder or hub name: the mean of the last layer over a text's tokens.

    It is loaded with the first texts, once, and encodes one batch at a time. A text is cut at the longest that the
    model takes.
    """

    path: str
    _loaded: tuple[Any, Any] | None = field(default=None, init=False, repr=False)
    _turn: Lock = field(default_factory=Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        missing = [name for name in _NEEDED if find_spec(name) is None]
        if missing:
            found, do = f"{' and '.join(missing)} not installed", "install the extra: pip install 'simeval[local]'"
            raise DefinitionError(f"model {LOCAL_PREFIX}{self.path}", found=found, do=do)

    def encode(self, texts: Sequence[str]) -> list[list[float]]:
        """Give a vector for each text; may block. Raises ModelUnusable where the model cannot be loaded."""
        import torch

        with self._turn:
            tokenizer, model = self._loaded = self._loaded or self._load()
            longest = min(tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", 512))
            batch = tokenizer(list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt")
            with torch.inference_mode():
                states = model(**batch).last_hidden_state.float()
        mask = batch["attention_mask"].unsqueeze(-1).float()
        means = (states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)
        found: list[list[float]] = means.tolist()
        return found

    def _load(self) -> tuple[Any, Any]:
        from transformers import AutoModel, AutoTokenizer

        try:
            return AutoTokenizer.from_pretrained(self.path), AutoModel.from_pretrained(self.path).eval()
        except (OSError, ValueError) as error:
            name = f"{LOCAL_PREFIX}{self.path}"
            raise ModelUnusable(name, kind="unknown_model", problem=str(error)) from error
