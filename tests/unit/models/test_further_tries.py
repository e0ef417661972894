"""A reply that cannot be read is asked for again in another way, because a deterministic server repeats itself."""

import json
from collections.abc import Mapping

import pytest

from simeval.core.run_records import Ledger, ReplyRecord
from simeval.core.settings import RetryConfig, Settings
from simeval.errors import ModelError
from simeval.models.caller import Caller, ReplyCache
from simeval.models.protocol.model import Completion, Grade, PlainReply, Request
from simeval.models.protocol.prompts import ChatRequest, GradeRequest, LabelRulingRequest
from simeval.models.registry import Models
from simeval.testing import ScriptedModel

pytestmark = pytest.mark.anyio

AT_ONCE = RetryConfig(max_attempts=4, backoff_multiplier=0)
GOOD = {"reasoning": "it did", "score": 8}
BAD = {"reasoning": "it did", "score": 20}


def grading(seed: int = 1) -> GradeRequest:
    return GradeRequest(given="a", when="b", expected_behavior="c", levels={}, conversation=(), seed=seed)


def deterministic(request: Request) -> str:
    """Answer by all that a deterministic server's answer depends on: well only where one is asked otherwise."""
    return json.dumps(GOOD if request.temperature > 0 and request.seed != grading().seed else BAD)


async def test_a_deterministic_server_is_asked_with_another_seed_and_a_temperature() -> None:
    model = ScriptedModel(deterministic)

    assert (await Caller(model, AT_ONCE).ask(grading(), Grade)).score == 8

    first, second = model.requests
    assert (first.seed, first.temperature) == (1, 0)
    assert second.seed != 1
    assert second.temperature == 0.5


async def test_each_further_try_has_a_seed_of_its_own_and_equal_runs_have_equal_ones() -> None:
    seeds = []
    for _ in range(2):
        model = ScriptedModel([BAD])
        with pytest.raises(ModelError, match="after 4 attempts"):
            await Caller(model, AT_ONCE).ask(grading(), Grade)
        seeds.append([request.seed for request in model.requests])

    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 4


async def test_a_further_try_says_what_was_wrong_and_nothing_of_the_reply() -> None:
    model = ScriptedModel([BAD | {"reasoning": "SECRET"}, GOOD])

    await Caller(model, AT_ONCE).ask(grading(), Grade)

    first, second = (request.messages()[-1]["content"] for request in model.requests)
    assert second.startswith(first)
    assert "field 'score': Input should be less than or equal to 10" in second
    assert "SECRET" not in second
    assert [message["role"] for message in model.requests[1].messages()] == ["system", "user"]


async def test_a_call_that_failed_otherwise_is_made_again_as_it_was() -> None:
    model = ScriptedModel([ModelError("m", kind="server", problem="500"), GOOD])

    await Caller(model, AT_ONCE).ask(grading(), Grade)

    assert model.requests[0] == model.requests[1]


async def test_a_reply_that_was_cut_is_asked_for_with_twice_the_tokens_and_so_are_all_after_it() -> None:
    caller = Caller(model := ScriptedModel(answer_of_needed(3000)), AT_ONCE)

    for seed in (1, 2):
        await caller.ask(grading(seed), Grade)

    assert [request.max_tokens for request in model.requests] == [800, 1600, 3200, 3200]


def answer_of_needed(tokens: int):  # type: ignore[no-untyped-def]  # a script
    def answer(request: Request) -> Completion:
        is_cut = request.max_tokens is not None and request.max_tokens < tokens
        text = '{"reasoning": "it' if is_cut else json.dumps(GOOD)
        return Completion(text=text, is_cut=is_cut, completion_tokens=0 if is_cut else tokens)

    return answer


async def test_runaway_replies_do_not_raise_the_room_that_good_ones_never_needed() -> None:
    asked = 0

    def every_other_runs_away(_: Request) -> Completion:
        nonlocal asked
        asked += 1
        is_cut = asked % 2 == 1
        return Completion(text="{" if is_cut else json.dumps(GOOD), is_cut=is_cut, completion_tokens=30)

    model = ScriptedModel(every_other_runs_away)
    caller = Caller(model, AT_ONCE)
    for seed in range(20):
        await caller.ask(grading(seed), Grade)

    assert {request.max_tokens for request in model.requests} == {800, 1600}


async def test_an_option_sets_where_the_room_begins_and_the_error_names_it() -> None:
    model = ScriptedModel(answer_of_needed(10**9))
    caller = Caller(model, AT_ONCE, options={"max_tokens": 5, "top_p": 0.9})

    with pytest.raises(ModelError, match="the reply was cut at 40 tokens; give it more with the option max_tokens"):
        await caller.ask(grading(), Grade)

    assert [request.max_tokens for request in model.requests] == [5, 10, 20, 40]
    assert model.requests[-1].options == {"max_tokens": 40, "top_p": 0.9}


async def test_a_cut_reply_that_is_whole_in_itself_is_taken() -> None:
    model = ScriptedModel([Completion(text=json.dumps(GOOD) + " and so", is_cut=True)])

    assert (await Caller(model, AT_ONCE).ask(grading(), Grade)).score == 8


