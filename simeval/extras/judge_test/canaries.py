"""Canaries: a judge's answers to a fixed set of conversations, kept, so that another model behind its name is noticed.

a run, judge-test ──▶ ask_canary ──▶ KeptAnswers.compare ──▶ CanaryFinding ──▶ notes, and the end of a licence

The test is by exchange: if the model is the same, it is chance which of its answers to a conversation are the earlier
ones. Its three statistics (are ratings higher or lower in all, do they differ conversation by conversation, do whole
replies differ) are each compared with a third of `ALPHA` (Bonferroni), so that the same model is called changed in at
most `ALPHA` of all comparisons; the observed value counts among the draws, so that this is true of any number of them
(Phipson and Smyth, 2010).
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from statistics import mean

import anyio.to_thread

from simeval.core import seeds
from simeval.core.drafts import write_whole
from simeval.core.licences import CanaryFinding
from simeval.core.logs import log
from simeval.engine.parts import RunPart
from simeval.engine.plans.cost_forecast import Spending
from simeval.engine.run_context import RunContext
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.extras.judge_test import material
from simeval.extras.judge_test.cases import REPEATS, canaries, grade_request
from simeval.extras.judge_test.licences import change_in, forms_of
from simeval.models.caller import Caller
from simeval.models.protocol.model import Grade, is_embedded
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import GradeRequest
from simeval.scorers.llm.judge import at_once, repeat_seed

DRAWS = 9999
ROUNDING = 1e-9

CANNOT_TELL = 0.0  # in place of a canary's rating: below all that there are

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


class _CanaryRequest(GradeRequest):
    """Asks a judge about a canary, in the very same words."""

    __slots__ = ()
    role = "canary"


def canary_requests(prompt: Prompt) -> list[GradeRequest]:
    """Return the requests to a judge about all canaries."""
    seeds_of_repeats = [repeat_seed(0, repeat) for repeat in range(REPEATS)]
    return [
        grade_request(_CanaryRequest, case, prompt=prompt, seed=seed)
        for case in canaries()
        for seed in seeds_of_repeats
    ]


async def ask_canary(caller: Caller, prompt: Prompt, folder: Path) -> CanaryFinding:
    """Ask a judge about the canaries, and compare its answers with the stored ones.

    They are never answered from a cache. The first call without a reply ends the others: nothing is stored or concluded
    from incomplete answers. Raises ModelUnusable, and before any call DefinitionError for invalid arguments.
    """
    kept = await kept_canary(caller, prompt, folder)
    uncached, requests = replace(caller, cache=None), canary_requests(prompt)
    said = [[request.conversation[-1].content] for request in requests]
    try:
        grades = await at_once(
            [partial(uncached.ask, each, Grade, quoted_texts=text) for each, text in zip(requests, said, strict=True)]
        )
    except ModelUnusable:
        raise
    except ModelError as error:
        return CanaryFinding(judge=caller.model.name, problem=str(error))
    answers = [(CANNOT_TELL if grade.score is None else grade.score, grade.reasoning) for grade in grades]
    replies: list[Replies] = [answers[place : place + REPEATS] for place in range(0, len(answers), REPEATS)]
    return await anyio.to_thread.run_sync(kept.compare, replies)


async def kept_canary(caller: Caller, prompt: Prompt, folder: Path) -> KeptAnswers:
    """Return the stored answers of a judge to the canaries. Raises DefinitionError if they cannot be used."""
    made_from = [material.VERSION, prompt.identity, dict(caller.options)]
    return await anyio.to_thread.run_sync(kept_answers, folder, caller.model.name, made_from, len(canaries()))


async def canaries_of(context: RunContext) -> Sequence[CanaryFinding]:
    """Return the finding on each judge that is no heuristic; empty if no folder of stored answers is set.

    Raises as `ask_canary`.
    """
    folder, prompt = context.settings.canary_folder, context.shared.prompts["judge"]
    return [] if folder is None else [await ask_canary(each, prompt, Path(folder)) for each in _asked(context)]


def _asked(context: RunContext) -> Sequence[Caller]:
    return [judge for judge in context.judges if not is_embedded(judge.model.name)]


class CanaryPart(RunPart):
    """Asks each judge of a run that is no heuristic, and compares with the answers that are kept in a folder."""

    def requests(self) -> Sequence[GradeRequest]:
        """Return the requests to each judge."""
        return canary_requests(self.context.shared.prompts["judge"])

    async def check(self) -> None:
        """Raise DefinitionError if the stored answers of a judge cannot be used."""
        prompt, folder = self.context.shared.prompts["judge"], Path(self.context.settings.canary_folder or "")
        for judge in _asked(self.context):
            await kept_canary(judge, prompt, folder)

    async def before_trials(self, spending: Spending) -> Sequence[str]:
        """Return the finding on each judge; nobody is asked if no trial could be paid for after that.

        A licence of judges of which one has changed is valid no more. Raises as `ask_canary`.
        """
        admission = spending.admits(in_flight=0, finished=0)
        if admission != "go":
            return [f"canaries were not asked: {admission}"]
        found = await canaries_of(self.context)
        for each in found:
            if each.has_changed or each.problem:
                log.warning(str(each))
        if any(each.has_changed for each in found):
            today = f"{datetime.now(UTC):%Y-%m-%d}"
            for form in forms_of(self.plans):
                change = partial(change_in, self.context, form, partial(replace, changed=today))
                await anyio.to_thread.run_sync(change)
        return [str(each) for each in found]
