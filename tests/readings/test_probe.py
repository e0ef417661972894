"""`simeval try --probe` finds out, by two conversations with code words, what an app knows of its session."""

import json
import re
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from uuid import uuid4

import anyio.to_thread
import pytest
from aiohttp import web

from simeval.cli.init import write_starter
from simeval.cli.probe import MESSAGE, probe
from tests.support.command_line import SUITE
from tests.support.serving import serving
from tests.support.socket_apps import Frames, SocketServer, socket_server

pytestmark = pytest.mark.anyio

NAMED, UNNAMED = '{text: "{message}", session_id: "{session}"}', '{text: "{message}"}'
HERE = __name__


def word_in(texts: Iterable[str]) -> str:
    """Return the first code word of some texts."""
    return next((found for text in texts for found in re.findall(r"[a-z]+-[0-9]{4}", text)), "none")


class Bot:
    """One that remembers in itself."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __call__(self, message: str) -> str:
        self.heard.append(message)
        return f"Your code word is {word_in(self.heard)}."


class Agent(Bot):
    """One with another name for answering."""

    async def reply(self, message: str) -> str:
        """Answer."""
        return self(message)


shared = Bot()
heard_by: defaultdict[str, list[str]] = defaultdict(list)


def with_session(message: str, session_id: str) -> str:
    """Remember by the session."""
    heard_by[session_id].append(message)
    return word_in(heard_by[session_id])


def with_state(message: str, state: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Remember in the state."""
    state["word"] = state.get("word") or word_in([message])
    return state["word"], state


async def with_history(message: str, history: list[dict[str, str]]) -> str:
    """Remember nothing, but read."""
    return word_in(each["content"] for each in history)


def of_all(message: str, state: dict[str, str]) -> tuple[str, dict[str, str]]:
    """Remember all conversations in one place."""
    heard_by["all"].append(message)
    return word_in(heard_by["all"]), state


def forgetful(message: str) -> str:
    """Remember nothing."""
    return "I can help."


def broken(message: str) -> str:
    """Answer nothing."""
    return {"known": "answer"}[message]


