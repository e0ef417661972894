"""Hold and measure the scenarios of a suite, in any process. One worker owns a trial from its start to its end.

A trial's world is made for one trial, gives its tools, is looked at, and is closed.

made ──► opened ──► tools of app and user ──► conversation ──► state ──► closed
"""

import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable, signature
from math import inf
from typing import Any, Self

import anyio

from simeval.core import seeds
from simeval.core.app_handler import ExampleHandler
from simeval.core.capture import Caught, capture, place_of
from simeval.core.conversation import ATTACK, GIVEN, WORLD, Beginning, Conversation, Ending, Message
from simeval.core.logs import log
from simeval.core.redaction import cleaned
from simeval.core.run_records import Start, TrialKey
from simeval.core.setting_field import PERSONA, Shard
from simeval.core.settings import Settings
from simeval.core.trial import (
    MOST_ANEW,
    NO_REPLY,
    NOT_IN_SCENARIO,
    USER_FAULT,
    Failure,
    Trial,
    TrialConversation,
    failure_of,
)
from simeval.core.validation import require
from simeval.core.waits import in_words
from simeval.core.world import World, WorldMaker, made_world, state_of, world_record
from simeval.engine.actors.app import AlteredApp, Memory
from simeval.engine.actors.dialogue import (
    NOTHING_SAID,
    ONE_SESSION,
    SHARED,
    Bookmark,
    Checker,
    Dialogue,
    Exchange,
    Look,
    Mixing,
    Scripted,
    Simulator,
    UserSide,
)
from simeval.engine.actors.handler import Toolbox
from simeval.engine.actors.targets import Target
from simeval.engine.executors import ByApp, LocalExecutor
from simeval.engine.flow import Demand, Recorder
from simeval.engine.plans.resume import ShardPlan, comparisons
from simeval.engine.plans.scenario_plan import ScenarioPlan, make_plans
from simeval.engine.run_context import RunContext
from simeval.engine.users.audit import Auditor
from simeval.engine.users.faults import find_faults, with_faults
from simeval.engine.users.state import Hands, UserFault, takes_leave
from simeval.errors import DefinitionError, WorldError, said_of
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.models.caller import Caller
from simeval.models.protocol.prompt_texts import Prompt
from simeval.scorers.base import Scorer
from simeval.suites.apps.protocol_app import ProtocolApp
from simeval.suites.scenario import Expectation, ScenarioTest, shorten
from simeval.suites.script import Step, UserPersona

LONGEST_QUOTE = 120  # characters of an app's question


@dataclass(frozen=True, slots=True)
class OpenWorld:
    """The world of one trial; reading its state may take so many seconds.

    `session` gives the app's present name of the conversation.
    """

    world: World
    toolbox: Toolbox
    users: Toolbox
    seconds: float
    session: Callable[[], str | None] = lambda: None

    def hands(self) -> Hands:
        """Return the hands of the trial's user, with its tools."""
        return Hands(self.users.tools, self.users.taken)

    async def seen(self, conversation: Conversation) -> Conversation:
        """Return a conversation with the present state of the world; a part that cannot be read has its reason."""
        if not conversation.messages:
            return conversation
        *earlier, last = conversation.messages
        return replace(conversation, messages=(*earlier, _with_world(last, await self.record())))

    async def record(self) -> Mapping[str, Any]:
        """Return the present state of the world, as a conversation keeps it."""
        began = anyio.current_time()
        with anyio.move_on_after(self.seconds) as limit:
            found = await capture(self._state)
        is_late = limit.cancelled_caught or anyio.current_time() - began > self.seconds  # plain functions too
        record = world_record({} if is_late or isinstance(found, Caught) else found)
        if is_late:
            record["unmeasured"] = {"": f"no state within {in_words(self.seconds)}"}
        elif isinstance(found, Caught):
            record["unmeasured"] = {"": _said(found.error)}
        return record

    async def _state(self) -> Any:
        found = state_of(self.world, self.session())
        return await found if isawaitable(found) else found


