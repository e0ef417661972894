"""The misses of an expectation, grouped by kind.

a miss ──► its evidence: rule, path, criterion, breach, cause ──► one kind for each
      └──► prose alone: the same sentence, or many of its words ──► one kind for those alike
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simeval.core.markdown import shortened
from simeval.core.trial import SAID, Failure, Score, breaches_in, first_answer
from simeval.evaluators.base import Evaluator
from simeval.results.document import FailureKind, ScenarioDocument
from simeval.results.text import kind_of, without_turn
from simeval.scorers.returned import reason_at
from simeval.stats.binomial import clopper_pearson

EACH_SIDE = 0.025
ALIKE = 0.25  # the mean similarity at which two groups of reasons become one
MOST_COMPARED = 80  # reasons that are compared each with each; the rest joins the closest group, or one of their own
MOST_RULES = 10  # different reasons of a scorer that are kept apart, as those of rules are
LONGEST = 160  # characters of a reason, as the name of a kind
NO_REASON = "no reason is given"

_AT = re.compile(r"\b(?:answer|turn|reply|message) (\d+)")
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|'[^']*'(?!\w)|\d[\d.,:]*")  # values that differ from trial to trial
_WORD = re.compile(r"[^\W\d_]+")
_STEM, _SHORTEST, _WITHOUT_SPACES = 5, 4, "\u2e80"  # letters of a stem and of a word; scripts without spaces
_COMMON = frozenset(  # stems of words that reasons of any kind have
    word[:_STEM]
    for line in (
        "about actually after again agent also although answer assistant because been before being both chatbot",
        "clear conversation correct could customer does doesn doing each either even every expected fail fails first",
        "from furthermore gave give given gives have having here however inaccurate incorrect instead into itself just",
        "made make makes match more most must never nothing only other over part parts provided really reason replies",
        "reply required response said says score should simply since some state still such than that their them then",
        "there these they thing this those through turn user users very violates well were what when where which while",
        "will with within without would wrong your",
    )
    for word in line.split()
)


@dataclass(frozen=True, slots=True)
class _Miss:
    """A trial that missed a requirement: its evidence as a key, "" for prose, and the first turn with it."""

    index: int
    said: str
    key: str
    turn: int | None


def kinds_of(
    results: Sequence[Score | Failure],
    is_met_by: Callable[[float], bool],
    *,
    leaves_out_crashes: bool = False,
) -> tuple[FailureKind, ...]:
    """Return the kinds of misses among the results of an expectation, the most frequent first.

    Each miss has one kind. Intervals are Clopper and Pearson's, 95%, of the share among all misses: exact for each
    kind by itself, also if the run stopped early, since that depends on the number of misses alone.
    """
    misses = list(_misses(results, is_met_by, leaves_out_crashes=leaves_out_crashes))
    by_key: dict[str, list[_Miss]] = {}
    for miss in misses:
        by_key.setdefault(miss.key or _template(miss.said), []).append(miss)
    prose = [found for found in by_key.values() if not found[0].key]
    kinds = [_kind(found[0].key, [found], len(misses)) for found in by_key.values() if found[0].key]
    if _is_prose(prose):
        kinds += [_kind("", group, len(misses)) for group in _alike(prose)]
    else:
        kinds += [_kind(_template(found[0].said), [found], len(misses)) for found in prose]
    return tuple(sorted(kinds, key=lambda kind: (-len(kind.trials), kind.trials)))


def kinds_among(
    results: Sequence[Score | Failure], evaluators: Sequence[Evaluator], *, leaves_out_crashes: bool = False
) -> tuple[FailureKind, ...]:
    """Return the kinds of misses of requirements, as `kinds_of` does."""

    def is_met_by(value: float) -> bool:
        return all(evaluator.meets(value) for evaluator in evaluators)

    return kinds_of(results, is_met_by, leaves_out_crashes=leaves_out_crashes)


def kinds_at(scenario: ScenarioDocument, place: int) -> Sequence[FailureKind]:
    """Return the kinds of misses of an expectation at a place; results of older versions have those of their trials."""
    expectation = scenario.expectations[place]
    if expectation.kinds or len(scenario.judgements) < scenario.trials:
        return expectation.kinds
    left_out = any(verdict.left_out for verdict in expectation.verdicts)
    results = [each.results[place] for each in scenario.judgements]
    return kinds_of(results, expectation.is_met_by, leaves_out_crashes=left_out)


def likeness(one: FailureKind, other: FailureKind) -> float:
    """Return how alike kinds of two runs are: 1 by their evidence, else by the words of their reasons; 0 if not."""
    if one.key and other.key:
        return float(one.key == other.key)
    if _template(one.said) == _template(other.said):
        return 1.0
    found = _dice(_words_of(one.said), _words_of(other.said))
    return found if found >= ALIKE else 0.0


def _misses(
    results: Sequence[Score | Failure], is_met_by: Callable[[float], bool], *, leaves_out_crashes: bool
) -> Iterator[_Miss]:
    for index, result in enumerate(results):
        if isinstance(result, Failure):
            if result.is_miss(leaves_out_crashes=leaves_out_crashes):
                said = without_turn(result.error)
                yield _Miss(index, said, f"{result.stage}: {kind_of(result.error)}", _turn_in(result.error))
        elif not is_met_by(result.value):
            said = _reason(result).strip()
            key, named = _named(result.details)
            turn = first_answer(result.details) or _turn_in(said)
            yield _Miss(index, named or said or NO_REASON, key or ("" if said else NO_REASON), turn)


def _reason(score: Score) -> str:
    """Return the reason of a score; of several ratings that of the lowest."""
    rated = [each for each in score.ratings if each.reasoning]
    if rated:
        return min(rated, key=lambda each: each.score).reasoning
    return score.reasoning or reason_at(score.details, "")


def _named(details: Mapping[str, Any]) -> tuple[str, str]:
    """Return the evidence that details name, as a key and in words: breaches, criteria or paths; else empty."""
    if breaches := {kind for kind, _ in breaches_in(details)}:
        found = "; ".join(said for kind, said in SAID.items() if kind in breaches)
        return found, found
    rulings = details.get("rulings")
    if isinstance(rulings, list):
        known = [each for each in rulings if isinstance(each, Mapping) and each.get("ruling") == "not_met"]
        missed = dict.fromkeys(str(each.get("criterion")) for each in known)
        return "; ".join(missed), f"not met: {'; '.join(missed)}" if missed else ""
    paths = details.get("state")
    return ("; ".join(map(str, paths)), "") if isinstance(paths, Mapping) else ("", "")


def _turn_in(text: str) -> int | None:
    found = _AT.search(text)
    return int(found[1]) if found else None


def _template(reason: str) -> str:
    """Return a reason without the values that differ from trial to trial."""
    return " ".join(_QUOTED.sub("…", reason).casefold().split())


def _is_prose(found: Sequence[Sequence[_Miss]]) -> bool:
    """Return whether reasons are written freely: most come once, and there are more than rules have."""
    return len(found) > MOST_RULES or 2 * len(found) > sum(map(len, found))


def _alike(found: Sequence[list[_Miss]]) -> list[list[list[_Miss]]]:
    """Group misses by the words of their reasons; misses with the same reason are together already."""
    order = sorted(found, key=lambda each: -len(each))
    words = {each[0].index: _words_of(each[0].said) for each in order}
    groups = [[each] for each in order[:MOST_COMPARED]]

    def linked(one: list[list[_Miss]], other: list[list[_Miss]]) -> float:
        return sum(_dice(words[a[0].index], words[b[0].index]) for a in one for b in other) / (len(one) * len(other))

    between = {(one, other): linked(groups[one], groups[other]) for one in range(len(groups)) for other in range(one)}
    sizes = dict.fromkeys(range(len(groups)), 1)
    while between:
        (one, other), best = max(between.items(), key=lambda each: (each[1], -each[0][1], -each[0][0]))
        if best < ALIKE:
            break
        _join(between, sizes, other, one)
        groups[other] += groups[one]
        groups[one] = []
    groups = [group for group in groups if group]
    joined: list[list[list[_Miss]]] = [[] for _ in range(len(groups) + 1)]
    for each in order[MOST_COMPARED:]:
        near = [linked(group, [each]) for group in groups]
        best = max(near)
        joined[near.index(best) if best >= ALIKE else len(groups)].append(each)
    return [group + more for group, more in zip([*groups, []], joined, strict=True) if group or more]


def _join(between: dict[tuple[int, int], float], sizes: dict[int, int], into: int, gone: int) -> None:
    """Put one group into another: the likeness to a third is the mean over all pairs."""
    del between[gone, into]
    for other in sizes.keys() - {into, gone}:
        own, lost = (max(into, other), min(into, other)), (max(gone, other), min(gone, other))
        total = between[own] * sizes[into] + between.pop(lost) * sizes[gone]
        between[own] = total / (sizes[into] + sizes[gone])
    sizes[into] += sizes.pop(gone)


def _words_of(text: str) -> frozenset[str]:
    """Return the stems of the words of a reason that are about something."""
    found: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if word[0] >= _WITHOUT_SPACES:
            found.update(word)
        elif len(word) >= _SHORTEST:
            found.add(word[:_STEM])
    return frozenset(found - _COMMON)


def _dice(one: frozenset[str], other: frozenset[str]) -> float:
    return 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0


def _kind(key: str, group: Sequence[Sequence[_Miss]], misses: int) -> FailureKind:
    """Return a group as a kind; its name is the reason that has most in common with the others."""
    words = [_words_of(each[0].said) for each in group[:MOST_COMPARED]]
    shared = Counter(word for each in words for word in each)
    typical = max(range(len(words)), key=lambda at: sum(shared[word] for word in words[at]) / (len(words[at]) or 1))
    found = [miss for each in group for miss in each]
    turns = [miss.turn for miss in found if miss.turn is not None]
    return FailureKind(
        said=shortened(" ".join(group[typical][0].said.split()), LONGEST),
        trials=tuple(sorted(miss.index for miss in found)),
        misses=misses,
        interval=clopper_pearson(len(found), misses, EACH_SIDE),
        turns=(min(turns), max(turns)) if turns else None,
        key=key,
    )
