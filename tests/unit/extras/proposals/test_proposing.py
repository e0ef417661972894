"""A model is asked for scenarios part by part, and what says nothing new is left out."""

from collections.abc import Mapping
from typing import Any

import pytest

from simeval.core.setting_field import RetryConfig
from simeval.core.settings import DEFAULTS
from simeval.errors import DefinitionError, ModelError, ModelUnusable
from simeval.extras.proposals.proposing import ProposalRequest, Proposals, propose
from simeval.extras.proposals.sources import Part
from simeval.models.protocol.model import Request
from simeval.testing import ScriptedModel, proposal_reply

pytestmark = pytest.mark.anyio

PAGE = Part("page.md", "We open at nine.\nReturns take\n14 days.")
OTHER = Part("other.md", "We sell tents.")
NO_WAITS = DEFAULTS.overridden({"retry_config": RetryConfig(max_attempts=1)})


async def proposed(model: ScriptedModel, *parts: Part, count: int) -> Proposals:
    return await propose(parts, count=count, model=model, settings=NO_WAITS)


def titles(made: Proposals) -> list[str]:
    return [each.scenario.title for each in made.found]


async def test_each_part_gives_its_share() -> None:
    def by_part(request: Request) -> Mapping[str, Any]:
        assert isinstance(request, ProposalRequest)
        return proposal_reply(*[f"{request.source[:7]} {word}" for word in ("hours", "prices", "staff")])

    made = await proposed(ScriptedModel(by_part), PAGE, OTHER, count=4)

    assert titles(made) == ["We open hours", "We open prices", "We sell hours", "We sell prices"]
    assert [each.source for each in made.found] == ["page.md", "page.md", "other.md", "other.md"]
    assert made.calls == 2


async def test_scenarios_of_one_title_or_one_content_are_kept_once_and_counted() -> None:
    same = proposal_reply("Opening hours", "OPENING HOURS", "hours opening")

    made = await proposed(ScriptedModel([same, proposal_reply("Returns"), {"scenarios": []}]), PAGE, count=3)

    assert titles(made) == ["Opening hours", "Returns"]
    assert made.alike == 2


async def test_a_further_round_names_what_is_there_and_ends_when_nothing_comes() -> None:
    model = ScriptedModel([proposal_reply("Hours"), proposal_reply("Returns"), {"scenarios": []}])

    made = await proposed(model, PAGE, count=5)

    assert titles(made) == ["Hours", "Returns"]
    asked = [request for request in model.requests if isinstance(request, ProposalRequest)]
    assert [request.known for request in asked] == [(), ("Hours",), ("Hours", "Returns")]
    assert [request.count for request in asked] == [5, 4, 3]
    assert len({request.seed for request in asked}) == 3


@pytest.mark.parametrize(
    ("quote", "kept"),
    [("Returns take 14 days.", "Returns take 14 days."), ("Returns take 30 days.", ""), ("", "")],
)
async def test_only_words_of_the_source_are_quoted(quote: str, kept: str) -> None:
    made = await proposed(ScriptedModel([proposal_reply("Returns", quote=quote)]), PAGE, count=1)

    assert [each.quote for each in made.found] == [kept]


async def test_a_part_without_a_reply_that_can_be_read_is_told_and_the_others_count() -> None:
    def by_part(request: Request) -> Any:
        assert isinstance(request, ProposalRequest)
        return "no JSON" if request.source == OTHER.text else proposal_reply("Hours")

    made = await proposed(ScriptedModel(by_part), PAGE, OTHER, count=2)

    assert titles(made) == ["Hours"]
    assert "malformed" in made.problems[0]


async def test_a_model_that_cannot_answer_at_all_is_an_error() -> None:
    with pytest.raises(ModelError, match="malformed"):
        await proposed(ScriptedModel(["no JSON"]), PAGE, count=2)
    refused = ModelUnusable("scripted/model", kind="authentication", problem="no key")
    with pytest.raises(ModelUnusable):
        await proposed(ScriptedModel([refused]), PAGE, count=2)


async def test_nothing_proposed_is_an_error() -> None:
    with pytest.raises(DefinitionError, match="found nothing to propose"):
        await proposed(ScriptedModel([{"scenarios": []}]), PAGE, count=2)
