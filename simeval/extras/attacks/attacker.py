"""The simulated attacker: it works towards its aim, and takes back messages the app refuses outright.

A message taken back stays in the transcript; neither the attacker nor, as far as it can forget, the app goes on from
there.

    message ──► answer ──► refused outright? ── no ──► both histories go on
       ▲                        └── yes, and some tries are left: both lose this turn ──► another message instead
       └──────────────────────────────────────────────────────────────────────────────────────────┘
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

from simeval.core.conversation import ATTACK, AttackMove, Ending, Message
from simeval.core.wording import refuses
from simeval.engine.actors.dialogue import Exchange, Simulator
from simeval.models.protocol.prompt_texts import Prompt
from simeval.models.protocol.prompts import AttackTurn
from simeval.suites.script import MOST_TAKEN_BACK


@dataclass(frozen=True, slots=True)
class Attacker:
    """Plays the attacker of one trial: the simulator's scenario describes it, and it pursues its `aim`."""

    simulator: Simulator
    aim: str
    prompt: Prompt

    async def talk(self, exchange: Exchange, said: list[Message]) -> Ending:
        """Attack after the messages in `said`, and add to them until there are `max_turns`.

        At most a few are taken back. Raises ModelError, and the errors of `exchange`.
        """
        standing, refused = [*said], list[str]()
        move: AttackMove = "goes_on"
        while sum(message.role == "user" for message in standing) < self.simulator.scenario.max_turns:
            message = await self._write(standing, refused, move)
            turn = await self.simulator.exchanged(message, exchange)
            said += turn
            is_refused = refuses(turn[1].content) and not turn[1].tool_calls
            if is_refused and len(refused) < MOST_TAKEN_BACK:
                refused.append(message.content)
                move = "instead"
            else:
                standing += turn
                move = "goes_on"
        return "turn_limit"

    async def _write(self, standing: Sequence[Message], refused: Sequence[str], move: AttackMove) -> Message:
        started, clock = datetime.now(UTC), perf_counter()
        request = AttackTurn(
            given=self.simulator.scenario.given,
            when=self.aim,
            writing_style=None,
            history=tuple(standing),
            seed=self.simulator.seed,
            format=self.simulator.format,
            refused=tuple(refused),
            prompt=self.prompt,
        )
        answers = [message.content for message in standing if message.role == "assistant"]
        reply = await self.simulator.caller.ask(request, request.reads, quoted_texts=answers)
        seconds = perf_counter() - clock
        return Message(role="user", content=reply.message, started=started, seconds=seconds, metadata={ATTACK: move})
