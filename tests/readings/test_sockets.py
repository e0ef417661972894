"""Apps behind a WebSocket: answer k belongs to question k, whoever speaks first, and however many frames it takes."""

from typing import Any

import anyio.to_thread
import pytest
from aiohttp import web

from simeval.core.conversation import ChatMessage
from simeval.suites.apps.remote_app import AppFailure
from simeval.suites.apps.replies import GREETING
from simeval.suites.apps.socket_app import SocketApp, _patience_after
from tests.support.command_line import simeval
from tests.support.socket_apps import Frames, SocketServer, socket_server
from tests.support.suites import Engine, scenario

pytestmark = pytest.mark.anyio

WELCOME = {"text": "Welcome to the shop!"}
STREAMED = [{"type": "token", "text": "Wel"}, {"type": "token", "text": "come"}, {"type": "done"}]
THREE_TURNS = scenario(
    when="The user says hello. The user asks for the menu. The user asks for the bill.", sample_size=3, max_turns=3
)


@pytest.fixture(autouse=True)
def short_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listen for a shorter time than for apps elsewhere: those of this machine are quick."""
    monkeypatch.setattr("simeval.suites.apps.socket_app.QUIET_SECONDS", 0.2)


@pytest.fixture
def slow_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the server time to greet all connections before one of them is looked at."""
    monkeypatch.setattr("simeval.suites.apps.socket_app.AT_HAND_SECONDS", 0.3)


def in_tokens(number: int, message: str) -> Frames:
    """Answer in tokens, with a status before them."""
    return [
        {"type": "status", "text": "Searching…"},
        {"type": "token", "text": f"answer {number} "},
        {"type": "token", "text": f"to {message}"},
        {"type": "done", "text": "That was it."},
    ]


def with_a_status(number: int, message: str) -> Frames:
    """Answer in one frame, between others that are no answer."""
    return [
        {"type": "typing", "text": "…"},
        {"type": "message", "text": f"answer {number} to {message}"},
        {"type": "done", "text": "That was it."},
    ]


def in_two_messages(number: int, message: str) -> Frames:
    """Answer in two frames, of which nothing says that they are one."""
    return [{"text": "One moment."}, {"text": f"answer {number} to {message}"}]


async def held(app: SocketApp, *said: str) -> tuple[list[str], list[str | None]]:
    """Return what the app answers in a conversation, and the greeting that each answer knows of."""
    messages: list[ChatMessage] = []
    state: dict[str, Any] = {}
    answers = []
    for each in said:
        messages.append({"role": "user", "content": each})
        answers.append(await app(messages, state))
        state = answers[-1].state
        messages.append({"role": "assistant", "content": answers[-1].response})
    await app.leave(state)
    return [answer.response for answer in answers], [answer.metadata.get(GREETING) for answer in answers]


@pytest.mark.parametrize(
    ("server", "options", "greeting"),
    [
        (SocketServer(), {}, None),
        (SocketServer([WELCOME]), {}, "Welcome to the shop!"),
        (SocketServer([WELCOME, {"text": "What can I do?"}]), {}, "Welcome to the shop!\nWhat can I do?"),
        (SocketServer([WELCOME], greets_late=1), {}, "Welcome to the shop!"),
        (SocketServer([{"type": "connected"}]), {}, None),
        (SocketServer([WELCOME], in_tokens), {"until": {"type": "done"}}, "Welcome to the shop!"),
        (SocketServer(STREAMED, in_tokens), {"until": {"type": "done"}}, "Welcome"),
        (SocketServer(answers=with_a_status), {}, None),
        (SocketServer([WELCOME], with_a_status), {}, "Welcome to the shop!"),
        (SocketServer(answers=in_tokens), {"until": {"type": "done"}, "where": {"type": "token"}}, None),
        (SocketServer([WELCOME]), {"greets": True}, "Welcome to the shop!"),
        (SocketServer(), {"greets": False}, None),
    ],
)
async def test_an_answer_belongs_to_its_question(
    server: SocketServer, options: dict[str, Any], greeting: str | None
) -> None:
    async with socket_server(server), (app := SocketApp(url=server.url, **options)):
        for _ in range(2):  # the first finds out whether it greets
            answers, greetings = await held(app, "a", "b", "c")

            assert answers == ["answer 1 to a", "answer 2 to b", "answer 3 to c"]
            assert greetings == [greeting, None, None]


@pytest.mark.parametrize(("took", "listens"), [(0.01, 0.2), (0.9, 0.9), (12.0, 12.0), (300.0, 30.0)])
def test_an_app_that_may_have_greeted_late_is_listened_to_for_as_long_again(took: float, listens: float) -> None:
    assert _patience_after(took) == listens


