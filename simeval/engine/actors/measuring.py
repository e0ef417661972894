"""The result of a measurement: a score clean of secrets, or a failure."""

from collections.abc import Callable
from dataclasses import replace

from simeval.core.capture import place_of
from simeval.core.redaction import clean_values
from simeval.core.serialization import plain
from simeval.core.trial import Failure, Score, failure_of
from simeval.errors import SimevalError


def cleaned_score(score: Score, clean: Callable[[str], str]) -> Score:
    """Return a score clean of secrets, in the form that a journal gives back."""
    return replace(
        score,
        reasoning=clean(score.reasoning),
        details=clean_values(plain(score.details), clean) if score.details else {},
        ratings=tuple(
            replace(each, judge=clean(each.judge), reasoning=clean(each.reasoning)) for each in score.ratings
        ),
    )


def failure_to_measure(error: Exception, *, clean: Callable[[str], str], name: str = "") -> Failure:
    """Return the failure of a scorer: with its `name` and the place, unless the error has its own remedy."""
    failure = failure_of(error, "scorer", clean=clean)
    if isinstance(error, SimevalError):
        return failure
    return replace(failure, error=f"{f'{name}: ' if name else ''}{failure.error}{place_of(error)}")
