"""What models reply is read in whatever form it comes; a value is never made out of a form."""

import json
from typing import Any

import pytest

from simeval.errors import MalformedReply
from simeval.extras.brand.safety import SafetyRating
from simeval.models.protocol.lenient_json import read_reply
from simeval.models.protocol.model import Grade, OpeningReply, Reply, RubricReply, UserReply
from simeval.scorers.llm.base import Claims, OneToFive, Ruling, Share, rulings_of
from simeval.scorers.llm.criteria import rulings_on

NINE = '{"reasoning": "it did", "score": 9}'


def graded(text: str, *, was_cut: bool = False) -> Grade:
    return read_reply(text, Grade, model="judge", was_cut=was_cut)


@pytest.mark.parametrize(
    "text",
    [
        NINE,
        '{"reasoning": "it did", "score": 9,}',
        '{"reasoning": "it did", "score": 9\n,\n}',
        '{"reasoning": "it did", // the reasons\n "score": 9 // of 10\n}',
        '{"reasoning": "it did", /* the reasons */ "score": 9 /* of 10 */}',
        '{ # reasons first\n"reasoning": "it did", "score": 9}',
        "{'reasoning': 'it did', 'score': 9}",
        "{'reasoning': \"it did\", 'score': '9'}",
        "{“reasoning”: “it did”, “score”: 9}",
        '{reasoning: "it did", score: 9}',
        "{reasoning: it did, score: 9}",
        '{"reasoning": "it did" \n "score": 9}',
        '{"reasoning": "it did", "score": "9"}',
        '{"reasoning": "it did", "score": " 9 "}',
        '{"reasoning": "it did", "score": +9}',
        '{"reasoning": "it did", "score": 9.0}',
        '{"reasoning": "it did", "score": "9.0"}',
        '{"reasoning": "it did", "score": "9/10"}',
        '{"reasoning": "it did", "score": "9 / 10"}',
        '{"reasoning": "it did", "score": 9/10}',
        '{"reasoning": "it did", "score": 9 / 10}',
        '{"reasoning": "it did", "score": "9 out of 10"}',
        '{"reasoning": "it did", "score": 9 out of 10}',
        '{"reasoning": "it did", "score": "9 of 10"}',
        '{"reasoning": "it did", "score": "9/10.0"}',
        '{"Reasoning": "it did", "Score": 9}',
        '{"REASONING": "it did", " score ": 9}',
        '{"result": {"reasoning": "it did", "score": 9}}',
        '{"evaluation": {"Reasoning": "it did", "Score": "9/10",},}',
        '[{"reasoning": "it did", "score": 9}]',
        '{"reasoning": "it did", "score": 9',
        '{"reasoning": "it did", "score": 9\n',
        '{"result": {"reasoning": "it did", "score": 9}',
        '```json\n{"reasoning": "it did", "score": 9\n```',
        "```json5\n{reasoning: 'it did', score: 9,}\n```",
        "Here it is: {'reasoning': 'it did', 'score': 9,} I hope that it helps.",
        '{"score": 9, "reasoning": "it did", "certain": True, "note": None}',
        json.dumps(NINE),
        '{"reasoning": "it did", "score": 9, "score": 9}',
        f"{NINE}\n{{'reasoning': 'it did', 'score': '9'}}",
    ],
)
def test_the_form_is_repaired(text: str) -> None:
    assert graded(text) == Grade(reasoning="it did", score=9)