def _with_world(message: Message, record: Mapping[str, Any]) -> Message:
    return replace(message, metadata={**message.metadata, WORLD: record})


@dataclass(slots=True)
class Watch:
    """The user's side of a trial whose world is looked at after each answer."""

    side: UserSide
    world: OpenWorld
    records: list[Mapping[str, Any]] = field(default_factory=list)

    async def run(self, exchange: Exchange) -> Ending:
        """Talk to the end, as the side does, and keep the state of the world after each answer."""

        async def watched(message: Message, given: Message | None = None) -> Message:
            answer = await exchange(message, given)
            if given is None:
                self.records.append(await self.world.record())
            return answer

        return await self.side.run(watched)

    def told(self, conversation: Conversation) -> Conversation:
        """Return the conversation with these states in its answers."""
        records = iter(self.records)
        messages = [
            _with_world(each, record) if each.is_response and (record := next(records, None)) is not None else each
            for each in conversation.messages
        ]
        return replace(conversation, messages=tuple(messages))


@asynccontextmanager
async def open_world(
    maker: WorldMaker, *, seed: int, seconds: float, trial: int = 0, session: Callable[[], str | None] = lambda: None
) -> AsyncIterator[OpenWorld]:
    """Open the world of a trial, and close it; either may take so many seconds. `session` is as of OpenWorld.

    Raises WorldError if it cannot be opened. A failure to close it costs no trial.
    """
    opened = False
    with anyio.CancelScope(deadline=anyio.current_time() + seconds) as life:  # left in the task that entered it
        manager, world = await _entered(partial(made_world, maker, seed=seed, trial=trial, session=session()))
        try:
            opened, life.deadline = True, inf
            yield replace(world_of(world, seconds), session=session)
        finally:
            life.shield, life.deadline = True, anyio.current_time() + seconds
            left = await capture(partial(manager.__aexit__, *sys.exc_info()))
            if isinstance(left, Caught):
                log.warning("a world could not be closed", error=_said(left.error))
    if life.cancelled_caught and not opened:
        raise WorldError(f"was not open within {in_words(seconds)}")
    if life.cancelled_caught:
        log.warning("a world could not be closed", error=f"it took more than {in_words(seconds)}")


async def _entered(make: Callable[[], Any]) -> tuple[Any, Any]:
    async def entered() -> tuple[Any, Any]:
        manager = make()
        if not isinstance(manager, AbstractAsyncContextManager):
            raise WorldError(f"is no async context manager: its maker returned {manager!r:.80}")
        return manager, await manager.__aenter__()

    made = await capture(entered)
    if isinstance(made, Caught) and isinstance(made.error, WorldError):
        raise made.error
    if isinstance(made, Caught):
        raise WorldError(f"could not be opened: {_said(made.error)}") from made.error
    return made


def world_of(world: Any, seconds: float) -> OpenWorld:
    """Return the parts of a world. Raises WorldError for anything but a world."""
    if not isinstance(world, World):
        raise WorldError(f"has no method state(): entering it gave {world!r:.80}")
    app, users = (Toolbox.of(getattr(world, name, None), whose=name) for name in ("tools", "user_tools"))
    for name, tool in users.tools.items():
        try:
            signature(tool).bind()
        except TypeError as error:
            raise WorldError(f"has the tool {name} for its user, who calls it without arguments: {error}") from error
    return OpenWorld(world, app, users, seconds)


def _said(error: Exception) -> str:
    return said_of(error) + place_of(error)


