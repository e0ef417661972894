"""What a handler of the user's is given, by the names of its parameters, and of what object it is."""

import functools
import re
from collections.abc import Callable
from typing import Any

import pytest

from simeval import Expectation, ProportionEvaluator
from simeval.errors import DefinitionError
from simeval.results.suite import ScenarioResult
from tests.support.experiments import engine as experiments
from tests.support.experiments import right, sums
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio

SAID = "I can track orders and start returns."
THREE = "The user asks for one. The user asks for two. The user asks for three."


async def evaluated(handler: Any, trials: int = 3, **settings: Any) -> ScenarioResult:
    return await Engine(seed=1, on_user_fault="count", **settings).evaluate(
        scenario(when=THREE, sample_size=trials), handler
    )


class Seen:
    """What handlers were given, by the conversation that each turn belongs to: its first message."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def take(self, value: Any) -> str:
        self.given.append(value)
        return SAID


SEEN = Seen()


@pytest.fixture(autouse=True)
def _forgotten() -> None:
    SEEN.given.clear()


def by_thread(message: str, thread_id: Any) -> str:
    return SEEN.take(thread_id)


async def by_session(message: str, session_id: Any) -> str:
    return SEEN.take(session_id)


def by_conversation(text: str, conversation_id: Any) -> str:
    return SEEN.take(conversation_id)


def by_camel_case(query: str, sessionId: Any) -> str:  # noqa: N803
    return SEEN.take(sessionId)


def by_name_alone(message: str, *, thread_id: Any, **more: Any) -> str:
    return SEEN.take(thread_id)


def by_annotation(message: str, conversation: str) -> str:
    return SEEN.take(conversation)


def of_all_messages(messages: list[dict[str, str]], session: str) -> str:
    return SEEN.take(session)


def behind_a_default(message: str, temperature: float = 0.2, chat_id: str = "") -> str:
    assert temperature == 0.2
    return SEEN.take(chat_id)


BY_ID = [
    by_thread,
    by_session,
    by_conversation,
    by_camel_case,
    by_name_alone,
    by_annotation,
    of_all_messages,
    behind_a_default,
]


class TestAnIdOfTheConversation:
    @pytest.mark.parametrize("handler", BY_ID, ids=lambda each: each.__name__)
    async def test_it_is_one_in_each_trial_and_another_in_every_other(self, handler: Callable[..., Any]) -> None:
        result = await evaluated(handler)

        turns = [len(each.responses) for each in result.conversations]
        assert all(isinstance(each, str) and each for each in SEEN.given)
        assert sorted(SEEN.given.count(each) for each in set(SEEN.given)) == sorted(turns)
        assert max(turns) > 1

    async def test_it_is_another_one_in_the_next_run_of_the_same_seed(self) -> None:
        await evaluated(by_thread, trials=1)
        first = set(SEEN.given)
        SEEN.given.clear()

        await evaluated(by_thread, trials=1)

        assert first.isdisjoint(SEEN.given)

    async def test_a_bot_that_keeps_threads_by_it_sees_its_own_messages_alone(self) -> None:
        threads: dict[str, list[str]] = {}

        def bot(message: str, thread_id: str) -> str:
            threads.setdefault(thread_id, []).append(message)
            return SAID

        result = await evaluated(bot)

        said = [[each.content for each in held.messages if each.role == "user"] for held in result.conversations]
        assert sorted(threads.values()) == sorted(said)


def with_history(message: str, history: Any) -> str:
    return SEEN.take(history)


async def with_chat_history(message: str, chat_history: Any) -> str:
    return SEEN.take(chat_history)


def with_turns(question: str, turns: Any) -> str:
    return SEEN.take(turns)


def with_messages(message: str, messages: Any) -> str:
    return SEEN.take(messages)


def with_optional_history(message: str, history: Any = None) -> str:
    return SEEN.take(history)


def with_history_by_name(message: str, state: Any, *, messageHistory: Any) -> str:  # noqa: N803
    return SEEN.take(messageHistory)


def with_a_list(message: str, conversation: list[dict[str, str]]) -> str:
    return SEEN.take(conversation)


def with_all(message: str, history: Any, session_id: str, state: dict[str, Any]) -> str:
    assert session_id
    assert state == {}
    return SEEN.take(history)


BY_HISTORY = [
    with_history, with_chat_history, with_turns, with_messages, with_optional_history, with_history_by_name,
    with_a_list, with_all,
]  # fmt: skip


class TestWhatWasSaidSoFar:
    @pytest.mark.parametrize("handler", BY_HISTORY, ids=lambda each: each.__name__)
    async def test_it_comes_without_the_message_of_the_turn(self, handler: Callable[..., Any]) -> None:
        result = await evaluated(handler, trials=1)

        chat = result.conversations[0].as_chat()
        assert [len(each) for each in SEEN.given] == list(range(0, len(chat), 2))
        assert SEEN.given == [chat[:place] for place in range(0, len(chat), 2)]

    async def test_what_a_handler_does_to_it_is_not_kept(self) -> None:
        def bot(message: str, history: list[dict[str, str]]) -> str:
            SEEN.take(len(history))
            history.append({"role": "user", "content": message})
            return SAID

        await evaluated(bot, trials=1)

        assert SEEN.given[:3] == [0, 2, 4]


class TestOtherNames:
    @pytest.mark.parametrize(
        "handler",
        [
            lambda message, foo: SAID,
            lambda message, context: SAID,
            lambda message, conversation: SAID,
            lambda message, config: SAID,
            lambda message, state, user: SAID,
            lambda text, data: SAID,
        ],
    )
    async def test_a_second_name_that_is_not_known_is_refused_with_those_that_are(self, handler: Any) -> None:
        with pytest.raises(DefinitionError, match=r"no known name; name it state .*history .*session_id .*tools"):
            await evaluated(handler)

    @pytest.mark.parametrize(
        "handler",
        [lambda history: SAID, lambda chat_history: SAID, lambda turns: SAID, lambda state: SAID, lambda thread_id: ""],
    )
    async def test_a_handler_of_something_else_alone_is_refused(self, handler: Any) -> None:
        with pytest.raises(DefinitionError, match=r"name the first message .* or messages"):
            await evaluated(handler)

    @pytest.mark.parametrize(
        ("handler", "do"),
        [
            (lambda history, message: SAID, "(message, history)"),
            (lambda session_id, text: SAID, "(text, session_id)"),
            (lambda user, message: SAID, "(message, state)"),
        ],
    )
    async def test_the_message_behind_something_else_is_refused(self, handler: Any, do: str) -> None:
        with pytest.raises(DefinitionError, match=re.escape(f"put the message first: {do}")):
            await evaluated(handler)

    async def test_a_default_behind_an_unknown_name_stays(self) -> None:
        def bot(message: str, temperature: float = 0.2) -> str:
            return SEEN.take(temperature)

        await evaluated(bot, trials=1)

        assert set(SEEN.given) == {0.2}

    async def test_what_a_partial_has_bound_stays(self) -> None:
        def bot(message: str, session_id: str) -> str:
            return SEEN.take(session_id)

        await evaluated(functools.partial(bot, session_id="fixed"), trials=1)

        assert set(SEEN.given) == {"fixed"}

    async def test_names_of_the_state_and_one_that_is_not_used_get_the_state(self) -> None:
        def named(text: str, session_state: dict[str, Any]) -> str:
            session_state["turns"] = session_state.get("turns", 0) + 1
            return SEEN.take(session_state["turns"])

        def by_type(message: str, session: dict[str, Any]) -> str:
            return named(message, session)

        for handler in (named, by_type, lambda message, _state: named(message, _state)):
            await evaluated(handler, trials=1)

        assert [each for each in SEEN.given if each < 4] == [1, 2, 3] * 3


class Bot:
    """An app that remembers, each object one conversation."""

    def __init__(self, greeting: str = SAID) -> None:
        self.history: list[str] = []
        self.greeting = greeting

    def __call__(self, message: str) -> str:
        self.history.append(message)
        SEEN.take(list(self.history))
        return f"{self.greeting} (turn {len(self.history)})"

    def reply(self, message: str) -> str:
        return self(message)


class AsyncBot(Bot):
    async def __call__(self, message: str) -> str:  # type: ignore[override]
        return super().__call__(message)


class TestAClass:
    @pytest.mark.parametrize(
        "app",
        [Bot, AsyncBot, Bot.reply, functools.partial(Bot, greeting=SAID)],
        ids=["class", "async", "method", "set"],
    )
    async def test_each_conversation_has_an_object_of_its_own(self, app: Any) -> None:
        result = await evaluated(app)

        for held in result.conversations:
            said = [each.content for each in held.responses]
            assert [re.findall(r"turn (\d+)", each) for each in said] == [[str(n + 1)] for n in range(len(said))]

    async def test_an_object_that_cannot_be_made_is_a_failure_of_the_app(self) -> None:
        class Broken:
            def __init__(self) -> None:
                raise ValueError("no database")

            def __call__(self, message: str) -> str:
                return SAID

        result = await evaluated(Broken)

        assert "ValueError: no database" in str(result.failures[0])

    async def test_in_an_experiment_it_takes_inputs_by_their_names(self) -> None:
        class Sum:
            def __call__(self, n: int) -> str:
                return str(2 * n)

        then = Expectation(scorer=right, evaluator=ProportionEvaluator(threshold=1, min_proportion=0.7))
        result = await experiments().evaluate(sums(), Sum, then=then)

        assert result.passed

    async def test_the_advice_is_never_one_object_for_all(self) -> None:
        class Needy(Bot):
            def __init__(self, key: str) -> None:
                super().__init__(key)

        with pytest.raises(
            DefinitionError, match=r"functools\.partial\(Needy, key=\.\.\.\); each conversation gets an obj"
        ):
            await evaluated(Needy)
        with pytest.raises(DefinitionError, match=r"such as Seen\.reply; each conversation gets an object of its own"):
            await evaluated(Seen)


class Diary(Bot):
    """An app that shows all it was told."""

    def __call__(self, message: str) -> str:
        self.history.append(message)
        return f"{SAID} You told me: {' / '.join(self.history)}"


class LastMessage(Bot):
    """An app that repeats the first message it ever heard."""

    async def __call__(self, message: str, state: Any) -> str:  # type: ignore[override]
        self.history.append(message)
        return f"I see: {self.history[0]}"


@pytest.mark.parametrize("kind", [Diary, LastMessage])
class TestConversationsThatMix:
    async def test_an_object_that_repeats_another_trials_user_is_told(
        self, kind: type[Bot], caplog: pytest.LogCaptureFixture
    ) -> None:
        result = await evaluated(kind(), trials=12)

        told = r"your app mixes conversations: the answer to trial (\d+) repeats what trial (\d+) said \(\"(.+)\", of"
        [found] = [match for note in result.run.notes if (match := re.match(told, note))]
        own, other, words = int(found[1]), int(found[2]), found[3]
        said = [[each.content for each in held.messages if each.role == "user"] for held in result.conversations]
        texts = [" ".join(re.findall(r"\w+", " ".join(each).lower())) for each in said]
        assert words in texts[other]
        assert words not in texts[own]
        assert sum("mixes conversations" in each.message for each in caplog.records) == 1

    async def test_the_class_of_it_mixes_nothing(self, kind: type[Bot]) -> None:
        result = await evaluated(kind, trials=12)

        assert not any("mixes" in note for note in result.run.notes)
