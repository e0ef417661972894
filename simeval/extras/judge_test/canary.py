"""Canaries: a judge's answers to a fixed set of conversations, kept, so that another model behind its name is noticed.

The test is by exchange: if the model is the same, it is chance which of its answers to a conversation are the earlier
ones. Its three statistics (are ratings higher or lower in all, do they differ conversation by conversation, do whole
replies differ) are each compared with a third of `ALPHA` (Bonferroni), so that the same model is called changed in at
most `ALPHA` of all comparisons; the observed value counts among the draws, so that this is true of any number of them
(Phipson and Smyth, 2010).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from statistics import mean

from simeval.core import seeds
from simeval.core.drafts import write_whole
from simeval.core.licences import CanaryFinding
from simeval.errors import DefinitionError

REPEATS = 3  # answers to each conversation
DRAWS = 9999
ROUNDING = 1e-9

Replies = Sequence[tuple[float, str]]  # the ratings of one conversation, each with the reply's whole text
Statistic = Callable[[Replies, Replies], float]


def p_of_change(then: Sequence[Replies], now: Sequence[Replies], *, draws: int = DRAWS) -> float:
    """Return the p-value of "the same model answered both times", conversation by conversation.

    Hypothesis: within each conversation the answers of both times can be exchanged.
    """
    statistics = (_lifted, _ratings_apart, _replies_apart)
    smallest = min(_by_exchange(then, now, statistic, draws) for statistic in statistics)
    return min(1.0, len(statistics) * smallest)


def _by_exchange(then: Sequence[Replies], now: Sequence[Replies], statistic: Statistic, draws: int) -> float:
    found = abs(sum(statistic(old, new) for old, new in zip(then, now, strict=True)))
    random = seeds.generator(0, "canary")
    tables = [_exchanged(old, new, statistic) for old, new in zip(then, now, strict=True)]
    varying = [table for table in tables if min(table) < max(table)]
    fixed = sum(table[0] for table in tables) - sum(table[0] for table in varying)
    as_far = sum(abs(fixed + sum(map(random.choice, varying))) >= found - ROUNDING for _ in range(draws))
    return (1 + as_far) / (1 + draws)


def _exchanged(then: Replies, now: Replies, statistic: Statistic) -> list[float]:
    """Return the statistic of each way to choose the earlier ones among all answers."""
    together = [*then, *now]
    ways = combinations(range(len(together)), len(then))
    return [
        statistic([together[i] for i in way], [each for i, each in enumerate(together) if i not in way]) for way in ways
    ]


def _lifted(then: Replies, now: Replies) -> float:
    return mean(rating for rating, _ in now) - mean(rating for rating, _ in then)


def _ratings_apart(then: Replies, now: Replies) -> float:
    return abs(_lifted(then, now))


def _replies_apart(then: Replies, now: Replies) -> float:
    """Return how much more often replies of one time equal each other than those of the other time."""
    old, new = [text for _, text in then], [text for _, text in now]
    within = sum(a == b for texts in (old, new) for place, a in enumerate(texts) for b in texts[:place])
    between = sum(a == b for a in old for b in new)
    return 1 + within / max(1, len(old) * (len(old) - 1)) - between / (len(old) * len(new))  # never below 0


@dataclass(frozen=True, slots=True)
class KeptAnswers:
    """A judge's answers in a file; `then` is None if none are stored yet."""

    judge: str
    path: Path
    since: str = ""
    then: Sequence[Replies] | None = None

    def compare(self, answers: Sequence[Replies]) -> CanaryFinding:
        """Compare new answers with the stored ones; store them if there are none. Raises DefinitionError."""
        if self.then is None:
            today = f"{datetime.now(UTC):%Y-%m-%d}"
            said = {"judge": self.judge, "kept": today, "answers": answers}
            try:
                write_whole(self.path, json.dumps(said, ensure_ascii=False, indent=1))
            except OSError as error:
                raise _unusable(self.path, error) from error
            return CanaryFinding(judge=self.judge, kept=today)
        p = p_of_change(self.then, answers)
        means = [mean(rating for replies in each for rating, _ in replies) for each in (self.then, answers)]
        return CanaryFinding(judge=self.judge, kept=self.since, p_value=p, mean_then=means[0], mean_now=means[1])


def kept_answers(folder: Path, judge: str, made_from: Sequence[object], conversations: int) -> KeptAnswers:
    """Return the stored answers of a judge to so many conversations in a folder.

    `made_from` is all that answers depend on: another prompt or option is another canary. Raises DefinitionError for a
    folder that cannot be used.
    """
    key = sha256(json.dumps([judge, *made_from], sort_keys=True, default=str).encode()).hexdigest()
    path = folder / f"{key}.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            return KeptAnswers(judge, path)
        kept = json.loads(path.read_text(encoding="utf-8"))
        then = [[(float(rating), str(text)) for rating, text in replies] for replies in kept["answers"]]
        if [len(replies) for replies in then] != [REPEATS] * conversations:
            raise ValueError(f"it has not {REPEATS} answers to each of {conversations} conversations")
        return KeptAnswers(judge, path, str(kept["kept"]), then)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _unusable(path, error) from error


def _unusable(path: Path, error: Exception) -> DefinitionError:
    do = "name another folder, or remove the file"
    return DefinitionError(f"canary {path}", found=f"it cannot be used ({error})", do=do)
