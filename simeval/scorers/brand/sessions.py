"""Sessions: what the app said in one, and the mean of a number over many with a bootstrap interval."""

from collections.abc import Mapping, Sequence
from typing import Any

from simeval.core.conversation import Conversation
from simeval.core.trial import Estimate, Scored
from simeval.scorers.llm.graded import as_text

RESAMPLES = 1000
ALPHA = 0.025  # error on each side of the interval


def responses_of(output: Any, conversation: Any) -> Sequence[str]:
    """Return the app's responses in order, those of the conversation where there is one, without the blank ones.

    Raises ValueError where the app said nothing, which is not a score.
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
    """Return what was measured of sessions, each with its example.

    Those that could not be scored are not among them.
    """
    return [(each.example, each.measured) for each in scored if isinstance(each.measured, Mapping)]


def session_mean(values: Sequence[tuple[int, float]], *, of: int, seed: int) -> Estimate:
    """Estimate the mean of a number over sessions, each given with its example, by 1000 resamples of whole examples.

    The interval is the percentile one at 95%: approximate, too narrow with few sessions (below about 50) and near 0
    and 1. There is none with fewer than two examples, or where no two sessions differ, which is no proof. `of` says how
    many sessions there were: the method names those without a value.
    """
    import numpy as np

    from simeval.stats.agreement import bootstrap_by_cluster

    missing = f"; {of - len(values)} of {of} sessions without a value" if len(values) < of else ""
    if not values:
        return Estimate(value=None, n=0, method=f"undefined{missing}")
    numbers = np.array([value for _, value in values], dtype=np.float64)
    mean, n = float(numbers.mean()), len(values)
    examples = [example for example, _ in values]
    if len({*examples}) < 2 or np.ptp(numbers) == 0:
        return Estimate(value=mean, n=n, method=f"no interval: no two sessions that differ{missing}")
    found = bootstrap_by_cluster(
        lambda rows: float(numbers[rows].mean()), examples, alpha=ALPHA, n_draws=RESAMPLES, seed=seed
    )
    across = (
        f"from {numbers.min():.3g} to {numbers.max():.3g} across sessions, standard deviation {numbers.std(ddof=1):.2g}"
    )
    method = f"bootstrap over {found.n_clusters} sessions, {RESAMPLES} resamples, 95%; {across}{missing}"
    return Estimate(value=mean, n=n, interval=(found.low, found.high), method=method)
