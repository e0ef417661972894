"""Transformers checkpoints as networks: texts to tokens, tokens to vectors or to probabilities.

Imported when a model is loaded, in the thread it runs in: torch is heavy.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

import torch
import transformers
from huggingface_hub import hf_hub_download
from transformers.utils import cached_file
from transformers.utils import logging as transformers_logging

from simeval.core.capture import Caught, attempt
from simeval.errors import ModelUnusable
from simeval.extras.local.batching import Limits
from simeval.extras.local.checkpoints import HubUnreachable, require_hub

OVERLAP = 0.125  # of a window's tokens are also in the one before it
MOST_THREADS = 4
ON_A_GPU = Limits(items=128, tokens=32_768)
_TokenIds = list[int]
_Positions = list[tuple[int, int]]
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
_loading = Lock()  # the output of transformers while loading is switched off for the whole process


@dataclass(slots=True, eq=False)
class TextNetwork:
    """A tokenizer and a model, on a GPU if there is one. A text is cut at `longest` tokens."""

    tokenizer: Any
    model: Any
    longest: int
    labels: tuple[str, ...] = ()
    _room: int = field(init=False, repr=False)  # tokens beside the special ones
    _reading: Lock = field(default_factory=Lock, init=False, repr=False)  # a tokenizer serves one thread at a time

    def __post_init__(self) -> None:
        self._room = max(1, self.longest - self.tokenizer.num_special_tokens_to_add())

    @property
    def limits(self) -> Limits:
        return Limits() if self.model.device.type == "cpu" else ON_A_GPU

    def prepare(self, items: Sequence[str]) -> list[_TokenIds]:
        """Return the tokens of each text. Raises TypeError or UnicodeEncodeError for anything but a text."""
        for item in items:
            _check(item)
        return self._read(items, truncation=True, max_length=self.longest)["input_ids"]  # type: ignore[no-any-return]

    def run(self, prepared: Sequence[_TokenIds]) -> list[Any]:
        """Return the result of each text's tokens."""
        width = max(map(len, prepared))
        tokens = torch.full((len(prepared), width), self.tokenizer.pad_token_id or 0)
        mask = torch.zeros((len(prepared), width), dtype=torch.long)
        for row, each in enumerate(prepared):
            tokens[row, : len(each)] = torch.tensor(each)
            mask[row, : len(each)] = 1
        with torch.inference_mode():
            return self._results(tokens.to(self.model.device), mask.to(self.model.device))

    def windows(self, text: str) -> list[str]:
        """Return a text as pieces that are read whole: itself, or overlapping ones cut between words if possible.

        A word that is cut may have more tokens than it had; the overlap is larger than that. May block.
        """
        _check(text)
        places, words = self._placed(text) if self.tokenizer.is_fast else self._placed_by_words(text)
        spans = spanned(words, self._room, overlap=int(self._room * OVERLAP))
        return [text] if len(spans) < 2 else [text[places[start][0] : places[end - 1][1]] for start, end in spans]

    def surely_fits(self, text: str) -> bool:
        """Return whether a text is read whole for certain.

        Of ASCII each token takes a character, but for one in front.
        """
        return isinstance(text, str) and text.isascii() and len(text) < self._room

    def _placed(self, text: str) -> tuple[_Positions, Sequence[int | None]]:
        """Return the position of each token in a text, and the number of its word."""
        read = self._read([text], truncation=False, add_special_tokens=False, return_offsets_mapping=True)
        return read["offset_mapping"][0], read.word_ids(0)

    def _placed_by_words(self, text: str) -> tuple[_Positions, Sequence[int | None]]:
        """Return the same with a tokenizer in Python, which does not know positions: a token has that of its word.

        A word that could be cut is taken as its characters, which have as many tokens or more alone.
        """
        places: _Positions = []
        words: list[int | None] = []
        found = [(match.start(), match.end()) for match in re.finditer(r"\S+", text)]
        for number, ((start, end), count) in enumerate(zip(found, self._counts(text, found), strict=True)):
            if count <= int(self._room * OVERLAP):
                places += [(start, end)] * count
                words += [number] * count
                continue
            letters = [(place, place + 1) for place in range(start, end)]
            for letter, tokens in zip(letters, self._counts(text, letters), strict=True):
                places += [letter] * tokens
                words += [None] * tokens
        return places, words

    def _counts(self, text: str, places: _Positions) -> list[int]:
        """Return how many tokens each part of a text has alone, at least 1."""
        parts = {text[start:end]: 1 for start, end in places}
        read = self._read(list(parts), truncation=False, add_special_tokens=False)["input_ids"] if parts else []
        counts = {part: max(1, len(tokens)) for part, tokens in zip(parts, read, strict=True)}
        return [counts[text[start:end]] for start, end in places]

    def _read(self, texts: Sequence[str], **options: Any) -> Any:
        with self._reading:
            return self.tokenizer(
                list(texts),
                padding=False,
                return_attention_mask=False,
                return_token_type_ids=False,
                verbose=False,
                **options,
            )

    def _results(self, tokens: torch.Tensor, mask: torch.Tensor) -> list[Any]:
        raise NotImplementedError