class Server:
    """An app that repeats the code word of a session, which each of its paths knows in another way."""

    def __init__(self) -> None:
        self.heard: defaultdict[str, list[str]] = defaultdict(list)
        self.tokens: list[str | None] = []

    def said(self, session: str, text: str) -> str:
        """Take in a message of a session, and return the code word that was said in it."""
        self.heard[session].append(text)
        return next(iter(re.findall(r"[a-z]+-[0-9]{4}", " ".join(self.heard[session]))), "no word yet")

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer as the path says."""
        kind, body = request.match_info["kind"], await request.json()
        self.tokens.append(request.headers.get("Authorization"))
        text = body.get("text") or body.get("message")
        if kind == "named":
            session = body.get("session_id") or uuid4().hex
            return web.json_response({"reply": self.said(session, text), "data": {"session_id": session}})
        if kind == "one":
            return web.json_response({"reply": "Hello!", "conversationId": "main"})
        if kind == "mute":
            return web.json_response({"reply": "Hello!", "thread": body.get("session_id") or "th_1234567"})
        if kind == "mixing":
            return web.json_response({"reply": self.said("all", text)})
        if kind == "cookie":
            session = request.cookies.get("sid") or uuid4().hex
            answer = web.json_response({"reply": self.said(session, text)})
            answer.set_cookie("sid", session)
            return answer
        if kind == "all":
            return web.json_response({"reply": self.said(uuid4().hex, json.dumps(body["messages"]))})
        if kind == "stream":
            word = self.said(body["session_id"], text)
            pieces = [word[:3], word[:6], word]
            lines = "".join(f"data: {json.dumps({'text': each, 'session_id': 'x'})}\n\n" for each in pieces)
            return web.Response(text=lines, content_type="text/event-stream")
        return web.json_response({"error": "no key"}, status=401)


@pytest.fixture
async def url() -> AsyncIterator[str]:
    """The address of such a server."""
    application = web.Application()
    application.router.add_post("/{kind}", Server().handle)
    async with serving(application) as address:
        yield address


Probed = Callable[..., Awaitable[tuple[int, str]]]


@pytest.fixture
def probed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Probed:
    """Return a function that probes an app, and gives the exit status and all that is shown, in one line."""
    monkeypatch.setenv("COLUMNS", "80")

    async def shown(app: str, message: str = MESSAGE) -> tuple[int, str]:
        status = await anyio.to_thread.run_sync(lambda: probe(app, message=message, color="never"))
        lines = capsys.readouterr().out.splitlines() or [""]
        assert max(map(len, lines)) <= 80
        return status, " ".join(" ".join(lines).split())

    return shown


def suite(folder: Path, url: str, request: str, rest: str = "") -> str:
    """Write a suite for an app at a URL."""
    app = f"app:\n  url: {url}\n  request: {request}\n{rest}"
    (folder / "suite.yaml").write_text(f"{app}{SUITE}", encoding="utf-8")
    return str(folder / "suite.yaml")


async def test_a_session_that_is_sent_is_kept_when_the_second_answer_knows_the_word(
    probed: Probed, url: str, tmp_path: Path
) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/named", NAMED), "Hi")

    assert status == 0, said
    assert re.search(r'sent POST \S+/named body \{"text": "Hi\. My code word is [a-z]+-\d{4}\.", "session_id": "', said)
    assert 'then sent {"text": "Which code word did I give you?"} came back HTTP 200' in said
    assert re.search(r"session named by us: [0-9a-f]{32}; kept: the second answer repeats the code word", said)
    assert "two at once kept apart: each of two conversations knows its own code word alone" in said


async def test_a_session_that_is_not_sent_and_new_at_every_turn_is_proven_not_to_be_kept(
    probed: Probed, url: str, tmp_path: Path
) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/named", UNNAMED))

    assert status == 1
    assert "named by us" not in said
    assert "session not sent: the request names no session; not kept: $.data.session_id of the answer is new" in said
    assert 'write `session: $.data.session_id` and `request: {..., session_id: "{session}"}`' in said


async def test_the_setup_that_is_proposed_keeps_the_session(probed: Probed, url: str, tmp_path: Path) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/named", NAMED, "  session: $.data.session_id\n"))

    assert status == 0, said
    assert re.search(r"session named by the app: [0-9a-f]{32}; kept: the second answer", said)


async def test_where_nothing_ties_two_turns_and_the_word_is_forgotten_the_session_is_not_kept(
    probed: Probed, url: str, tmp_path: Path
) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/all", '{messages: ["{message}"]}'))

    assert status == 1
    assert "not kept: nothing in the second request says which conversation it belongs to" in said
    assert "put {session} or {messages} into `request:`" in said


async def test_a_session_that_a_request_before_may_have_opened_is_not_claimed_to_be_lost(
    probed: Probed, url: str, tmp_path: Path
) -> None:
    before = f'  before: {{url: "{url}/one", request: {{text: new}}, take: {{chat: $.conversationId}}}}\n'
    request = '{messages: ["{message}"], chat: "{chat}"}'

    status, said = await probed(suite(tmp_path, f"{url}/all", request, before))

    assert status == 0, said
    assert "session perhaps by what `before:` takes; not shown: your app did not repeat the word" in said


@pytest.mark.parametrize(
    ("kind", "request_", "proof"),
    [
        ("one", UNNAMED, '$.conversationId of the answer is "main" in both'),
        ("mute", UNNAMED, '$.thread of the answer is "th_1234567" in both'),
        ("mixing", NAMED, "an answer in one repeats the code word of the other"),
        ("mixing", UNNAMED, "an answer in one repeats the code word of the other"),
    ],
)
async def test_an_app_with_one_session_for_all_mixes_conversations(
    kind: str, request_: str, proof: str, probed: Probed, url: str, tmp_path: Path
) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/{kind}", request_))

    assert status == 1
    assert f"two at once your app mixes conversations: {proof}" in said
    assert "kept" not in said


@pytest.mark.parametrize(
    ("kind", "request_", "how"),
    [
        ("cookie", UNNAMED, "cookies are sent back: sid"),
        ("all", '{messages: "{messages}"}', "all that was said is sent"),
    ],
)
async def test_a_session_is_kept_by_cookies_or_by_sending_all_that_was_said(
    kind: str, request_: str, how: str, probed: Probed, url: str, tmp_path: Path
) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/{kind}", request_))

    assert status == 0, said
    assert f"session {how}; kept: the second answer repeats the code word" in said
    assert "kept apart" in said


async def test_an_app_that_does_not_repeat_the_word_proves_nothing(probed: Probed, url: str, tmp_path: Path) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/mute", NAMED))

    assert status == 0
    assert re.search(r"named by us: \w+; not shown: your app did not repeat the word two at once not shown", said)
    assert "kept" not in said


async def test_a_stream_that_repeats_itself_is_told_once_and_its_last_piece_is_the_reply(
    probed: Probed, url: str, tmp_path: Path
) -> None:
    status, said = await probed(suite(tmp_path, f"{url}/stream", NAMED))

    assert status == 0, said
    assert said.count("stream it repeats all text so far; the last is the reply") == 1
    assert re.search(r"reply [a-z]+-\d{4} first text seconds", said)


async def test_keys_are_sent_and_not_shown(
    probed: Probed, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP", "hidden-word")
    headers = '  headers: {Authorization: "Bearer ${SHOP}", X-Chat: "{session}"}\n'

    status, said = await probed(suite(tmp_path, f"{url}/named", NAMED, headers))

    assert status == 0, said
    assert re.search(r"headers Authorization: .{0,20}, X-Chat: [0-9a-f]{32} body", said)
    assert "hidden-word" not in said


@pytest.mark.parametrize(
    ("kind", "complaint"), [("locked", "no answer HTTP 401: "), ("nobody", "cannot be reached (Connection refused)")]
)
async def test_an_app_that_does_not_answer_has_the_status_three(
    kind: str, complaint: str, probed: Probed, url: str, tmp_path: Path
) -> None:
    address = f"{url}/{kind}" if kind == "locked" else "http://127.0.0.1:9/"

    status, said = await probed(suite(tmp_path, address, NAMED))

    assert status == 3
    assert complaint in said
    assert said.count("no answer HTTP") <= 1
    assert "two at once" not in said


async def test_a_socket_greets_and_its_connection_is_the_session(probed: Probed) -> None:
    words: dict[str, str] = {}

    def answers(number: int, message: str) -> Frames:
        if found := re.search(r"[a-z]+-\d{4}", message):
            words[found[0]] = found[0]
            return [{"text": f"I note {found[0]}."}]
        return [{"text": "I note everything."}]

    async with socket_server(SocketServer([{"text": "Welcome!"}], answers)) as server:
        status, said = await probed(server.url)

    assert status == 0, said
    assert said.count("it also greets: Welcome!") == 1
    assert 'sent a frame body {"message": "Hello, what can you do for me? My code word is ' in said
    assert "by what is kept open for it; not shown: your app did not repeat the word" in said


@pytest.mark.parametrize(
    ("app", "given", "how"),
    [
        ("Bot", "message", "each conversation has an object of its own"),
        ("Agent.reply", "message", "each conversation has an object of its own"),
        ("with_state", "message, state", "it is given its state"),
        ("with_history", "message, history", "it is given all that was said"),
        ("with_session", "message, session", "named by us: "),
    ],
)
async def test_a_function_or_a_class_is_probed_as_it_is_called_in_a_run(
    app: str, given: str, how: str, probed: Probed
) -> None:
    status, said = await probed(f"{HERE}:{app}")

    assert status == 0, said
    assert f"given {given} came back an answer, in " in said
    assert f"session {how}" in said
    assert "kept: the second answer repeats the code word" in said
    assert "kept apart: each of two conversations knows its own code word alone" in said


@pytest.mark.parametrize(("app", "advice"), [("shared", "give the class of its object"), ("of_all", "by session_id")])
async def test_an_object_that_all_conversations_share_mixes_them(app: str, advice: str, probed: Probed) -> None:
    status, said = await probed(f"{HERE}:{app}")

    assert status == 1
    assert "your app mixes conversations: an answer in one repeats the code word of the other, " in said
    assert advice in said


async def test_a_function_that_forgets_is_no_wrong_setup_and_one_that_raises_is_told_with_its_line(
    probed: Probed,
) -> None:
    status, said = await probed(f"{HERE}:forgetful")
    failed, complaint = await probed(f"{HERE}:broken")

    assert status == 0
    assert "session not given: it takes the message alone; not shown: your app did not repeat the word" in said
    assert failed == 3
    assert re.search(r"no answer KeyError: .* \(test_probe\.py:\d+ in broken\)", complaint)


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("mixing", "two at once your app mixes conversations: "),
        ("locked", "your app gives no answer yet: HTTP 401: "),
        ("", "your app gives no answer yet: http://127.0.0.1:9/ cannot be reached (Connection refused)"),
    ],
)
async def test_init_for_a_url_ends_with_what_the_app_answers_and_succeeds_without(
    path: str, shown: str, url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = f"{url}/{path}" if path else "http://127.0.0.1:9/"

    status = await anyio.to_thread.run_sync(write_starter, tmp_path / "new", named)

    said = " ".join(capsys.readouterr().out.split())
    assert status == 0
    assert (tmp_path / "new" / "suite.yaml").exists()
    assert shown in said
    assert ("simeval try --probe suite.yaml" in said) == (path != "mixing")
    assert said.endswith("now run: cd " + str(tmp_path / "new") + " && simeval run suite.yaml")