@dataclass(frozen=True, slots=True)
class Conversations:
    """Holds the conversations of trials with simulated users, and checks whether those did their part.

    `scenarios` are those of the plans as they were written, since plans hold them clean of secrets: the simulator needs
    the user's facts and goal. Trials in `begun` continue. `judge_of` makes the scorer of a sentence in the middle of a
    conversation. An `auditor` checks some of them, too, and `mixing` listens.
    """

    plans: Sequence[ScenarioPlan]
    caller: Caller
    dialogue: Dialogue
    settings: Settings
    scenarios: Sequence[ScenarioTest]
    recorder: Recorder
    begun: Mapping[TrialKey, Start]
    prompt: Prompt
    attack_prompt: Prompt
    judge_of: Callable[[str], Scorer]
    auditor: Auditor | None = None
    mixing: Mixing | None = None

    @property
    def notes(self) -> Sequence[str]:
        return (
            *([self.dialogue.clean(self.mixing.found)] if self.mixing and self.mixing.found else []),
            *self.dialogue.notes,
            *(self.auditor.notes if self.auditor else ()),
        )

    async def hold(self, trial: Trial) -> TrialConversation:
        """Hold the conversation of a trial; if its user errs and the settings ask for it, again with fresh draws."""
        begun = self.begun.get((trial.scenario, trial.index))
        said = begun.messages if begun is not None else None
        beginning, state = NOTHING_SAID, ""
        if begun is not None and said is not None:
            beginning = Beginning(said, turns=sum(message.role == "assistant" for message in said))
            state = begun.state
        anew = list(Conversation(messages=beginning.messages).held_anew)
        while True:
            held, bookmark = await self._held(trial, anew, beginning, state)
            held = replace(held, columns=self.plans[trial.scenario].trial_columns(trial.index))
            if self.scenarios[trial.scenario].needs_replies:
                held = missing_without_replies(held)
            held = missing_in_scenario(held)
            faults = () if held.failure else await self._faults(held)
            if not faults or self.settings.on_user_fault != "retry" or len(anew) >= MOST_ANEW:
                return self._noted(held, faults)
            await bookmark.take_out()
            anew.append(faults[0].kind)
            beginning, state = NOTHING_SAID, ""

    async def recall(self, held: TrialConversation) -> TrialConversation:
        """Return a conversation that was held before as `hold` gave it."""
        return held

    async def _held(
        self, trial: Trial, anew: Sequence[str], beginning: Beginning, state: str
    ) -> tuple[TrialConversation, Bookmark]:
        """Hold a conversation once; its draws depend on how often the trial was held before."""
        seed = seeds.derive(trial.seed, "held anew", len(anew)) if anew else trial.seed
        app, scenario = self.dialogue.app, self._scenario(trial)
        persona = _persona(scenario, trial)
        script = scenario.script_of(persona, trial.seed)
        style = self._style(persona, script, seed)
        memory = Memory(json.loads(state) if state else app.first_state(seed))
        session = partial(_session_of, app.handler.function, memory)
        hides = app.handler.hides or scenario.world is not None or bool(script)  # they begin again
        bookmark = Bookmark(trial, self.recorder, self.dialogue.clean, hides=hides, memory=memory)
        bookmark.is_in = beginning.turns > 0
        simulator = Simulator(
            self.caller,
            scenario.played_by(persona),
            style,
            seed,
            self.settings.user_format,
            tuple(anew),
            beginning,
            bookmark,
            self.prompt,
        )
        talk = partial(
            self.dialogue.hold,
            trial,
            title=self.plans[trial.scenario].title,
            memory=memory,
            beginning=beginning,
            writing_style=style if persona is None else {**(style or {}), PERSONA: persona.title},
            ear=self.mixing.ear(trial, scenario) if self.mixing else None,
        )
        side = partial(self._side, scenario, script)
        if (maker := scenario.surroundings) is None:
            return await talk(side(simulator)), bookmark
        return await self._in_world(maker, side, trial, simulator, talk, session), bookmark

    def _scenario(self, trial: Trial) -> ScenarioTest:
        """Return the scenario of a trial as it was written: of its case, if it has a table of them."""
        scenario = self.scenarios[trial.scenario]
        place = scenario.case_at(trial.index, self.plans[trial.scenario].seed)
        return scenario if place is None else scenario.of_case(scenario.rows[place])

    def _style(self, persona: UserPersona | None, script: Sequence[Step], seed: int) -> Mapping[str, str] | None:
        """Return how the simulated user of a trial writes; None where all is given, or an attacker's."""
        if script and not any(step.simulate for step in script):
            return None
        drawn = self.settings.writing_style.draw(seed)
        return drawn if persona is None else {**(drawn or {}), **persona.drawn_style(seed)} or None

    async def _in_world(
        self,
        maker: WorldMaker,
        side: Callable[..., UserSide],
        trial: Trial,
        simulator: Simulator,
        talk: Callable[..., Awaitable[TrialConversation]],
        session: Callable[[], str | None],
    ) -> TrialConversation:
        """Hold a conversation in a world of its own, and look at that afterwards."""
        clean, seconds = self.dialogue.clean, self.settings.app_timeout_seconds
        opened = open_world(maker, seed=simulator.seed, trial=trial.index, session=session, seconds=seconds)
        try:
            async with opened as world:
                user = side(replace(simulator, hands=world.hands()), world.seen)
                watch = Watch(user, world) if simulator.scenario.is_watched else None
                held = await talk(watch or user, toolbox=world.toolbox)
                seen = await world.seen(watch.told(held.conversation) if watch else held.conversation)
                return replace(held, conversation=cleaned(seen, clean))
        except WorldError as error:
            ended = Conversation(ended="world_error")
            return TrialConversation(trial, ended, failure_of(error, "world", clean=clean))

    def _side(
        self, scenario: ScenarioTest, script: Sequence[Step], simulator: Simulator, look: Look | None = None
    ) -> UserSide:
        """Return the author of the user's messages: the simulator, or a script that lets it talk.

        The judge of a check gets the scenario as it is for all users, whoever this one is.
        """
        if not script:
            return simulator
        situation = {"given": scenario.given, "when": scenario.when, "facts": scenario.facts, "seed": simulator.seed}
        return Scripted(simulator, script, Checker(self.judge_of, situation, look), self.attack_prompt)

    async def _faults(self, held: TrialConversation) -> Sequence[UserFault]:
        """Return the user's faults: found by rules or, if these find nothing, by the auditor.

        Scripts and attackers are no simulated customers, and have no part to keep to.
        """
        written = [message for message in held.conversation.messages if message.role == "user"]
        if written and all(GIVEN in message.metadata or ATTACK in message.metadata for message in written):
            return ()
        scenario = self.plans[held.trial.scenario].of_trial(held.trial.index).scenario
        scenario = scenario.played_by(_persona(scenario, held.trial))
        faults = find_faults(scenario, held.conversation)
        if faults or self.auditor is None or not self.auditor.wants(held.trial):
            return faults
        found: list[UserFault] = []
        with self.dialogue.demand.scope(held.trial):
            found += await self.auditor.audit(scenario, held)
        return found  # nothing, if the trial is not needed any more

    def _noted(self, held: TrialConversation, faults: Sequence[UserFault]) -> TrialConversation:
        """Return a conversation with the faults of its user; it is missing because of them, unless they only count."""
        if not faults:
            return held
        failure = Failure(
            stage="simulator", error=f"the simulated user: {', '.join(each.kind for each in faults)}", cause=USER_FAULT
        )
        only_counts = self.settings.on_user_fault == "count"
        marked = with_faults(held.conversation, faults)
        return replace(held, conversation=marked, failure=None if only_counts else failure)


