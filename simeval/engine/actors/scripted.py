"""A script's side of a conversation: it sends given messages, lets the simulated user talk, and checks in between."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from simeval.core.conversation import GIVEN, HELD_ANEW, LEFT, Conversation, Ending, Message
from simeval.core.faces import load
from simeval.engine.actors.dialogue import Exchange
from simeval.engine.actors.simulator import Simulator
from simeval.errors import CheckFailed
from simeval.evaluators.ratings import SUCCESS_RATING
from simeval.models.protocol.prompt_texts import Prompt
from simeval.scorers.base import Scorer
from simeval.scorers.returned import select
from simeval.scorers.world_state import StateMatch
from simeval.suites.script import Check, Step

ATTACKER = "simeval.extras.attacks.attacker:Attacker"  # a feature that attaches from outside
GIVEN_BY_SCRIPT: Mapping[str, bool] = {GIVEN: True}

Look = Callable[[Conversation], Awaitable[Conversation]]


@dataclass(frozen=True, slots=True)
class Checker:
    """Compares checks of a script with the conversation so far.

    `judge` makes the scorer of a sentence that judges rule on; `look` adds the state of its world to a conversation.
    """

    judge: Callable[[str], Scorer]
    situation: Mapping[str, object]
    look: Look | None = None

    async def misses(self, check: Check, said: Sequence[Message]) -> str:
        """Return why a check does not hold; empty if it does. Raises NotMeasured, CannotTell and ModelError."""
        conversation = Conversation(messages=tuple(said))
        if check.judged is not None:
            return await self._judged(check.judged, conversation)
        if check.tools is not None:
            return check.tools.score(conversation).reasoning
        if check.state is not None:
            seen = await self.look(conversation) if self.look else conversation
            return StateMatch(state=check.state).score(seen).reasoning
        return check.misses(said[-1].content)

    async def _judged(self, sentence: str, conversation: Conversation) -> str:
        columns = {**self.situation, "conversation": conversation, "expected_behavior": sentence}
        score = select(await self.judge(sentence).measure(columns), None, name="check")
        return "" if score.value >= SUCCESS_RATING else f"the judge does not find that {sentence!r}"


@dataclass(frozen=True, slots=True)
class Scripted:
    """The user's side of a trial by a script; the simulator talks where the script has it."""

    simulator: Simulator
    script: Sequence[Step]
    checker: Checker
    attack_prompt: Prompt

    async def run(self, exchange: Exchange) -> Ending:
        """Do each step in turn; the conversation ends after the last. Raises CheckFailed, and the errors of steps.

        A simulated user that leaves ends its own step; it has left if that is the last turn.
        """
        said: list[Message] = []
        ended: Ending = "script_over"
        for place, step in enumerate(self.script):
            if step.user is not None:
                following = self.script[place + 1 : place + 2]
                await self._say(step.user, following[0].app if following else None, said, exchange)
                ended = "script_over"
            elif step.simulate is not None:
                answered = sum(message.role == "user" for message in said)
                turns = self.simulator.scenario.max_turns - answered if step.simulate == "to_end" else step.simulate
                left = await self.simulator.talk(exchange, said, turns=turns)
                ended = left if left in LEFT else "script_over"
            elif step.attack is not None:
                attacker = load(ATTACKER)(self.simulator, step.attack, self.attack_prompt)
                ended = await attacker.talk(exchange, said)
            elif (check := step.checks) is not None and (why := await self.checker.misses(check, said)):
                turn = sum(message.role == "assistant" for message in said)
                raise CheckFailed(turn, place + 1, why)
        return ended

    async def _say(self, text: str, answer: str | None, said: list[Message], exchange: Exchange) -> None:
        anew = {HELD_ANEW: list(self.simulator.held_anew)} if self.simulator.held_anew and not said else {}
        message = Message(role="user", content=text, metadata={**GIVEN_BY_SCRIPT, **anew})
        given = None if answer is None else Message(role="assistant", content=answer, metadata=GIVEN_BY_SCRIPT)
        said += await self.simulator.exchanged(message, exchange, given)
