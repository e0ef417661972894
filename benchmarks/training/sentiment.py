"""Train the embedded sentiment model: low-rank adapters on MiniLM, from sentences that people have rated.

    python -m benchmarks.training.sentiment DATA [--validate] [--leave-out DOMAIN] [--epochs N] [--seed N] [--save FILE]

DATA is public_vader_sentiment.jsonl.gz. What is held out (a fifth, by document) is measured once, when the training is
over; no choice was made on it. With --validate the training leaves another fifth out, measures that after each epoch,
and nothing of the test: the constants below were chosen so. With --leave-out a domain is not trained on, and all of it
is measured. It runs on one thread; with the same seed, machine and versions the weights are the same to the bit.

The target of a sentence is the share of its raters in each class, not the most frequent one. The loss is the cross
entropy to the shares, and beside it the squared error of the expected score. Tokens are left out at random meanwhile,
and what is kept is a moving average of the weights. Sentences whose ratings are not known (99, where the two files of
the source disagree) are not trained on.
"""

import argparse
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import ceil, cos, pi, sqrt
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import torch
from scipy.stats import pearsonr
from torch.nn.utils import parametrize

from benchmarks.training.sentiment_data import HELD_OUT, SETS, VALIDATION, Rated, apart, class_of, read
from simeval.extras.local.checkpoints import located
from simeval.extras.local.networks import load_encoder
from simeval.extras.local.sentiment_network import (
    ADAPTED,
    CLASSES,
    LONGEST,
    LOWER_LAYERS,
    WEIGHTS,
    Inputs,
    SentimentNetwork,
    inputs,
    upper_logits,
)
from simeval.extras.local.vader import features_of
from simeval.models.encoders import MINILM

RANK = 16
EPOCHS = 5
BATCH = 32
LEARNING_RATE = 7e-4
FASTER = {"head.weight": 2.0, "head.bias": 2.0, "valence": 10.0}  # than the adapters learn
WARM_UP = 0.06  # of all steps
DECAY = 0.01
AVERAGING = 0.99  # what each step keeps of the moving average
DROPOUT = 0.3
TOKENS_LEFT_OUT = 0.15
SQUARED_ERROR = 8.0  # its weight beside the cross entropy
LARGEST_NORM = 1.0
WIDTH = 384
WORTHS = torch.tensor([-1.0, -0.5, 0.0, 0.5, 1.0])


@dataclass(frozen=True, slots=True)
class Prepared:
    """A sentence as far as it needs no training: what the lower layers made of it, and the lexicon's view."""

    rated: Rated
    states: torch.Tensor  # tokens x WIDTH
    valences: torch.Tensor  # tokens
    features: torch.Tensor


@dataclass(slots=True)
class Learner:
    """MiniLM with adapters hung on its upper layers; `learnt` is what is trained, by the names it is saved under."""

    network: SentimentNetwork
    learnt: dict[str, torch.nn.Parameter] = field(default_factory=dict)
    averaged: dict[str, torch.Tensor] = field(default_factory=dict)

    def logits(self, batch: Inputs, *, dropout: float = 0.0) -> torch.Tensor:
        return upper_logits(self.network.model, batch, self.network.weights, dropout=dropout)

    @contextmanager
    def average(self) -> Iterator[None]:
        """Put the averaged weights in the place of the last ones for a while."""
        last = {name: value.detach().clone() for name, value in self.learnt.items()}
        self.put(self.averaged)
        yield
        self.put(last)

    def put(self, values: Mapping[str, torch.Tensor]) -> None:
        with torch.no_grad():
            for name, value in self.learnt.items():
                value.copy_(values[name])

    def save(self, path: Path) -> None:
        """Save the averaged weights in 16 bits, and the scale of the features."""
        scale = {name: value for name, value in self.network.weights.items() if name.startswith("features.")}
        whole = {name: value.detach().numpy().astype(np.float16) for name, value in (self.averaged | scale).items()}
        np.savez(path, **whole)