def missing_without_replies(held: TrialConversation) -> TrialConversation:
    """Return a conversation as missing in which the app failed, or answered with nothing."""
    if held.failure is not None:
        is_crash = held.failure.stage == "app"
        return replace(held, failure=replace(held.failure, cause=NO_REPLY)) if is_crash else held
    answers = enumerate(held.conversation.responses, 1)
    empty = next((turn for turn, answer in answers if not answer.content.strip() and not answer.tool_calls), None)
    if empty is None:
        return held
    problem = f"the app answered with nothing at turn {empty}"
    return replace(held, failure=Failure(stage="app", error=problem, cause=NO_REPLY))


def missing_in_scenario(held: TrialConversation) -> TrialConversation:
    """Return a conversation as missing that ended because its scenario lacks a fact: nobody failed."""
    if held.failure is not None or held.conversation.ended != NOT_IN_SCENARIO:
        return held
    said = held.conversation.messages
    asked = said[-3] if len(said) > 2 and takes_leave(said[-2]) else said[-1]  # a last word has an answer, too
    quoted = shorten(" ".join(asked.content.split()), LONGEST_QUOTE)
    problem = f"the scenario does not say what the app asked for, so that its user left: {quoted!r}"
    return replace(held, failure=Failure(stage="simulator", error=problem, cause=NOT_IN_SCENARIO))