class EncoderNetwork(TextNetwork):
    """Computes a text's vector: the mean of the last states of its tokens, divided by its length."""

    def _results(self, tokens: torch.Tensor, mask: torch.Tensor) -> list[list[float]]:
        states = self.model(input_ids=tokens, attention_mask=mask).last_hidden_state
        weights = mask.unsqueeze(-1).to(states.dtype)
        means = (states * weights).sum(dim=1) / weights.sum(dim=1).clamp(min=1)
        vectors: list[list[float]] = torch.nn.functional.normalize(means, dim=1).tolist()
        return vectors


class ClassifierNetwork(TextNetwork):
    """Computes the probability of each label: of all together 1, or each by itself if the config asks for that."""

    def _results(self, tokens: torch.Tensor, mask: torch.Tensor) -> list[Mapping[str, float]]:
        logits = self.model(input_ids=tokens, attention_mask=mask).logits
        config = self.model.config
        alone = config.problem_type == "multi_label_classification" or len(self.labels) == 1
        rows = (torch.sigmoid(logits) if alone else torch.softmax(logits, dim=1)).tolist()
        return [dict(zip(self.labels, row, strict=True)) for row in rows]


def load_encoder(path: str) -> EncoderNetwork:
    """Load an encoder. Raises ModelUnusable if it cannot be loaded."""
    tokenizer, model = _loaded(path, transformers.AutoModel)
    stated = _json_beside(path, "sentence_bert_config.json").get("max_seq_length")
    longest = _longest(tokenizer, model)
    return EncoderNetwork(tokenizer, model, min(longest, stated or longest))


def load_classifier(path: str) -> ClassifierNetwork:
    """Load a sequence classifier. Raises ModelUnusable if it cannot be loaded, or has no trained head."""
    tokenizer, model = _loaded(path, transformers.AutoModelForSequenceClassification)
    if model.config.problem_type == "regression":
        raise _unusable(path, "it gives a number and no probabilities: its problem_type is 'regression'")
    names = [str(model.config.id2label[number]) for number in range(model.config.num_labels)]
    if len(set(names)) < len(names):
        raise _unusable(path, f"two of its labels have one name: {names}")
    return ClassifierNetwork(tokenizer, model, _longest(tokenizer, model), tuple(names))


def spanned(words: Sequence[int | None], room: int, *, overlap: int) -> list[tuple[int, int]]:
    """Return the spans (start, end) of windows of at most `room` tokens over tokens of numbered words.

    Each begins `overlap` tokens before the end of the one before, or earlier if a word begins earlier. A word is cut
    only if it is as long as the new part of a window.
    """
    spans, start, count = [], 0, len(words)
    while start < count:
        full = min(start + room, count)
        end = _border(words, full, least=full - overlap) if full < count else full
        spans.append((start, end))
        if end == count:
            break
        start = max(start + 1, _border(words, end - overlap, least=end - 2 * overlap))
    return spans