class LowRank(torch.nn.Module):  # type: ignore[misc]
    """A weight with the product of two narrow matrices added to it; at first the product is zero."""

    def __init__(self, weight: torch.Tensor) -> None:
        super().__init__()
        self.up = torch.nn.Parameter(torch.zeros(weight.shape[0], RANK))
        self.down = torch.nn.Parameter(2 * torch.randn(RANK, weight.shape[1]) / sqrt(weight.shape[1]))

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return the weight as it is meanwhile."""
        return weight + self.up @ self.down


def learner(training: Sequence[Rated]) -> Learner:
    """Return MiniLM as it is, with adapters that do nothing yet, and the scale of the features in training."""
    found = load_encoder(located(MINILM))
    found.model.requires_grad_(requires_grad=False)
    features = np.array([features_of(each.text) for each in training])
    learnt = {
        "head.weight": torch.nn.Parameter(torch.randn(len(CLASSES), 2 * WIDTH + features.shape[1]) * 0.02),
        "head.bias": torch.nn.Parameter(torch.zeros(len(CLASSES))),
        "valence": torch.nn.Parameter(torch.zeros(WIDTH)),
    }
    scale = {
        "features.mean": torch.tensor(features.mean(axis=0), dtype=torch.float32),
        "features.deviation": torch.tensor(features.std(axis=0) + 1e-3, dtype=torch.float32),
    }
    network = SentimentNetwork(
        tokenizer=found.tokenizer, model=found.model, longest=LONGEST, labels=CLASSES, weights={**learnt, **scale}
    )
    for number, layer in enumerate(found.model.encoder.layer[LOWER_LAYERS:]):
        for name in ADAPTED:
            linear = layer.get_submodule(name)
            adapter = LowRank(linear.weight)
            parametrize.register_parametrization(linear, "weight", adapter)
            learnt |= {f"{number}.{name}.up": adapter.up, f"{number}.{name}.down": adapter.down}
    return Learner(network, learnt, {name: value.detach().clone() for name, value in learnt.items()})


def prepared(network: SentimentNetwork, rated: Sequence[Rated]) -> list[Prepared]:
    """Put sentences through the lower layers, which stay as they are, once."""
    found: dict[str, Prepared] = {}
    ordered = sorted(rated, key=lambda each: len(each.text))
    for at in range(0, len(ordered), BATCH):
        some = ordered[at : at + BATCH]
        sentences = network.prepare([each.text for each in some])
        with torch.no_grad():
            given = inputs(network.model, sentences, network.weights)
        for row, (each, sentence) in enumerate(zip(some, sentences, strict=True)):
            length = len(sentence)
            states, valences = given.states[row, :length].clone(), given.valences[row, :length]
            found[each.id] = Prepared(each, states, valences, given.features[row])
    return [found[each.id] for each in rated]


def together(some: Sequence[Prepared], *, left_out: float = 0.0) -> Inputs:
    """Pad sentences to one batch, where each token but the first is not seen with the chance `left_out`."""
    longest = max(len(each.states) for each in some)
    states = torch.zeros(len(some), longest, WIDTH)
    mask, valences = torch.zeros(len(some), longest), torch.zeros(len(some), longest)
    for row, each in enumerate(some):
        length = len(each.states)
        states[row, :length], mask[row, :length], valences[row, :length] = each.states, 1.0, each.valences
    if left_out:
        mask[:, 1:] *= (torch.rand(mask.shape) >= left_out)[:, 1:]
    return Inputs(states, mask, valences, torch.stack([each.features for each in some]))


def batches_of(sentences: Sequence[Prepared], order: random.Random) -> list[list[Prepared]]:
    """Return batches of sentences that are about equally long, in a random order."""
    ordered = sorted(sentences, key=lambda each: len(each.states) + 8 * order.random())
    found = [ordered[at : at + BATCH] for at in range(0, len(ordered), BATCH)]
    order.shuffle(found)
    return found


def loss_of(logits: torch.Tensor, some: Sequence[Prepared]) -> torch.Tensor:
    """Return the cross entropy to the raters' shares, and the squared error of the expected score."""
    shares = torch.tensor([each.rated.shares for each in some])
    logs = logits.log_softmax(dim=1)
    errors = (logs.exp() - shares) @ WORTHS
    return -(shares * logs).sum(dim=1).mean() + SQUARED_ERROR * errors.square().mean()