@pytest.mark.parametrize("turn", [2, 3])
async def test_a_greeting_that_comes_turns_later_is_no_answer(turn: int, slow_looks: None) -> None:
    async with socket_server(SocketServer([WELCOME], greets_late=turn)) as server, (app := SocketApp(url=server.url)):
        for first in (turn, 1):  # the first finds out that it greets
            answers, greetings = await held(app, "a", "b", "c")

            assert answers == ["answer 1 to a", "answer 2 to b", "answer 3 to c"]
            assert [greetings.index(each) + 1 for each in greetings if each] == [first]


async def test_a_conversation_that_began_before_a_late_greeting_waits_for_its_own(slow_looks: None) -> None:
    async with socket_server(SocketServer([WELCOME], greets_late=4)) as server, SocketApp(url=server.url) as app:
        begun: list[ChatMessage] = [{"role": "user", "content": "x"}]
        first = await app(begun, {})
        await held(app, "a", "b", "c")
        begun += [{"role": "assistant", "content": first.response}, {"role": "user", "content": "y"}]
        second = await app(begun, first.state)
        await app.leave(second.state)

    assert (first.response, second.response) == ("answer 1 to x", "answer 2 to y")
    assert second.metadata[GREETING] == "Welcome to the shop!"


async def test_the_silent_connection_ends_with_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simeval.suites.apps.socket_app.LONGEST_GREETING_SECONDS", 0.0)

    async with socket_server(SocketServer()) as server, (app := SocketApp(url=server.url)):
        await held(app, "a")
        await held(app, "a")

    assert server.opened == 3


@pytest.mark.parametrize("greets_late", [0, 1])
async def test_a_greeting_is_no_turn_of_a_trial(greets_late: int) -> None:
    async with socket_server(SocketServer([WELCOME], greets_late=greets_late)) as server:
        result = await Engine().evaluate(THREE_TURNS, SocketApp(url=server.url))

    assert len(result.conversations) == 3
    for conversation in result.conversations:
        asked = [message.content for message in conversation.messages if message.role == "user"]
        answers = [message.content for message in conversation.responses]
        assert answers == [f"answer {number} to {each}" for number, each in enumerate(asked, 1)]
        assert [each.metadata[GREETING] for each in conversation.responses if GREETING in each.metadata] == [
            "Welcome to the shop!"
        ]


async def test_an_answers_seconds_are_not_those_of_the_listening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("simeval.suites.apps.socket_app.QUIET_SECONDS", 0.6)

    async with socket_server(SocketServer()) as server:
        result = await Engine().evaluate(scenario(sample_size=1, max_turns=1), SocketApp(url=server.url))

    [answer] = result.conversations[0].responses
    assert result.run.seconds - answer.seconds >= 0.6


async def test_a_session_that_is_named_on_opening_is_sent_with_the_first_message() -> None:
    server = SocketServer([{"type": "connected", "session": "s-1"}])
    request = {"message": "{message}", "session": "{session}"}

    async with socket_server(server), (app := SocketApp(url=server.url, request=request, session="$.session")):
        await held(app, "a", "b")
        await held(app, "c")

    assert [body["session"] for body in server.bodies] == ["s-1", "s-1", "s-1"]


async def test_a_second_text_that_nobody_asked_for_is_told_and_shifts_no_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("simeval.suites.apps.socket_app.AT_HAND_SECONDS", 1.0)

    async with socket_server(SocketServer(answers=in_two_messages)) as server:
        app = SocketApp(url=server.url)
        sure = SocketApp(url=server.url, greets=False)

        async with app, sure:
            with pytest.raises(AppFailure, match=r'without being asked: \{"text": "answer 1 to a"\}; name .* `until:`'):
                await held(app, "a")
            with pytest.raises(AppFailure, match=r"name the last frame of an answer with `until:`"):
                await held(sure, "a", "b")


async def test_a_stream_of_frames_that_repeats_all_text_is_read_once() -> None:
    def so_far(number: int, message: str) -> Frames:
        return [{"text": "Your"}, {"text": "Your order"}, {"text": f"Your order {number}"}, {"done": True}]

    async with socket_server(SocketServer(answers=so_far)) as server, (app := SocketApp(url=server.url, until="done")):
        assert (await held(app, "a", "b"))[0] == ["Your order 1", "Your order 2"]


async def test_an_app_that_speaks_socket_io_is_told_so() -> None:
    class SocketIo(SocketServer):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            socket = web.WebSocketResponse()
            await socket.prepare(request)
            await socket.send_str('0{"sid":"x","upgrades":[],"pingInterval":25000}')
            await socket.receive()
            return socket

    async with socket_server(SocketIo()) as server, (app := SocketApp(url=server.url)):
        with pytest.raises(AppFailure, match=r"it speaks Socket\.IO"):
            await held(app, "a")


async def test_probe_says_that_the_app_greets(tmp_path: Any) -> None:
    def probe() -> Any:
        return simeval(tmp_path, "probe", server.url, "--message", "a")

    async with socket_server(SocketServer([WELCOME])) as server:
        done = await anyio.to_thread.run_sync(probe)

    assert "reply       answer 1 to a. My code word is " in done.stdout
    assert "it also greets: Welcome to the shop!" in done.stdout
