"""The auditor: asks a model of some conversations whether the simulated user did its part."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from simeval.core import seeds
from simeval.core.capture import Caught, capture
from simeval.core.logs import log
from simeval.core.trial import Trial, TrialConversation
from simeval.engine.users.state import UserFault, asked_for
from simeval.models.caller import Caller
from simeval.models.protocol.model import AuditReply
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import AuditRequest
from simeval.suites.scenario import ScenarioTest


@dataclass(slots=True)
class Auditor:
    """Looks at a `share` of all conversations, drawn by the trials' seeds, so that no other choice enters."""

    caller: Caller
    share: float
    clean: Callable[[str], str]
    prompt: Prompt
    _failed: int = field(default=0, init=False)

    @property
    def notes(self) -> Sequence[str]:
        """How many audits came to nothing."""
        return [f"{self._failed} audits of simulated users could not be made"] if self._failed else []

    def wants(self, trial: Trial) -> bool:
        """Return whether to audit the conversation of a trial."""
        return seeds.generator(trial.seed, "audit").random() < self.share

    async def audit(self, scenario: ScenarioTest, held: TrialConversation) -> Sequence[UserFault]:
        """Return the faults that the model names, on the last message, but those that the scenario asks for.

        An audit that fails finds none.
        """
        request = AuditRequest(
            given=scenario.given,
            when=scenario.when,
            expected="\n".join(each.behaviour for each in scenario.expectations if each.behaviour),
            conversation=held.conversation.messages,
            ended=held.conversation.ended,
            seed=held.trial.seed,
            prompt=self.prompt,
        )
        made = await capture(partial(self.caller.ask, request, AuditReply))
        if isinstance(made, Caught):
            self._failed += 1
            log.debug("audit failed", error=self.clean(str(made.error)))
            return ()
        users = [place for place, message in enumerate(held.conversation.messages) if message.role == "user"]
        found = [kind for kind in dict.fromkeys(made.faults) if kind not in asked_for(scenario)]
        return [UserFault(kind, users[-1], self.clean(made.reasoning)) for kind in found]
