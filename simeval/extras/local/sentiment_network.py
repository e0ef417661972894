"""The embedded sentiment model: five classes from MiniLM with low-rank adapters, and the lexicon beside the text.

    tokens ─► MiniLM's layers 1-3 ─► + valence of each token's word ─► layers 4-6, adapted ─► mean and maximum over
    the tokens, and the lexicon's features of the text ─► linear ─► probabilities of the five classes

`benchmarks/training/sentiment.py` made the weights; weights/sentiment.md has their accuracy. Imported when the model is
loaded: torch is heavy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch

from simeval.extras.local.networks import TextNetwork, load_encoder
from simeval.extras.local.vader import STRONGEST, features_of, valences_of

CLASSES = ("Very Negative", "Negative", "Neutral", "Positive", "Very Positive")
WEIGHTS = Path(__file__).with_name("weights") / "sentiment.npz"
LOWER_LAYERS = 3  # taken as they are; those above are adapted
LONGEST = 128  # tokens: the training cut there, too, which met two sentences of 5,099
ADAPTED = (
    "attention.self.query",
    "attention.self.key",
    "attention.self.value",
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_LARGEST_FEATURE = 4.0  # standard deviations

Weights = Mapping[str, torch.Tensor]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A text as the model reads it: its tokens, the valence of each one's word from -1 to 1, and its features."""

    tokens: list[int]
    valences: list[float]
    features: list[float]

    def __len__(self) -> int:
        return len(self.tokens)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Sentences padded to the longest. `states` are the outputs of the lower layers for the tokens."""

    states: torch.Tensor
    mask: torch.Tensor
    valences: torch.Tensor
    features: torch.Tensor


@dataclass(slots=True, eq=False)
class SentimentNetwork(TextNetwork):
    """Computes the probabilities of the five classes."""

    weights: Weights = field(default_factory=dict)

    @classmethod
    def load(cls, path: str, weights: Path = WEIGHTS) -> Self:
        """Load MiniLM from its folder, and add the adapters to it. Raises ModelUnusable if it cannot be loaded."""
        found, read = load_encoder(path), read_weights(weights)
        adapt(found.model, read)
        there = {name: value.to(found.model.device) for name, value in read.items()}
        return cls(tokenizer=found.tokenizer, model=found.model, longest=LONGEST, labels=CLASSES, weights=there)

    def prepare(self, items: Sequence[str]) -> list[Any]:
        """Return the Sentence of each text. Raises UnicodeEncodeError for anything but a text."""
        for item in items:
            item.encode()
        found = self._read(items, truncation=True, max_length=self.longest, return_offsets_mapping=True)
        return list(map(sentence, items, found["input_ids"], found["offset_mapping"]))

    def run(self, prepared: Sequence[Any]) -> list[Any]:
        """Return the probabilities of each Sentence."""
        with torch.inference_mode():
            logits = upper_logits(self.model, inputs(self.model, prepared, self.weights), self.weights)
            rows = torch.softmax(logits, dim=1).tolist()
        return [dict(zip(CLASSES, row, strict=True)) for row in rows]


def read_weights(path: Path) -> dict[str, torch.Tensor]:
    """Read the weights as tensors of 32 bits, by name."""
    with np.load(path, allow_pickle=False) as found:
        return {name: torch.from_numpy(found[name].astype(np.float32)) for name in found.files}


def adapt(model: Any, weights: Weights) -> None:
    """Add the adapters to the weights of a MiniLM, in place: from then on they cost nothing."""
    with torch.no_grad():
        for number, layer in enumerate(model.encoder.layer[LOWER_LAYERS:]):
            for name in ADAPTED:
                weight = layer.get_submodule(name).weight
                change = weights[f"{number}.{name}.up"] @ weights[f"{number}.{name}.down"]
                weight += change.to(weight.device)


def sentence(text: str, tokens: list[int], offsets: Sequence[tuple[int, int]]) -> Sentence:
    """Return a text as the model reads it; `offsets` are the positions of its tokens."""
    valences, known = [0.0] * len(tokens), list(valences_of(text))
    for place, (start, end) in enumerate(offsets):
        while known and known[0][1] <= start:
            known.pop(0)
        if known and end > start >= known[0][0] and end <= known[0][1]:
            valences[place] = known[0][2] / STRONGEST
    return Sentence(tokens, valences, features_of(text))


def inputs(model: Any, sentences: Sequence[Sentence], weights: Weights) -> Inputs:
    """Pad sentences to one batch, and put them through the layers that are taken as they are."""
    shape = len(sentences), max(map(len, sentences))
    tokens, mask, valences = torch.zeros(shape, dtype=torch.long), torch.zeros(shape), torch.zeros(shape)
    for row, each in enumerate(sentences):
        tokens[row, : len(each)] = torch.tensor(each.tokens)
        valences[row, : len(each)] = torch.tensor(each.valences)
        mask[row, : len(each)] = 1.0
    features = torch.tensor([each.features for each in sentences]).to(model.device)
    standard = (features - weights["features.mean"]) / weights["features.deviation"]
    tokens, mask, valences = (each.to(model.device) for each in (tokens, mask, valences))
    states = _through(model.encoder.layer[:LOWER_LAYERS], model.embeddings(input_ids=tokens), mask)
    return Inputs(states, mask, valences, standard.clamp(-_LARGEST_FEATURE, _LARGEST_FEATURE))


def upper_logits(model: Any, given: Inputs, weights: Weights, *, dropout: float = 0.0) -> torch.Tensor:
    """Return the logits of the five classes; `dropout` is for training only."""
    states = given.states + given.valences.unsqueeze(-1) * weights["valence"]
    states = _through(model.encoder.layer[LOWER_LAYERS:], states, given.mask)
    there = given.mask.unsqueeze(-1)
    means = (states * there).sum(dim=1) / there.sum(dim=1)
    highest = states.masked_fill(there == 0, float("-inf")).amax(dim=1)
    seen = torch.cat([means, highest, given.features], dim=1)
    seen = torch.nn.functional.dropout(seen, dropout, training=dropout > 0)
    return torch.nn.functional.linear(seen, weights["head.weight"], weights["head.bias"])


def _through(layers: Any, states: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    unseen = (1.0 - mask[:, None, None, :]) * torch.finfo(states.dtype).min
    for layer in layers:
        found = layer(states, unseen)
        states = found[0] if isinstance(found, tuple) else found
    return states