async def test_plain_text_that_was_cut_is_asked_for_with_more_room_unless_its_end_is_seen() -> None:
    cut = Completion(text="I would like to send back the", is_cut=True)
    model = ScriptedModel([cut, "I would like to send back the boots."])
    caller = Caller(model, AT_ONCE)

    assert (await caller.ask(grading(), PlainReply)).message == "I would like to send back the boots."
    assert [request.max_tokens for request in model.requests] == [800, 1600]
    assert caller.ledger.of(grading().role).malformed_calls == 1

    for text in ("Thanks. [END] And", "Thanks.\nAssistant: You are"):
        marked = ScriptedModel([Completion(text=text, is_cut=True)])
        assert (await Caller(marked, AT_ONCE).ask(grading(), PlainReply)).message == "Thanks."


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("I want to send back the boots. They are too", "I want to send back the boots."),
        ('It says "no"! Why? Because I', 'It says "no"! Why?'),
        ("It costs 3.50 euros. And 4.", "It costs 3.50 euros. And 4."),
        ("届きません。いつ", "届きません。"),
        ("hi\nwhere is", "hi"),
    ],
)
async def test_plain_text_that_was_cut_counts_up_to_its_last_sentence(text: str, message: str) -> None:
    model = ScriptedModel([Completion(text=text, is_cut=True)])

    assert (await Caller(model, AT_ONCE).ask(grading(), PlainReply)).message == message
    assert model.calls == 1


async def test_plain_text_of_which_a_filter_withheld_the_end_counts_for_nothing() -> None:
    model = ScriptedModel([Completion(text="Here it is. And", is_filtered=True)])

    with pytest.raises(ModelError, match="withheld by the content filter"):
        await Caller(model, AT_ONCE).ask(grading(), PlainReply)


async def test_a_temperature_that_was_given_is_raised_too() -> None:
    model = ScriptedModel([BAD, BAD, GOOD])

    await Caller(model, AT_ONCE, options={"temperature": 0}).ask(grading(), Grade)

    assert [request.options["temperature"] for request in model.requests] == [0, 0.5, 0.5]


async def test_an_app_is_asked_again_in_its_own_words() -> None:
    model = ScriptedModel(["", "hello"])
    request = ChatRequest(history=[{"role": "user", "content": "hi"}], temperature=0, seed=1)

    assert await Caller(model, AT_ONCE).text(request) == "hello"

    first, second = model.requests
    assert second.messages() == first.messages()
    assert (first.temperature, second.temperature) == (0, 0)
    assert first.seed != second.seed


async def test_a_judge_that_chats_in_place_of_a_label_is_told_which_labels_there_are() -> None:
    request = LabelRulingRequest(given="a", when="b", criterion="c", conversation=(), seed=1)
    model = ScriptedModel([Completion(text="I think so", is_cut=True), "Yes"])

    chosen = await Caller(model, AT_ONCE).choose(request, ["Yes", "No"])

    assert chosen.label == "Yes"
    assert "it begins with none of Yes, No" in model.requests[1].messages()[-1]["content"]
    assert model.requests[1].max_tokens == model.requests[0].max_tokens


async def test_replies_of_no_use_are_counted_by_role() -> None:
    ledger = Ledger()
    models = Models(Settings(retry_config=AT_ONCE))
    scripted = models.get(ScriptedModel([BAD, "nothing", GOOD]))

    await models.caller(scripted, ledger).ask(grading(), Grade)

    usage = ledger.of("judge")
    assert (usage.calls, usage.malformed_calls, usage.failed_calls) == (3, 2, 0)


class Shelf:
    def __init__(self) -> None:
        self.kept: dict[str, ReplyRecord] = {}

    def reply(self, key: str) -> ReplyRecord | None:
        return self.kept.get(key)

    async def note(self, record: ReplyRecord) -> None:
        self.kept[record.key] = record


async def test_the_try_is_part_of_the_caches_key() -> None:
    shelf = Shelf()

    async def asked() -> list[Request]:
        model = ScriptedModel(deterministic)
        cache = ReplyCache(shelf=shelf, note=shelf.note, ledger=Ledger(), clean=str)
        await Caller(model, AT_ONCE, cache=cache).ask(grading(), Grade)
        return model.requests

    assert len(await asked()) == 2
    again = await asked()
    assert len(again) == 1, "the second try is answered from the cache"
    assert again[0].seed == 1


@pytest.mark.parametrize(
    ("role", "options"),
    [
        ("judge", {"top_p": 0.5, "max_tokens": 300}),
        ("user", {"top_p": 0.9}),
        ("app", {"top_p": 0.9}),
    ],
)
async def test_a_roles_options_go_over_those_of_all(role: str, options: Mapping[str, object]) -> None:
    settings = Settings(model_options={"top_p": 0.9}, judge_options={"top_p": 0.5, "max_tokens": 300})
    models = Models(settings)
    scripted = ScriptedModel([GOOD])

    await models.caller(models.get(scripted), Ledger(), role=role).ask(grading(), Grade)  # type: ignore[arg-type]

    assert scripted.requests[0].options == options