def epochs_of(learning: Learner, sentences: Sequence[Prepared], *, epochs: int, seed: int) -> Iterator[float]:
    """Train, and give the mean loss of each epoch when it is over."""
    groups = [
        {"params": [value], "lr": LEARNING_RATE * FASTER.get(name, 1.0)} for name, value in learning.learnt.items()
    ]
    optimizer, order = torch.optim.AdamW(groups, weight_decay=DECAY), random.Random(seed)
    steps = epochs * ceil(len(sentences) / BATCH)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (WARM_UP * steps)) * (1 + cos(pi * step / steps)) / 2
    )
    step = 0
    for _ in range(epochs):
        losses: list[float] = []
        for some in batches_of(sentences, order):
            loss = loss_of(learning.logits(together(some, left_out=TOKENS_LEFT_OUT), dropout=DROPOUT), some)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(learning.learnt.values(), LARGEST_NORM)
            optimizer.step()
            schedule.step()
            step += 1
            for name, value in learning.learnt.items():
                learning.averaged[name].lerp_(value.detach(), 1 - min(AVERAGING, (1 + step) / (10 + step)))
            losses.append(loss.item())
        yield sum(losses) / len(losses)


def scores_of(learning: Learner, sentences: Sequence[Prepared]) -> torch.Tensor:
    """Return the probabilities of the five classes by the averaged weights."""
    found = torch.zeros(len(sentences), len(CLASSES))
    order = sorted(range(len(sentences)), key=lambda number: len(sentences[number].states))
    with learning.average(), torch.no_grad():
        for at in range(0, len(order), BATCH):
            rows = order[at : at + BATCH]
            found[rows] = learning.logits(together([sentences[row] for row in rows])).softmax(dim=1)
    return found


def shown(probabilities: torch.Tensor, rated: Sequence[Rated]) -> str:
    """Return Pearson's correlation with the raters' mean, and the accuracy of five classes, for each domain."""
    scores = probabilities @ WORTHS
    found = []
    for domain in SETS.values():
        rows = [number for number, each in enumerate(rated) if each.domain == domain]
        if rows:
            pearson = pearsonr(scores[rows].numpy(), [rated[row].mean for row in rows])[0]
            hits = [int(probabilities[row].argmax()) == class_of(rated[row].mean) for row in rows]
            found.append(f"{domain} {pearson:.3f} / {sum(hits) / len(hits):.3f}")
    return ", ".join(found)


def measured(weights: Path, rated: Sequence[Rated]) -> str:
    """Measure saved weights as the package uses them."""
    network = SentimentNetwork.load(located(MINILM), weights)
    rows: list[Any] = []
    for at in range(0, len(rated), BATCH):
        rows += network.run(network.prepare([each.text for each in rated[at : at + BATCH]]))
    return shown(torch.tensor([list(row.values()) for row in rows]), rated)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--leave-out", choices=list(SETS.values()))
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help=f"where to; the package's own are {WEIGHTS.name}")
    return parser.parse_args()


def main() -> None:
    """Train, and print what came of it."""
    asked, began = arguments(), process_time()
    torch.set_num_threads(1)
    torch.manual_seed(asked.seed)
    whole, test = apart(read(asked.data), HELD_OUT)
    training, validation = apart(whole, VALIDATION) if asked.validate else (whole, [])
    training = [each for each in training if each.shares and each.domain != asked.leave_out]
    learning = learner(training)
    sentences, beside = prepared(learning.network, training), prepared(learning.network, validation)
    for epoch, loss in enumerate(epochs_of(learning, sentences, epochs=asked.epochs, seed=asked.seed), 1):
        found = f"; {shown(scores_of(learning, beside), validation)}" if beside else ""
        print(f"epoch {epoch}: loss {loss:.4f}, {process_time() - began:.0f} CPU-seconds{found}", flush=True)
    if not asked.validate:
        unseen = [each for each in whole if each.domain == asked.leave_out]
        with tempfile.TemporaryDirectory() as folder:
            path = asked.save or Path(folder) / WEIGHTS.name
            learning.save(path)
            print(f"held out, Pearson / accuracy of five classes: {measured(path, [*test, *unseen])}")


if __name__ == "__main__":
    main()
