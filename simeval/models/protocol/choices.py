"""A choice: a model answers with one of a few labels, each a single token, and may give the probability of each.

Labels are single characters or words, none of them a prefix of another: 1 and 10 may have the same first token, so that
its probability is ambiguous.
"""

import json
from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from simeval.errors import MalformedReply
from simeval.models.protocol.model import Completion
from simeval.models.protocol.replies import Reply
from simeval.models.protocol.thoughts import answer_in

LEAST_MASS = 0.5  # of all probability; where labels have less, the first token is another, such as a space


class Choice(Reply):
    """A label, and the probabilities of all of them, which sum to 1; 1 for the label alone if none were sent."""

    label: str
    probabilities: Mapping[str, float]

    def expected(self, values: Mapping[str, float]) -> float:
        """Return the mean of the labels' values by their probabilities."""
        return sum(share * values[label] for label, share in self.probabilities.items())


def read_choice(completion: Completion, labels: Sequence[str], *, model: str) -> Choice:
    """Return the label that an answer begins with. Raises MalformedReply if it begins with none of them.

    If the model thought before it, the other labels' probabilities are unknown.
    """
    text = answer_in(completion.text, model).strip()
    first_token = completion.first_token if text == completion.text.strip() else {}
    if kept := _kept(text, labels):
        return kept
    first = text.strip("*_`\"'([<").casefold()
    said = next((label for label in labels if _begins(first, label.casefold())), None)
    if said is None:
        raise MalformedReply(model, problem=f"it begins with none of {', '.join(labels)}", reply=completion.text)
    mass: dict[str, float] = {}
    for token, share in first_token.items():
        label = next((each for each in labels if token.strip().casefold() == each.casefold()), None)
        if label is not None:
            mass[label] = mass.get(label, 0.0) + share
    whole = sum(mass.values())
    known = {label: share / whole for label, share in mass.items()} if whole >= LEAST_MASS else {said: 1.0}
    return Choice(label=said, probabilities=known)


def _kept(text: str, labels: Sequence[str]) -> Choice | None:
    """Return the choice that was kept with its probabilities, if the text is one of these labels."""
    if not text.startswith("{"):
        return None
    try:
        kept = Choice.model_validate(json.loads(text))
    except (ValueError, ValidationError, RecursionError):
        return None
    return kept if {kept.label, *kept.probabilities} <= set(labels) else None


def _begins(text: str, label: str) -> bool:
    rest = text.removeprefix(label)
    return rest != text and not rest[:1].isalnum()