def threads_for(*, given: int, cores: int, environment: Mapping[str, str]) -> int:
    """Return how many threads torch shall use, if it would use `given`.

    The user's setting is kept: a variable, or a call with another number than torch's own, which is that of the cores
    or of half of them. Else half of the cores, and at most four: threads of torch wait for each other at full speed,
    and beside an event loop on two cores, two made MiniLM up to ten times slower than one.
    """
    if any(environment.get(name) for name in _THREADS) or given not in (cores, cores // 2):
        return given
    return min(given, MOST_THREADS, max(1, cores // 2))


def _border(words: Sequence[int | None], place: int, *, least: int) -> int:
    """Return the last place up to `place` at the beginning of a word; `place` if there is none from `least` on."""
    for at in range(place, max(least, 1) - 1, -1):
        if words[at] is None or words[at] != words[at - 1]:
            return at
    return place


def _check(item: object) -> None:
    if not isinstance(item, str):
        raise TypeError(f"a local model reads text, found {item!r:.99}")
    item.encode()  # half of a surrogate pair is no text


def _loaded(path: str, kind: Any) -> tuple[Any, Any]:
    _settle_threads()
    with _loading, _silent():
        found = attempt(lambda: _read(path, kind))
    if isinstance(found, Caught) and isinstance(found.error, HubUnreachable):
        raise ModelUnusable(path, kind="download", problem=str(found.error)) from found.error
    if isinstance(found, Caught):
        lines = str(found.error).strip().splitlines() or [type(found.error).__name__]
        raise _unusable(path, lines[0]) from found.error
    tokenizer, model, info = found
    untrained = [*info["missing_keys"], *info["mismatched_keys"]]
    untrained = [str(name) for name in untrained if not str(name).startswith("pooler.")]
    if untrained:
        raise _unusable(path, f"its checkpoint holds no weights for {', '.join(sorted(untrained)[:3])}")
    return tokenizer, model.eval().to(_device())


def _read(path: str, kind: Any) -> tuple[Any, Any, Mapping[str, Any]]:
    if not Path(path).is_dir():
        require_hub(path)  # otherwise each of many files is tried six times if the hub is down
        hf_hub_download(path, "config.json")
    tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    model, info = kind.from_pretrained(path, dtype=torch.float32, output_loading_info=True)
    return tokenizer, model, info


def _unusable(path: str, problem: str) -> ModelUnusable:
    return ModelUnusable(path, kind="bad_request", problem=problem)


def _longest(tokenizer: Any, model: Any) -> int:
    """Return the length both take; RoBERTa and its like number positions from after padding, which has a vector."""
    places = getattr(model.config, "max_position_embeddings", None) or tokenizer.model_max_length
    tables = [module for name, module in model.named_modules() if name.endswith("position_embeddings")]
    paddings = [getattr(table, "padding_idx", None) for table in tables]
    first = max((padding + 1 for padding in paddings if padding is not None), default=0)
    return int(min(tokenizer.model_max_length, places - first))


def _json_beside(path: str, name: str) -> dict[str, Any]:
    found = attempt(lambda: json.loads(Path(str(cached_file(path, name))).read_text("utf-8")))
    return found if isinstance(found, dict) else {}


def _device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


@cache
def _settle_threads() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    given = torch.get_num_threads()
    wanted = threads_for(given=given, cores=cores, environment=os.environ)
    if wanted != given:
        torch.set_num_threads(wanted)


@contextmanager
def _silent() -> Iterator[None]:
    """Keep progress bars and notes of transformers off the screen; the important ones are checked."""
    level, bars = transformers_logging.get_verbosity(), transformers_logging.is_progress_bar_enabled()
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(level)
        if bars:
            transformers_logging.enable_progress_bar()
