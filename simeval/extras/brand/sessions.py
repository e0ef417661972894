"""Sessions: the app's replies in one, the mean of a number over many with its interval, and weighted means."""

from collections.abc import Mapping, Sequence
from math import fsum, inf
from statistics import fmean, stdev
from typing import Any

from simeval.core.conversation import Conversation
from simeval.core.trial import Estimate, Scored
from simeval.core.validation import is_number, require
from simeval.scorers.llm.graded import as_text


def responses_of(output: Any, conversation: Any) -> Sequence[str]:
    """Return the app's responses in order, from the conversation if there is one, without the blank ones.

    Raises ValueError if the app sent no text, which is not a score.
    """
    if isinstance(conversation, Conversation):
        said: Sequence[str] = [message.content for message in conversation.responses]
    else:
        shown = as_text(output)
        said = [shown] if isinstance(shown, str) else shown
    found = [text for text in said if text.strip()]
    if not found:
        raise ValueError("the app said nothing, so there is nothing to measure")
    return found


def measured_in(scored: Sequence[Scored]) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """Return the measurements of sessions, each with its example.

    Sessions without a score are left out.
    """
    return [(each.example, each.measured) for each in scored if isinstance(each.measured, Mapping)]


def session_mean(values: Sequence[tuple[int, float]], *, of: int, alpha: float) -> Estimate:
    """Estimate the mean over examples of a number from 0 to 1, each given with its example, with its range.

    The interval is Gaffke's with `alpha` on each side, as the metric of the same number has it. Sessions of one example
    count once, by their mean. `of` is the number of all sessions: the method names how many lack a value.
    """
    from simeval.stats.mean import lower_bound, upper_bound

    missing = f"; {of - len(values)} of {of} sessions without a value" if len(values) < of else ""
    if not values:
        return Estimate(value=None, n=0, method=f"undefined{missing}")
    examples: dict[int, list[float]] = {}
    for example, value in values:
        examples.setdefault(example, []).append(value)
    means, numbers = [fmean(found) for found in examples.values()], [value for _, value in values]
    across = f"from {min(numbers):.3g} to {max(numbers):.3g} across sessions"
    apart = f", standard deviation {stdev(numbers):.2g}" if len(numbers) > 1 else ""
    interval = lower_bound(means, alpha, low=0.0), upper_bound(means, alpha, high=1.0)
    method = f"Gaffke, 0 to 1; {across}{apart}{missing}"
    return Estimate(value=fmean(means), n=len(means), interval=interval, method=method)


def require_weights(weights: Mapping[str, float], known: Mapping[str, float], where: str) -> None:
    """Raise a DefinitionError unless each weight is of a known part and 0 or more, and one of them above 0."""
    shown = ", ".join(known)
    listed = isinstance(weights, Mapping) and weights.keys() <= known.keys()
    require(listed, f"{where}: weights", found=weights, do=f"give a number for each of {shown}")
    usable = all(is_number(weight) and 0 <= weight < inf for weight in weights.values())
    require(usable and any(weights.values()), f"{where}: weights", found=weights, do="give 0 or more, not all 0")


def shares_of(weights: Mapping[str, float], measured: Mapping[str, object]) -> dict[str, float]:
    """Return the weights of those parts that were measured, so that they sum to 1; empty where no weight is left."""
    left = {name: weight for name, weight in weights.items() if weight and measured.get(name) is not None}
    total = fsum(left.values())
    return {name: weight / total for name, weight in left.items()}


def weighted(shares: Mapping[str, float], values: Mapping[str, float | None]) -> float:
    """Return the mean of the parts that have a share, which sum to 1."""
    return fsum(share * (values[name] or 0.0) for name, share in shares.items())
