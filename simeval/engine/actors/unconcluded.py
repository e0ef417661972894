"""Verdicts of trials that nothing is concluded on, each with why."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from simeval.core.settings import Settings
from simeval.core.trial import Failure, Score, Verdict


def in_error(
    verdict: Verdict, lost: Sequence[Failure], trials: int, settings: Settings, *, limit: str = "max_error_rate"
) -> Verdict:
    """Turn a verdict into an error: more trials than the setting `limit` allows have no score to conclude on."""
    commonest, times = Counter(f"{failure.stage}: {failure.error}" for failure in lost).most_common(1)[0]
    explanation = (
        f"{len(lost)} of {trials} trials have no score, more than the {getattr(settings, limit):.0%} that "
        f"{limit} allows, so nothing is concluded; most often ({times} x): {commonest}"
    )
    of_app = sum(failure.stage == "app" for failure in lost)  # which count once, as missing
    verdict = replace(verdict, left_out=max(0, verdict.left_out - of_app))
    return without_conclusion(verdict, explanation, n=trials, missing=len(lost))


def refused(verdict: Verdict, failure: Failure, trials: int) -> Verdict:
    """Turn a verdict into an error: the expectation cannot be judged, so none of the `trials` is concluded on."""
    there_are = "the one trial there is" if trials == 1 else f"the {trials} trials there are"
    so = f"so nothing is concluded on {there_are}" if trials else "so no trial was paid for"
    return without_conclusion(verdict, f"{failure.stage}: {failure.error}; {so}", n=0, missing=0)


def is_unmeasured(results: Iterable[Score | Failure | None]) -> bool:
    """Return whether none of these trials has a score."""
    return not any(isinstance(result, Score) for result in results)


def unmeasured(verdict: Verdict, unusable: str) -> Verdict:
    """Turn a verdict into an error: `unusable`, a model that cannot be used, ended the run before any score."""
    verdict = replace(verdict, estimate=None)
    return without_conclusion(verdict, f"nothing was measured: {unusable}", n=0, missing=verdict.missing)


def undecided(verdict: Verdict, why: str) -> Verdict:
    """Return a verdict that is no pass, of a scenario that was ended for this reason before it was settled."""
    verdict = replace(verdict, explanation=f"{verdict.explanation}; {why}")
    if not verdict.inconclusive:
        return verdict
    return replace(verdict, reason="suite_settled", why=f"{'not concluded' if verdict.n else 'not run'}: {why}")


def without_conclusion(verdict: Verdict, explanation: str, *, n: int, missing: int) -> Verdict:
    """Turn a verdict into an error, with why nothing is concluded."""
    return replace(
        verdict,
        outcome="error",
        p_value=None,
        p_value_fail=None,
        n=n,
        missing=missing,
        reason="errors",
        explanation=explanation,
        why=explanation,
    )
