"""How an app does with each persona of a mix of users, and with whom it does worse than with the others."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from simeval.core.trial import Failure, Judgement, Score
from simeval.core.writing_style import PERSONA
from simeval.evaluators.base import Evaluator
from simeval.results.text import speaks_against

EACH_SIDE = 0.025
LEVEL = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonaShare:
    """The number of a persona's `n` conversations that met the expectation, with the exact 95% interval.

    Trials lost by the app, or by a check of its script, count as not met; other missing ones do not count, nor do
    failures of the app that were to be left out. `p_worse` is that of "it is met as often as with the others": Fisher's
    test, by Holm's correction over all personas.
    """

    name: str
    met: int
    n: int
    interval: tuple[float, float]
    p_worse: float

    @property
    def is_worse(self) -> bool:
        """Whether the app does worse with this persona than with the others, at the 5% level."""
        return self.p_worse <= LEVEL

    def __str__(self) -> str:
        lower, upper = self.interval
        return f"{self.name} {self.met} of {self.n} ({lower:.0%} to {upper:.0%})"


def personas_of(
    judgements: Sequence[Judgement],
    results: Sequence[Score | Failure],
    evaluators: Sequence[Evaluator],
    *,
    leaves_out_crashes: bool = False,
) -> tuple[PersonaShare, ...]:
    """Return how each persona of these trials fared, in the order of names; empty without personas."""
    met: dict[str, list[bool]] = defaultdict(list)
    for judgement, result in zip(judgements, results, strict=True):
        name = (judgement.conversation.writing_style or {}).get(PERSONA)
        if name is not None and (isinstance(result, Score) or result.is_miss(leaves_out_crashes=leaves_out_crashes)):
            met[name].append(not speaks_against(result, evaluators))
    if not met:
        return ()
    from simeval.stats.binomial import clopper_pearson
    from simeval.stats.multiple import holm
    from simeval.stats.two_sample import fisher

    names = sorted(met)
    all_met, n = sum(map(sum, met.values())), sum(map(len, met.values()))
    counts = [(sum(met[name]), len(met[name])) for name in names]
    worse = holm([fisher(good, size, all_met - good, n - size).p_new_worse for good, size in counts])
    return tuple(
        PersonaShare(
            name=name,
            met=good,
            n=size,
            interval=clopper_pearson(good, size, EACH_SIDE),
            p_worse=p_value,
        )
        for name, (good, size), p_value in zip(names, counts, worse, strict=True)
    )


def show_personas(shares: Sequence[PersonaShare]) -> str | None:
    """Describe how the personas fared, and the ones the app does worse with; None without any."""
    if not shares:
        return None
    told = f"met with {', '.join(map(str, shares))}"
    worse = [f"{each.name} (p = {each.p_worse:.1g})" for each in shares if each.is_worse]
    return f"{told}; worse than with the others: {', '.join(worse)}" if worse else told
