"""The kinds of misses of two runs of a suite: which got rarer or more frequent, which are new, which are gone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from simeval.analysis.changes import proves
from simeval.analysis.saved_run import scenarios_of
from simeval.core.terminal import Terminal, one_line, say_p
from simeval.results.document import FailureKind, RunDocument, ScenarioDocument
from simeval.results.kinds import kinds_at, likeness
from simeval.stats.multiple import holm
from simeval.stats.paired import mcnemar
from simeval.stats.two_sample import fisher

KindFinding = Literal["new", "more", "fewer", "gone", "unclear"]
WORST_FIRST: Sequence[KindFinding] = ("new", "more", "fewer", "gone", "unclear")
MOST_SHOWN = 8
NONE = FailureKind(said="", trials=(), misses=0, interval=(0.0, 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class KindChange:
    """A kind of misses of one requirement in both runs: in how many of how many trials it was seen.

    `p_value` is that of "it is as frequent as before" (McNemar's test of pairs, else Fisher's; two-sided, by Holm's
    correction over all kinds), approximate because kinds are made of the same trials. A kind is "more" or "fewer" where
    that is proven; one that was not seen before is "new", one that is no longer seen is "gone", whatever its p-value.
    """

    title: str
    label: str
    said: str
    finding: KindFinding
    before: int
    trials_before: int
    now: int
    trials_now: int
    p_value: float

    def __str__(self) -> str:
        counts = f"{self.before} of {self.trials_before} before, {self.now} of {self.trials_now} now"
        return f"{one_line(self.title)}: {one_line(self.label)}: {one_line(self.said)}: {counts}, {say_p(self.p_value)}"


@dataclass(frozen=True, slots=True)
class _Seen:
    """One kind in both runs, and its p-value without any correction."""

    title: str
    label: str
    kinds: tuple[FailureKind, FailureKind]
    trials: tuple[int, int]
    p_value: float


def kind_changes(before: RunDocument, now: RunDocument, *, paired: bool, alpha: float) -> tuple[KindChange, ...]:
    """Return each kind of misses of requirements that both runs have, the worst finding first."""
    found, there = [], scenarios_of(now)
    for title, scenario in scenarios_of(before).items():
        if title in there:
            found += list(_of_scenario(title, scenario, there[title], paired=paired))
    corrected = holm([each.p_value for each in found])
    changes = [_change(each, p, alpha) for each, p in zip(found, corrected, strict=True)]
    return tuple(sorted(changes, key=lambda each: (WORST_FIRST.index(each.finding), each.p_value)))


def _of_scenario(title: str, before: ScenarioDocument, now: ScenarioDocument, *, paired: bool) -> Iterator[_Seen]:
    places = {each.label: place for place, each in enumerate(now.expectations)}
    trials = (min(before.trials, now.trials),) * 2 if paired else (before.trials, now.trials)
    for place, expectation in enumerate(before.expectations):
        if expectation.label in places:
            old, new = kinds_at(before, place), kinds_at(now, places[expectation.label])
            for kinds in _matched(old, new):
                one, other = ([at for at in kind.trials if at < most] for kind, most in zip(kinds, trials, strict=True))
                if one or other:
                    p_value = _p_value(one, other, trials, paired=paired)
                    yield _Seen(title, expectation.label, kinds, trials, p_value)


def _matched(old: Sequence[FailureKind], new: Sequence[FailureKind]) -> Iterator[tuple[FailureKind, FailureKind]]:
    """Yield each kind of one run with that of the other that is most like it, if any is."""
    pairs = [(likeness(one, other), one, other) for one in old for other in new]
    pairs.sort(key=lambda pair: -pair[0])
    left, others = list(old), list(new)
    for like, one, other in pairs:
        if like and one in left and other in others:
            left.remove(one)
            others.remove(other)
            yield one, other
    yield from ((kind, NONE) for kind in left)
    yield from ((NONE, kind) for kind in others)


def _p_value(before: Sequence[int], now: Sequence[int], trials: tuple[int, int], *, paired: bool) -> float:
    if paired:
        return mcnemar(len({*now} - {*before}), len({*before} - {*now})).p_two_sided
    found = fisher(len(now), trials[1], len(before), trials[0])
    return min(1.0, 2 * min(found.p_new_better, found.p_new_worse))


def _change(seen: _Seen, p_value: float, alpha: float) -> KindChange:
    before, now = (sum(at < most for at in kind.trials) for kind, most in zip(seen.kinds, seen.trials, strict=True))
    finding: KindFinding = "unclear"
    if not before or not now:
        finding = "gone" if before else "new"
    elif proves(p_value, alpha):
        finding = "fewer" if now * seen.trials[0] < before * seen.trials[1] else "more"
    return KindChange(
        title=seen.title,
        label=seen.label,
        said=max(seen.kinds, key=lambda each: len(each.trials)).said,
        finding=finding,
        before=before,
        trials_before=seen.trials[0],
        now=now,
        trials_now=seen.trials[1],
        p_value=p_value,
    )


def told_changes(changes: Sequence[KindChange]) -> list[str]:
    """Return a line for each kind that is another than before, after a head; [] without any."""
    found = [each for each in changes if each.finding != "unclear"]
    lines = [f"{each.finding}: {each}" for each in found[:MOST_SHOWN]]
    more = [f"{len(found) - MOST_SHOWN} more; --json has them all"] if len(found) > MOST_SHOWN else []
    return ["kinds of misses (p approximate):", *lines, *more] if found else []


def change_lines(changes: Sequence[KindChange], terminal: Terminal) -> list[str]:
    """Return these lines for a terminal."""
    told = enumerate(told_changes(changes))
    return [line for place, said in told for line in terminal.wrap(said, first="  " * (place > 0), rest="    ")]
