"""Checkpoints of a few numbers for tests of local models: saved by transformers, with weights set by hand.

A word is a vector of length 2 with mean 0, which layer normalisation leaves as it is; the special tokens are 0 and tell
nothing. The encoder's one layer adds nothing, so that a text's vector is the sum of its words', divided by its length.
In the classifier the first token takes the mean of all, normalised, so that of "good" it is the vector of "good".
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = {"good": (1, -1, 1, -1), "bad": (-1, 1, -1, 1), "cat": (1, 1, -1, -1), "dog": (1, -1, -1, 1)}
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
FIVE = ("Very Negative", "Negative", "Neutral", "Positive", "Very Positive")
LONGEST = 16


def save_encoder(folder: Path) -> Path:
    """Save an encoder and its tokenizer; give the folder."""
    import transformers

    model = transformers.BertModel(_config())
    _set(model, model)
    return _saved(model, folder)


def save_classifier(folder: Path, labels: Sequence[str] = FIVE, **config: Any) -> Path:
    """Save a classifier whose logits for "good" are tanh(1) times 0, 1, 2 and so on, and for "bad" their opposites."""
    import torch
    import transformers

    names = dict(enumerate(labels))
    config = {"id2label": names, "label2id": {name: number for number, name in names.items()}, **config}
    model = transformers.BertForSequenceClassification(_config(**config))
    _set(model, model.bert)
    attention = model.bert.encoder.layer[0].attention
    with torch.no_grad():
        for part in (attention.self.value, attention.output.dense, model.bert.pooler.dense):
            part.weight.copy_(torch.eye(4))
        for number in range(len(labels)):
            model.classifier.weight[number] = number * torch.tensor(WORDS["good"]) / 4
    return _saved(model, folder)


def _config(**options: Any) -> Any:
    import transformers

    sizes = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1, "intermediate_size": 4}
    vocabulary = len(SPECIAL) + len(WORDS)
    return transformers.BertConfig(vocab_size=vocabulary, max_position_embeddings=LONGEST, **sizes, **options)


def _set(model: Any, encoder: Any) -> None:
    """Set all weights to 0, those of layer normalisation to 1, and the words to their vectors."""
    import torch

    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.fill_(1.0 if name.endswith("LayerNorm.weight") else 0.0)
        for number, vector in enumerate(WORDS.values(), start=len(SPECIAL)):
            encoder.embeddings.word_embeddings.weight[number] = torch.tensor(vector)


def _saved(model: Any, folder: Path) -> Path:
    import transformers

    folder.mkdir(parents=True, exist_ok=True)
    words = folder / "vocab.txt"
    words.write_text("\n".join((*SPECIAL, *WORDS)), encoding="utf-8")
    model.save_pretrained(folder)
    transformers.BertTokenizer(str(words)).save_pretrained(folder)
    return folder
