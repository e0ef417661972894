"""A composite judge: the first settles the clear conversations, and leaves the rest to a second."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from simeval.core import seeds
from simeval.core.conversation import Conversation
from simeval.core.escalation import ESCALATION, WHEN_UNTOLD, EscalationRule
from simeval.core.logs import log
from simeval.core.preparation import Preparation
from simeval.core.settings import Settings
from simeval.core.trial import Rating, Score
from simeval.errors import CannotTell, DefinitionError, ModelError, ModelUnusable
from simeval.models.caller import Caller
from simeval.scorers.base import Scorer
from simeval.scorers.llm.criteria import ALL_MET, NOT_ALL_MET, CriteriaScorer
from simeval.scorers.llm.judge import RubricScorer


@dataclass(frozen=True, slots=True)
class EscalatingScorer(Scorer):
    """Rates as `both` does with its first judge, and if `rule` takes that rating, with its second alone.

    The composite is the criterion: a score is the rating of the judge that settled it. The second judge also rates a
    share `audit` of the conversations that the first settles, drawn by the trial's seed; that is kept in the score's
    details under "escalation", and changes no score.
    """

    both: RubricScorer | CriteriaScorer
    rule: EscalationRule
    audit: float
    timeout_seconds = None
    direction = "higher"

    @property
    def name(self) -> str:
        return self.both.name

    async def prepare(self, columns: Mapping[str, Any]) -> Preparation | None:
        """Prepare both judges; each is shown every control by itself. Raises ModelUnusable."""
        return await self.both.prepare(columns)

    async def score(self, conversation: Conversation, given: str, when: str, seed: int, facts: Any = "") -> Score:
        """Return the rating of the judge that settles it.

        Raises ModelError if that rating is missing, CannotTell if the judge cannot decide.
        """
        [first, second] = self.both.judges
        asked: dict[str, Any] = {
            "conversation": conversation,
            "given": given,
            "when": when,
            "seed": seed,
            "facts": facts,
        }
        try:
            found = await self._by(first).score(**asked)
        except CannotTell:
            if not self.rule.when_untold:
                raise
            return await self._settled_by(second, asked, {"why": "cannot tell"})
        if self.rule.takes(found.value):
            return await self._settled_by(second, asked, {"why": "rating", "first": found.value})
        audited = await self._audited(second, asked) if self._is_drawn(seed) else {}
        return _of_judge(found, first, {"why": "settled", "first": found.value, **audited})

    def _by(self, judge: Caller) -> RubricScorer | CriteriaScorer:
        return replace(self.both, judges=[judge], escalated=judge is self.both.judges[1])

    async def _settled_by(self, second: Caller, asked: Mapping[str, Any], known: Mapping[str, object]) -> Score:
        found = await self._by(second).score(**asked)
        return _of_judge(found, second, {**known, "second": found.value})

    def _is_drawn(self, seed: int) -> bool:
        return seeds.generator(seed, "escalation audit").random() < self.audit

    async def _audited(self, second: Caller, asked: Mapping[str, Any]) -> Mapping[str, object]:
        """Return the second judge's rating of a settled conversation; empty if it has none."""
        try:
            return {"second": (await self._by(second).score(**asked)).value}
        except ModelUnusable:
            raise
        except (ModelError, CannotTell) as error:
            log.debug("escalation audit", judge=second.model.name, error=second.redactor.clean(str(error)))
            return {}


def as_composite(
    both: RubricScorer | CriteriaScorer, settings: Settings
) -> RubricScorer | CriteriaScorer | EscalatingScorer:
    """Return the scorer whose first judge escalates to the second, if the settings ask for that; else the given one.

    Raises DefinitionError for a rule that would never leave anything to the second.
    """
    if settings.escalate is None:
        return both
    rule = EscalationRule.of(settings.escalate)
    if isinstance(both, CriteriaScorer) and not (rule.when_untold or any(map(rule.takes, (ALL_MET, NOT_ALL_MET)))):
        found = f"{settings.escalate!r} takes no ruling on criteria, which are rated {NOT_ALL_MET:g} or {ALL_MET:g}"
        raise DefinitionError("escalate", found=found, do=f'add "or {WHEN_UNTOLD}" to it')
    return EscalatingScorer(both, rule, settings.escalation_audit)


def _of_judge(score: Score, judge: Caller, escalation: Mapping[str, object]) -> Score:
    """Return a score with the ratings behind its mean, which name their judges, and its escalation."""
    only = Rating(judge=judge.model.name, repeat=0, score=score.value, reasoning=score.reasoning)
    ratings: Sequence[Rating] = score.ratings or (only,)
    return replace(score, ratings=tuple(ratings), details={**score.details, ESCALATION: dict(escalation)})
