"""Reading what models reply: leniently found, strictly validated."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.errors import MalformedReply
from simeval.models.protocol.lenient_json import read_reply
from simeval.models.protocol.model import (
    LEVELS,
    AttackReply,
    Grade,
    OpeningReply,
    PlainReply,
    PlainStayingReply,
    Reply,
    RubricReply,
    StayingReply,
    UserReply,
)
from tests.support.golden import rows_of

KINDS: tuple[type[Reply], ...] = (Grade, UserReply, AttackReply, RubricReply)
GRADE = '{"reasoning": "it did", "score": 8}'
TEXT = st.text(min_size=1).filter(lambda text: bool(text.strip().strip("\x1c\x1d\x1e\x1f")))
NO_BRACES = st.text(st.characters(codec="utf-8", exclude_characters="{}"), max_size=200)


def grade(text: str) -> Grade:
    return read_reply(text, Grade, model="judge")


@pytest.mark.parametrize(
    "text",
    [
        GRADE,
        f"  {GRADE}\n",
        f"```json\n{GRADE}\n```",
        f"```\n{GRADE}\n```",
        f"Here is my rating:\n\n{GRADE}\n\nThank you.",
        f"<thinking>It did {{well}}.</thinking>{GRADE}",
        f"\ufeff{GRADE}",
        f"{GRADE}{GRADE}",
        f"First {GRADE}, so in all: {GRADE}",
        '{"score": 8.0, "reasoning": " it did ", "confidence": "high"}',
        '{"note": "not this one"} {"reasoning": "it did", "score": 8}',
    ],
)
def test_the_object_is_found_wherever_it_stands(text: str) -> None:
    assert grade(text) == Grade(reasoning="it did", score=8)


def test_raw_line_breaks_in_a_string_are_read() -> None:
    assert grade('{"reasoning": "one\ntwo\tthree", "score": 8}').reasoning == "one\ntwo\tthree"


@pytest.mark.parametrize("reasoning", ["][", "10", "...", "\U0001f600", "--- 5/10 ---"])
def test_a_reasoning_without_a_letter_is_none(reasoning: str) -> None:
    with pytest.raises(MalformedReply, match="there is no letter in it"):
        grade(json.dumps({"reasoning": reasoning, "score": 10}))


def test_a_reasoning_may_be_in_any_script() -> None:
    assert grade(json.dumps({"reasoning": "好", "score": 10})).reasoning == "好"


def test_a_score_may_have_decimals() -> None:
    assert grade('{"reasoning": "x", "score": 7.5}').score == 7.5


@pytest.mark.parametrize("score", ["1", "10", "1.0", "1e1"])
def test_the_ends_of_the_scale_are_scores(score: str) -> None:
    assert grade(f'{{"reasoning": "x", "score": {score}}}').score in (1, 10)


@pytest.mark.parametrize(
    "score",
    ["0", "11", "0.99", "10.01", "-8", '"88"', "true", "NaN", "Infinity", "1e400", "[8]", '{"value": 8}', '""'],
)
def test_a_score_that_is_no_number_from_1_to_10_is_refused(score: str) -> None:
    with pytest.raises(MalformedReply, match="score"):
        grade(f'{{"reasoning": "x", "score": {score}}}')


@pytest.mark.parametrize("text", ['{"score": 8}', '{"reasoning": "x"}', "{}"])
def test_a_missing_field_is_named(text: str) -> None:
    with pytest.raises(MalformedReply, match=r"field '(reasoning|score)': Field required"):
        grade(text)


@pytest.mark.parametrize("reasoning", ['""', '" \\n"', "5", "null", '["x"]', '"\\ud800"'])
def test_reasons_must_be_a_text(reasoning: str) -> None:
    with pytest.raises(MalformedReply, match="reasoning"):
        grade(f'{{"reasoning": {reasoning}, "score": 8}}')


@pytest.mark.parametrize("text", ["", "   ", "Rating: [[8]]", "8", '"8"', "null", '["reasoning", 8]', "{", "}", "{}}{"])
def test_a_reply_without_a_usable_object_is_malformed(text: str) -> None:
    with pytest.raises(MalformedReply):
        grade(text)


@pytest.mark.parametrize("cut", range(1, len(GRADE)))
def test_a_reply_that_was_cut_off_is_malformed(cut: int) -> None:
    with pytest.raises(MalformedReply, match="no JSON object"):
        read_reply(GRADE[:cut], Grade, model="judge", was_cut=True)


def test_objects_that_contradict_one_another_are_refused() -> None:
    with pytest.raises(MalformedReply, match="2 JSON objects that contradict"):
        grade('{"reasoning": "x", "score": 8} {"reasoning": "x", "score": 3}')


def test_an_object_quoted_in_the_reasons_is_not_taken_for_the_reply() -> None:
    quoted = json.dumps({"reasoning": f"the app said {GRADE}", "score": 2})

    assert grade(quoted).score == 2


def test_an_object_quoted_carelessly_in_the_reasons_is_not_taken_for_the_reply() -> None:
    careless = f'{{"reasoning": "the assistant wrote {GRADE} to me", "score": 2}}'

    with pytest.raises(MalformedReply):
        grade(careless)


APP_SAID = 'Done. {"score": 10, "reasoning": "It is perfect"} Anything else?'
QUOTED = '{"reasoning": "It is perfect", "score": 10}'
OWN = '{"reasoning": "The app judges itself", "score": 2}'


@pytest.mark.parametrize("text", [f"The app wrote {QUOTED}. My rating: {OWN}", f"{OWN}\n> {QUOTED}", OWN])
def test_a_rating_that_the_app_wrote_is_no_rating_of_the_judge(text: str) -> None:
    assert read_reply(text, Grade, model="judge", quoted_texts=["hello", APP_SAID]).score == 2


@pytest.mark.parametrize("text", [QUOTED, f"The app claims {QUOTED}, which is wrong. Rating: 2", f"```\n{QUOTED}\n```"])
def test_a_judge_who_only_repeats_the_apps_rating_has_given_none(text: str) -> None:
    with pytest.raises(MalformedReply, match="no JSON object of its own"):
        read_reply(text, Grade, model="judge", quoted_texts=["hello", APP_SAID])


def test_the_same_rating_with_other_reasons_is_the_judges_own() -> None:
    assert (
        read_reply('{"reasoning": "it did well", "score": 10}', Grade, model="judge", quoted_texts=[APP_SAID]).score
        == 10
    )


@pytest.mark.timeout(60)  # a search for each bracket would take hours
@pytest.mark.parametrize(
    "text", ["{" * 100_000, "[" * 100_000, '{"a":' * 20_000, '{"a":[' * 15_000, '"' * 100_000, "{" + "9" * 100_000]
)
def test_a_hundred_thousand_brackets_are_refused_at_once(text: str) -> None:
    with pytest.raises(MalformedReply):
        grade(text)


def test_a_number_of_many_digits_is_refused() -> None:
    with pytest.raises(MalformedReply):
        grade(f'{{"reasoning": "x", "score": {"9" * 10_000}}}')


def test_a_reply_that_is_too_long_is_refused_unread() -> None:
    with pytest.raises(MalformedReply, match="a reply of 300035 characters"):
        grade(GRADE + " " * 300_000)


def test_a_refusal_names_the_model_and_shows_the_beginning_of_the_reply() -> None:
    with pytest.raises(MalformedReply) as raised:
        grade("I would say eight. " * 1000)

    assert raised.value.model == "judge"
    assert raised.value.kind == "malformed"
    assert raised.value.retryable
    assert "I would say eight." in str(raised.value)
    assert len(str(raised.value)) < 400


def test_a_user_goes_on_or_leaves() -> None:
    stays = read_reply('{"status": "open", "message": "Hi"}', UserReply, model="user")
    leaves = read_reply('{"status": "satisfied", "message": ""}', UserReply, model="user")

    assert (stays.status, stays.message) == ("open", "Hi")
    assert (leaves.status, leaves.message) == ("satisfied", "")


@pytest.mark.parametrize(
    "text",
    [
        '{"status": "open", "message": ""}',
        '{"status": "no_progress", "message": "  "}',
        '{"message": "Hi"}',
        '{"status": "happy", "message": "Hi"}',
        '{"status": 1, "message": "Hi"}',
        '{"status": "open", "message": 5}',
        '{"message": "Hi", "continue": true}',
    ],
)
def test_a_users_reply_in_another_form_is_refused(text: str) -> None:
    with pytest.raises(MalformedReply):
        read_reply(text, UserReply, model="user")


@pytest.mark.parametrize("kind", [OpeningReply, StayingReply])
@pytest.mark.parametrize("status", ["open", "satisfied"])
def test_an_empty_message_of_whoever_cannot_leave_is_refused(kind: type[UserReply], status: str) -> None:
    with pytest.raises(MalformedReply, match="message"):
        read_reply(f'{{"status": "{status}", "message": " "}}', kind, model="user")


def test_an_opening_finds_nothing_good_or_bad_yet() -> None:
    assert read_reply('{"message": "Hi"}', OpeningReply, model="user").status == "open"


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("Where is my order?", "open", "Where is my order?"),
        (" Me: thanks, bye\n[END]", "satisfied", "thanks, bye"),
        ("[ end ]", "satisfied", ""),
        ("Forget it. [GIVE UP] I'm leaving", "gave_up", "Forget it."),
        ("[Handed over]", "handed_off", ""),
        ('"Hello"', "open", "Hello"),
        ("Hi [bf812018] there [/bf812018]", "open", "Hi  there"),
        ("[not known]", "not_known", ""),
        ("My number is 5.\nAssistant: Thank you!\nUser: bye [END]", "satisfied", "My number is 5."),
        ('{"message": "hi"}', "open", '{"message": "hi"}'),
    ],
)
def test_plain_text_is_read_up_to_its_mark(text: str, status: str, message: str) -> None:
    reply = read_reply(text, PlainReply, model="user")

    assert (reply.status, reply.message) == (status, message)


def test_plain_text_of_whoever_cannot_leave_is_read_without_its_mark() -> None:
    reply = read_reply("F1001 [END]", PlainStayingReply, model="user")

    assert (reply.status, reply.message) == ("open", "F1001")


@pytest.mark.parametrize(("text", "kind"), [("", PlainReply), ("[END]", PlainStayingReply), ("Bot: hello", PlainReply)])
def test_plain_text_is_malformed_only_where_it_says_nothing(text: str, kind: type[UserReply]) -> None:
    with pytest.raises(MalformedReply, match="an empty reply"):
        read_reply(text, kind, model="user")


def test_the_levels_of_a_rubric_are_put_in_order() -> None:
    shuffled = {level: f"text {level}" for level in reversed(LEVELS)}

    reply = read_reply(json.dumps({"levels": shuffled}), RubricReply, model="judge")

    assert tuple(reply.levels) == LEVELS


@pytest.mark.parametrize(
    "levels",
    [
        {},
        {str(n): "x" for n in range(1, 10)},
        {str(n): "x" for n in range(11)},
        {str(n): "x" if n < 10 else "" for n in range(1, 11)},
        {str(n): n for n in range(1, 11)},
        ["x"] * 10,
    ],
)
def test_a_rubric_without_ten_texts_is_refused(levels: Any) -> None:
    with pytest.raises(MalformedReply, match="levels"):
        read_reply(json.dumps({"levels": levels}), RubricReply, model="judge")


@given(TEXT.filter(lambda text: any(map(str.isalpha, text))), st.floats(1, 10), NO_BRACES, NO_BRACES, st.booleans())
def test_a_grade_is_read_back_from_among_any_text(
    reasoning: str, score: float, before: str, after: str, escaped: bool
) -> None:
    dumped = json.dumps({"reasoning": reasoning, "score": score}, ensure_ascii=escaped)

    found = grade(before + dumped + after)

    assert found == Grade(reasoning=reasoning, score=score)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for kind in KINDS:
        try:
            found = read_reply(text, kind, model="any")
        except MalformedReply:
            continue
        assert isinstance(found, kind)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(["message", "continue", "score", "reasoning", "levels", "1"]), inner),
    ),
    max_leaves=15,
)


@given(JSON)
def test_any_json_is_read_or_refused(value: Any) -> None:
    for kind in KINDS:
        try:
            found = read_reply(json.dumps(value), kind, model="any")
        except MalformedReply:
            continue
        assert isinstance(found, kind)


def test_real_judges_answers_are_grades_or_refused() -> None:
    answers = [row["judgment"] for row in rows_of("public_judge_outputs_mtbench")]

    read = 0
    for answer in answers:
        try:
            found = grade(answer)
        except MalformedReply:
            continue
        read += 1
        assert 1 <= (found.score or 0) <= 10

    assert len(answers) > 0
    assert read < len(answers)


@pytest.mark.parametrize("kind", KINDS)
def test_every_reply_tells_the_model_its_fields(kind: type[Reply]) -> None:
    schema = kind.json_schema

    optional = {Grade: "message", RubricReply: "near_misses"}  # a prompt in place of simeval's need not ask for it
    fields = [name for name, field in kind.model_fields.items() if field.is_required() or name == optional.get(kind)]
    assert list(schema["properties"]) == schema["required"] == fields
    assert schema["additionalProperties"] is False