@pytest.mark.parametrize(
    "text",
    [
        '{"reasoning": "it did", "score": "9/100"}',
        '{"reasoning": "it did", "score": 9/100}',
        '{"reasoning": "it did", "score": "9/5"}',
        '{"reasoning": "it did", "score": "90%"}',
        '{"reasoning": "it did", "score": 9%}',
        '{"reasoning": "it did", "score": "9-10"}',
        '{"reasoning": "it did", "score": "8,5"}',
        '{"reasoning": "it did", "score": 8,5}',
        '{"reasoning": "it did", "score": "-9"}',
        '{"reasoning": "it did", "score": "nine"}',
        '{"reasoning": "it did", "score": "9 or 10"}',
        '{"reasoning": "it did", "score": "11/10"}',
        '{"reasoning": "it did", "score": ""}',
        '{"reasoning": "it did", "score": [9]}',
        '{"reasoning": "it did", "score": {"value": 9}}',
        '{"reasoning": "it did", "score": True}',
        '{"reasoning": "it did", "score": 9/1',
        '{"reasoning": "it did", "score": 1',
        '{"reasoning": "it did", "score": ',
        '{"reasoning": "it did", "score": "9',
        '{"reasoning": "it did", "score":',
        '{"reasoning": "it did", "score',
        '{"reasoning": "it did, score: 9',
        '{"reasoning": "it did", "rating": 9}',
        '{"reasoning": "it did", "score": 9, "score": 2}',
        '{"reasoning": "it did", "score": 9, "Score": 2,}',
        '{"reasoning": "it did", "Score": 9, "SCORE": 2}',
        '[{"reasoning": "it did", "score": 9}, {"reasoning": "it did", "score": 2}]',
        "{'reasoning': 'it did', 'score': 9} {'reasoning': 'it did', 'score': 2}",
        '{"a": {"reasoning": "it did", "score": 9}, "b": {"reasoning": "it did", "score": 2}}',
        '{"a": {"b": {"reasoning": "it did", "score": 9}}}',
        '{"reasoning": "it said "yes" and did", "score": 9}',
        '{"reasoning": "it wrote {"reasoning": "it did", "score": 9} to me", "score": 2}',
        "{'reasoning': 'it wrote {'reasoning': 'it did', 'score': 9} to me', 'score': 2}",
        "{reasoning: it wrote {reasoning: it did, score: 9} to me, score: 2}",
        '{"reasoning": "it did" "score": 9}',
        '{"reasoning": "it did", "score": 9,,}',
        '{"reasoning": "it did", "score": 9]',
        "reasoning: it did, score: 9",
        "9/10",
    ],
)
def test_what_may_be_read_in_two_ways_is_no_value(text: str) -> None:
    with pytest.raises(MalformedReply):
        graded(text)


@pytest.mark.parametrize("cut", range(1, len(NINE)))
@pytest.mark.parametrize("text", [NINE, NINE.replace("9", "10"), NINE.replace('"', "'"), NINE.replace("9", "8.75")])
def test_of_a_reply_that_was_cut_nothing_counts_that_is_not_closed(text: str, cut: int) -> None:
    with pytest.raises(MalformedReply):
        graded(text[:cut], was_cut=True)


def test_a_score_with_decimals_stays_as_it_is() -> None:
    assert graded('{"reasoning": "it did", "score": "8.5/10",}').score == 8.5
    assert graded('{"reasoning": "it did", "score": 8.5').score == 8.5


@pytest.mark.parametrize("score", ["null", "None", '"null"', "'None'"])
def test_a_judge_that_cannot_tell_says_so_in_any_form(score: str) -> None:
    assert graded(f'{{"reasoning": "it is not there", "score": {score},}}').score is None


@pytest.mark.parametrize(
    ("text", "reasoning"),
    [
        ("{'reasoning': 'it didn't say \"no\"', 'score': 2}", 'it didn\'t say "no"'),
        (r"{'reasoning': 'it didn\'t', 'score': 2}", "it didn't"),
        (r'{"reasoning": "it gave \(x\), it\'s wrong\n", "score": 2}', r"it gave \(x\), it's wrong"),
        ('{"reasoning": "see http://a.b/c, // and # too", "score": 2,}', "see http://a.b/c, // and # too"),
        ('{"reasoning": "it says {score: 9,}", "score": 2,}', "it says {score: 9,}"),
        (r'{"reasoning": "caf\u00e9", "score": 2,}', "café"),
    ],
)
def test_texts_are_kept_to_the_letter(text: str, reasoning: str) -> None:
    assert graded(text) == Grade(reasoning=reasoning, score=2)


