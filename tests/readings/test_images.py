"""Images in messages and in answers: apps that take messages get them, and nobody is shown their data as text."""

import json
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest

from simeval import HttpApp, dataset_of, import_log, scorer
from simeval.core.conversation import Conversation, Message, content_text, message_lines, named_data, part_name
from simeval.core.terminal import PLAIN
from simeval.errors import DefinitionError
from simeval.models.protocol.prompt_texts import excerpt, seen
from simeval.models.protocol.prompts import escaped
from tests.support.experiments import engine, length, logged, values

pytestmark = pytest.mark.anyio

DATA = b64encode(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 1172).decode()  # 300 kB
URI = f"data:image/png;base64,{DATA}"
FORMS: dict[str, Any] = {
    "openai": {"type": "image_url", "image_url": {"url": URI}},
    "openai text": {"type": "image_url", "image_url": URI},
    "responses": {"type": "input_image", "image_url": URI, "detail": "auto"},
    "anthropic": {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": DATA}},
    "ai sdk 5": {"type": "file", "mediaType": "image/png", "url": URI},
    "ai sdk 4": {"type": "image", "image": DATA, "mimeType": "image/png"},
    "gemini": {"inlineData": {"mimeType": "image/png", "data": DATA}},
    "langchain": {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": DATA},
}
NAMED = "[image/png, 300 kB]"


def asked(part: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "text", "text": "What is it?"}, part]}]


@pytest.mark.parametrize("form", FORMS)
def test_an_image_has_a_name_with_its_size_in_whichever_form(form: str) -> None:
    (example,) = dataset_of([{"messages": [*asked(FORMS[form]), {"role": "assistant", "content": "A cat."}]}])

    assert part_name(FORMS[form]) == NAMED
    assert example.text == f"What is it?\n{NAMED}"


@pytest.mark.parametrize(
    ("part", "name"),
    [
        ({"type": "image_url", "image_url": {"url": "https://x.org/cat.png"}}, "[image]"),
        ({"type": "input_file", "filename": "a.pdf", "file_id": "file-1"}, "[file]"),
        (
            {"type": "input_audio", "input_audio": {"data": b64encode(bytes(3000)).decode(), "format": "wav"}},
            "[audio, 3 kB]",
        ),
        ({"type": "document", "source": {"type": "url", "url": "https://x.org"}}, "[document]"),
        ({"type": "text", "text": "an image"}, None),
        ({"type": "step-start"}, None),
    ],
)
def test_other_parts_are_named_as_far_as_they_are_known(part: Any, name: str | None) -> None:
    assert part_name(part) == name
    assert content_text([part]) == (name or part.get("text", ""))


@pytest.mark.parametrize("form", FORMS)
async def test_an_app_of_messages_gets_the_parts_as_they_are(form: str) -> None:
    heard: list[Any] = []

    def app(messages: list[Any]) -> str:
        heard.extend(messages)
        return "A cat."

    @scorer
    def told(input: str) -> bool:
        return NAMED in input

    dataset = dataset_of([{"messages": asked(FORMS[form])}], kind="chat")
    result = await engine().experiment(dataset, app, scorers=[told])

    assert heard == asked(FORMS[form])
    assert values(result, "told") == [1]


@pytest.mark.parametrize("request_body", [{"text": "{message}"}, {"q": "{message}", "id": "{session}"}])
async def test_an_app_of_one_text_is_refused_before_it_is_asked(request_body: dict[str, str]) -> None:
    def app(message: str) -> str:
        raise AssertionError(message)

    plain = {"messages": [{"role": "user", "content": "Hello"}]}
    dataset = dataset_of([plain, {"messages": asked(FORMS["openai"])}])

    for each in (app, HttpApp(url="http://127.0.0.1:9/", request=request_body)):
        with pytest.raises(DefinitionError, match=r"example 2: its user shows an image.*let it take messages"):
            await engine().experiment(dataset, each, scorers=[length])


async def test_an_image_in_a_log_is_put_to_the_app_again(tmp_path: Path) -> None:
    heard: list[Any] = []

    def app(messages: list[Any]) -> str:
        heard.append(messages)
        return "A cat."

    lines = [*asked(FORMS["anthropic"]), {"role": "assistant", "content": "A dog."}]
    (tmp_path / "chat.jsonl").write_text(json.dumps({"messages": lines}))
    dataset = import_log(tmp_path / "chat.jsonl").dataset
    await engine().experiment(dataset, app, scorers=[length])

    assert heard == [asked(FORMS["anthropic"])]
    with pytest.raises(DefinitionError, match="its user shows an image"):
        await engine().experiment(dataset, lambda message: "x", scorers=[length])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"Here: {URI} Nice?", f"Here: {NAMED} Nice?"),
        (f"![cat]({URI})", f"![cat]({NAMED})"),
        (DATA, NAMED),
        (f"![chart](data:image/svg+xml;utf8,{'%3Csvg%3E' * 200})", "![chart]([image/svg+xml, 2 kB])"),
        ("a" * 5_000, "a" * 5_000),
        ("word " * 500, "word " * 500),
        ("https://x.org/" + "path/" * 200, "https://x.org/" + "path/" * 200),
    ],
)
def test_data_in_an_answer_is_shown_by_its_name_and_size(text: str, expected: str) -> None:
    assert named_data(text) == expected
    assert escaped(text) == expected
    assert seen(text) == expected


def test_a_judge_and_a_screen_are_shown_the_name_and_the_answer_is_kept_whole() -> None:
    message = Message(role="assistant", content=f"See {URI}")

    lines = message_lines(message, PLAIN)

    assert NAMED in " ".join(lines)
    assert len(" ".join(lines)) < 200
    assert not excerpt([message] * 6, 2_000).left_out
    assert Conversation(messages=(message,)).output == f"See {URI}"


async def test_what_is_stored_is_the_whole_answer() -> None:
    result = await engine().experiment(logged(["Draw a cat", URI]), scorers=[length])

    assert values(result, "length") == [len(URI)]
