"""A simulated user in plain text, played by a model that is far too small: no turn of it is lost."""

from typing import Any

import pytest

from simeval.core.conversation import Message
from simeval.core.run_records import Ledger
from simeval.core.settings import RetryConfig, Settings
from simeval.models.protocol.prompts import UserTurn
from simeval.models.registry import Models
from tests.support.real_model import NAME, quick

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(900)]

SITUATIONS = (
    ("A schoolchild who does homework in geography", "The user asks what the capital of France is"),
    ("A customer of a web shop whose order F1001 has not arrived", "The user asks where order F1001 is"),
    ("A person with a headache", "The user asks how many paracetamol tablets they may take at once"),
)
SAID = (Message(role="user", content="hi, i have a question"), Message(role="assistant", content="How can I help you?"))
TURNS = 6  # each situation as a first message and as a later one


async def test_no_turn_in_plain_text_is_lost(base_url: str) -> None:
    settings = Settings(
        model_options=quick(base_url),
        user_options={"max_tokens": 60},
        retry_config=RetryConfig(max_attempts=5, backoff_multiplier=0),
        model_timeout_seconds=300,
    )
    models, ledger = Models(settings), Ledger()
    models.open()
    caller = models.caller(models.get(f"openai-compatible/{NAME}", "user"), ledger, role="user")

    messages = []
    for number in range(TURNS):
        given, when = SITUATIONS[number % len(SITUATIONS)]
        about: dict[str, Any] = {"given": given, "when": when, "writing_style": None, "format": "text", "seed": number}
        history = SAID if number % 2 else ()
        request = UserTurn(**about, history=history, is_held=bool(history))
        messages.append((await caller.ask(request, request.reads)).message)
    await models.close()

    assert all(message.strip() and "\n" not in message for message in messages)
    assert len(messages) == TURNS
    assert ledger.of("user").malformed_calls <= TURNS // 4