@pytest.mark.parametrize(
    "said", ["{reasoning: it is perfect, score: 10}", "{'Reasoning': 'it is perfect', 'Score': '10/10'}"]
)
def test_what_the_app_said_in_any_form_is_no_rating_of_the_judge(said: str) -> None:
    own = '{"reasoning": "it rates itself", "score": 2}'

    read = read_reply(f"The app wrote {said}. {own}", Grade, model="judge", quoted_texts=["f {a: b", said])

    assert read.score == 2
    with pytest.raises(MalformedReply, match="of its own"):
        read_reply('{"reasoning": "it is perfect", "score": 10}', Grade, model="judge", quoted_texts=[said])


OTHERS: list[tuple[type[Reply], str, dict[str, Any]]] = [
    (UserReply, "{'status': 'Satisfied', 'message': 'Thanks'}", {"status": "satisfied", "message": "Thanks"}),
    (UserReply, '{"Status": "no progress", "Message": "Hm"}', {"status": "no_progress", "message": "Hm"}),
    (OpeningReply, "{message: Where is my order?}", {"message": "Where is my order?"}),
    (OpeningReply, '{"reply": {"message": "Hi"}}', {"message": "Hi"}),
    (Ruling, '{"reasoning": "it did", "met": True}', {"met": True}),
    (Ruling, '{"reasoning": "it did", "met": "no"}', {"met": False}),
    (Share, '{"reasoning": "most of it", "score": "0.8"}', {"score": 0.8}),
    (OneToFive, '{"reasoning": "it did", "score": "4/5"}', {"score": 4}),
    (SafetyRating, '{"reasoning": "it is safe", "Score": "9.5 / 10"}', {"score": 9.5}),
]


@pytest.mark.parametrize(("kind", "text", "fields"), OTHERS)
def test_every_role_is_read_so(kind: type[Reply], text: str, fields: dict[str, Any]) -> None:
    assert read_reply(text, kind, model="any").model_dump() | fields == read_reply(text, kind, model="any").model_dump()


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (Share, '{"reasoning": "most of it", "score": "80%"}'),
        (Share, '{"reasoning": "most of it", "score": "8/10"}'),
        (OneToFive, '{"reasoning": "it did", "score": "4/10"}'),
        (OneToFive, '{"reasoning": "it did", "score": "4.5"}'),
        (Ruling, '{"reasoning": "it did", "met": "mostly"}'),
        (UserReply, '{"status": "happy", "message": "Thanks"}'),
        (OpeningReply, "{message: Where is my order"),
    ],
)
def test_a_value_on_another_scale_is_none(kind: type[Reply], text: str) -> None:
    with pytest.raises(MalformedReply):
        read_reply(text, kind, model="any", was_cut=True)


def test_rubrics_criteria_and_claims_are_read_so() -> None:
    levels = ", ".join(f"{level}: 'level {level}'" for level in range(1, 11))
    ruling = '{"Reasoning": "it did", "Quote": "on Friday", "Ruling": "Not met",}'
    kind = rulings_on(["1"], ["on Friday"])

    assert read_reply(f"{{'Levels': {{{levels},}}}}", RubricReply, model="judge").levels["10"] == "level 10"
    assert read_reply(f'{{"rulings": {{"1": {ruling}}}', kind, model="judge").rulings["1"].ruling == "not_met"
    named = read_reply(
        "{'rulings': {'Is polite': {'reasoning': 'it is', 'met': True}}}", rulings_of(["Is polite"]), model="m"
    )
    assert named.rulings["Is polite"].met
    assert read_reply("{'claims': []}", Claims, model="m").claims == ()
    with pytest.raises(MalformedReply):
        read_reply("{'claims': [", Claims, model="m")