def _session_of(app: Callable[..., Any], memory: Memory) -> str | None:
    """Return the app's present name of its conversation, by its state; None if it has no name, or none yet."""
    return app.session_of(memory.state) if isinstance(app, ProtocolApp) else None


def _persona(scenario: ScenarioTest, trial: Trial) -> UserPersona | None:
    """Return the persona of a trial's user, if users differ: the same, however often it is repeated."""
    return scenario.users.draw(trial.seed) if scenario.users else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """The plans of scenarios, these as they were written but for the dates in them, and their target app.

    With `entrants`, the scenarios of each are side by side, and the target names them all.
    """

    context: RunContext
    plans: tuple[ScenarioPlan, ...]
    scenarios: Sequence[ScenarioTest]
    target: Target
    auditor: Auditor | None
    entrants: tuple[Target, ...] = ()

    @classmethod
    def of(cls, context: RunContext, suite: Sequence[ScenarioTest], app_handler: ExampleHandler) -> Self:
        """Check a suite, and plan it. Raises DefinitionError before any call is made."""
        context.learn(app_handler, suite)
        suite = [each.dated(context.today) if isinstance(each, ScenarioTest) else each for each in suite]
        plans = make_plans(
            [each.cleaned(context.clean) if isinstance(each, ScenarioTest) else each for each in suite],
            settings=context.settings,
            seed=context.seed,
            judge_scorer=context.judge_scorer,
            callers=context.scorer_caller,
        )
        target = _target(context, plans, app_handler)
        return cls(context=context, plans=plans, scenarios=suite, target=target, auditor=context.auditor())

    @property
    def apps(self) -> Sequence[object]:
        """The apps that are asked."""
        return [each.app.handler.function for each in self.entrants or [self.target]]

    def against(self, app_handler: ExampleHandler) -> Self:
        """Return the same scenarios, put to another app. Raises DefinitionError."""
        return replace(self, target=_target(self.context, self.plans, app_handler))

    def among(self, others: Sequence[ExampleHandler | AlteredApp], where: str) -> Self:
        """Return the same scenarios, put to several apps, under their names. Raises DefinitionError, with `where`."""
        self._require_comparable(where)
        entrants = (self.target, *(_target(self.context, self.plans, each) for each in others))
        names = [each.name for each in entrants]
        require(len({*names}) == len(names), f"{where}: apps", found=", ".join(names), do="give each a name of its own")
        plans = [_put_to(plan, name) for name in names for plan in self.plans]
        return replace(
            self,
            plans=tuple(plan.at(position) for position, plan in enumerate(plans)),
            scenarios=[*self.scenarios] * len(entrants),
            target=replace(self.target, name=", ".join(names)),
            entrants=entrants,
        )

    def _require_comparable(self, where: str) -> None:
        """Raise DefinitionError if several apps cannot be run at once, or not compared by their results per trial."""
        context = self.context
        do = "leave it out: apps are asked in this process, each in every round"
        require(context.shared.elsewhere is None, f"{where}: executor", found=context.settings.executor, do=do)
        require(context.settings.shard is None, f"{where}: shard", found=context.settings.shard, do=do)
        if any(comparisons(self.plans)):
            raise DefinitionError(where, found="found requirements of a comparison", do="give their bars")

    def only(self, part: ShardPlan | None) -> Self:
        """Return the part of it that a shard has; without one, all of it."""
        if part is None:
            return self
        return replace(self, plans=part.plans, scenarios=[self.scenarios[place] for place in part.places])

    def part_in(self, definition: Mapping[str, Any]) -> ShardPlan | None:
        """Return the shard of a run's definition; None if it is of the whole suite."""
        entry = definition.get("shard")
        if entry is None:
            return None
        places = tuple(place for place in entry["places"] if place < len(self.plans))
        return ShardPlan(Shard(entry["number"], entry["of"]), self.plans, places)

    def executor(
        self, demand: Demand, begun: Mapping[TrialKey, Start], recorder: Recorder | None = None
    ) -> LocalExecutor:
        """Return an executor in this process; conversations in `begun` continue.

        The `recorder` stores their progress; without one, the run's does.
        """
        return self._executor(self.target, demand, begun, recorder)

    def executors(self, demand: Demand, begun: Mapping[TrialKey, Start]) -> ByApp:
        """Return the same of several apps."""
        found = [self._executor(each, demand, begun, None) for each in self.entrants]
        return ByApp(found, len(self.plans) // len(found))

    def _executor(
        self, target: Target, demand: Demand, begun: Mapping[TrialKey, Start], recorder: Recorder | None
    ) -> LocalExecutor:
        context = self.context
        source = Conversations(
            plans=self.plans,
            caller=context.caller(context.shared.user, "user"),
            dialogue=Dialogue(target.app, demand, context.clean, context.shared.listener),
            settings=context.settings,
            scenarios=self.scenarios,
            recorder=recorder or context.recorder,
            begun=begun,
            prompt=context.shared.prompts["user"],
            attack_prompt=context.shared.prompts["attack"],
            judge_of=partial(_judge_of, context),
            auditor=self.auditor,
            mixing=None if target.model else Mixing(SHARED if target.app.handler.may_block else ONE_SESSION),
        )
        return LocalExecutor(source, self.plans, demand, context.clean)


def _target(context: RunContext, plans: Sequence[ScenarioPlan], app_handler: ExampleHandler | AlteredApp) -> Target:
    """Return an app that can answer these scenarios. Raises DefinitionError."""
    target = context.target(app_handler)
    for plan in plans:
        if (world := plan.scenario.world) is not None:
            from simeval.suites.worlds import require_session

            require_session(world, target.app.handler.function, f"ScenarioTest {plan.title!r}: world")
        for at, script in plan.scenario.scripts.items():
            _require_usable(script, context, f"ScenarioTest {plan.title!r}: {at}", target)
    return target


def _put_to(plan: ScenarioPlan, app: str) -> ScenarioPlan:
    """Return a plan under an app's name, of whole samples."""
    measures = tuple(
        replace(each, evaluators=tuple(replace(one, early_stopping=False) for one in each.evaluators))
        for each in plan.measures
    )
    scenario = replace(plan.scenario, title=f"{plan.title} [{app}]")
    return replace(plan, scenario=scenario, measures=measures, is_in_contest=True)


def _judge_of(context: RunContext, sentence: str) -> Scorer:
    """Return the scorer of judges' rulings on one sentence, in the middle of a conversation."""
    rule = SuccessRateEvaluator(min_proportion=0.5)  # nothing is concluded by it
    return context.judge_scorer(Expectation(criteria=[sentence], evaluator=rule, controls=False))


def _require_usable(script: Sequence[Step], context: RunContext, where: str, target: Target) -> None:
    """Raise DefinitionError where an app would not know of a given answer, or judges cannot rule on a check."""
    if not target.app.handler.takes_history and any(step.app is not None for step in script):
        found = "it gives an answer by `app:`, and the app handler takes the last message only"
        raise DefinitionError(where, found=found, do="let the handler take (messages, state), or leave `app:` out")
    for step in script:
        if (check := step.checks) is not None and check.judged is not None:
            _judge_of(context, check.judged)
