"""Every role's prompt through a real chat template and a real grammar, on both roads.

Forms are held against what was asked for; what is said is not judged.
"""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from simeval.core.conversation import Message
from simeval.models.protocol.model import LEVELS, Request
from simeval.models.protocol.prompts import ChatRequest, GradeRequest, RubricRequest, UserTurn
from tests.real.conftest import Make
from tests.support.real_model import quick

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]

SITUATION: Mapping[str, Any] = {"given": "A schoolchild", "when": "The user asks what the capital of France is"}
EXPECTED = "The assistant says Paris"
TALK = (Message(role="user", content="What is the capital of France?"), Message(role="assistant", content="Paris."))
SHORT = {level: f"grade {level}" for level in LEVELS}

ROLES: Mapping[str, tuple[Request, int]] = {  # with the tokens of a prompt that reached the model whole, at the least
    "user, first": (UserTurn(**SITUATION, writing_style=None, history=(), seed=1, max_tokens=60), 80),
    "user, later": (UserTurn(**SITUATION, writing_style=None, history=TALK, seed=1, max_tokens=60), 90),
    "judge": (
        GradeRequest(**SITUATION, expected_behavior=EXPECTED, levels=SHORT, conversation=TALK, seed=1, max_tokens=60),
        200,
    ),
    "rubric": (RubricRequest(**SITUATION, expected_behavior=EXPECTED, max_tokens=250), 150),
    "app": (ChatRequest(history=[{"role": "user", "content": "What is the capital of France?"}], max_tokens=20), 10),
}


@pytest.mark.parametrize(
    ("road", "role"),  # the second road carries the same prompts
    [*(("openai", role) for role in ROLES), ("custom_openai", "judge"), ("custom_openai", "app")],
    indirect=["road"],
)
async def test_a_reply_is_in_the_form_asked_for_or_cut(make: Make, base_url: str, road: str, role: str) -> None:
    request, least = ROLES[role]
    model = make(**quick(base_url, road))
    made = await model.complete(request)
    await model.close()

    assert made.prompt_tokens >= least
    assert request.max_tokens is not None
    assert 0 < made.completion_tokens <= request.max_tokens
    if request.reply is None:
        assert made.text.strip()
    elif not made.is_cut:
        said = json.loads(made.text)
        assert sorted(said) == sorted(request.reply.json_schema["required"])
        if role == "judge":
            assert said["score"] is None or said["score"] in range(1, 11), "the grammar holds the bounds of integers"
    else:
        assert made.completion_tokens == request.max_tokens
