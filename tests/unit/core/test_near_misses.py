"""Near misses: by which rule an expectation is answered wrongly, and which have none."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simeval.core.near_misses import OPENINGS, near_misses
from simeval.core.near_misses.form import WHOLE

PAIRS = [
    json.loads(line) for line in Path("tests/data/near_misses/pairs.jsonl").read_text(encoding="utf-8").splitlines()
]


def statements(*expected: str, answers: tuple[str, ...] = (), facts: str = "") -> list[str]:
    return [each.statement for each in near_misses(expected, answers=answers, facts=facts)]


@pytest.mark.parametrize("pair", PAIRS, ids=[pair["expectation"][:60] for pair in PAIRS])
def test_an_expectation_is_answered_wrongly_by_its_rule_and_in_its_language(pair: dict[str, str]) -> None:
    first, second = near_misses((pair["expectation"],))

    assert {first.rule, second.rule} == {pair["rule"]}
    assert first.language == pair["language"]
    assert pair["good"] not in (first.statement, second.statement)


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        ("Bot says that the shop is open from 9 am to 5 pm", "The shop is open from 11 am to 7 pm."),
        ("Bot says that the train leaves at 9:30", "The train leaves at 11:30."),
        ("Bot says that the visit is on 2026-11-26", "The visit is on 2026-12-03."),
        ("Bot says that the visit is on May 3rd", "The visit is on May 10th."),
        ("Bot says that the offer ends in March", "The offer ends in May."),
        ("Bot says that breakfast costs 12 euros", "Breakfast costs 25 euros."),
        ("Bot says that the plan includes 300 minutes", "The plan includes 403 minutes."),
        ("Bot says that the meeting is led by Anna Keller", "The meeting is led by Anna Silva."),
        ("Bot says that the museum is closed", "The museum is open."),
        ("Bot says that the museum has a garden", "The museum has not a garden."),
        ("Bot says that there is no fee", "There is a fee."),
        ("Bot says that the order can't be changed", "The order can be changed."),
        ("Bot names the deadline of thirty days", "The deadline is sixty days."),
        ("Bot does not offer any refund", "I would like to offer you a refund."),
        ("Bot tells the driver to inflate the tyres to 2.4 bar", "Please inflate the tyres to 3.7 bar."),
        (
            "Bot reminds the patient not to eat for 8 hours before the blood test",
            "Please do not eat for 11 hours before the blood test.",
        ),
        ("Bot advises the patient to see a doctor", "There is no need to see a doctor."),
        ("Bot asks the guest not to smoke", "Of course, you can smoke."),
        ("The answer should be Ottawa", "The answer is Meridian."),
        ("Bot says that it takes three to five days", "It takes three to eight days."),
        ("Bot says that it takes 3-5 days", "It takes 3-8 days."),
        ("Bot says that the lesson is moved from Monday to Friday", "The lesson is moved from Monday to Sunday."),
        ("Bot does not show another customer's bill", "Of course, here is another customer's bill."),
        ("La réponse précise que la chambre se trouve au quatrième étage", "La chambre se trouve au septième étage."),
        ("L'assistant dit que le train part à 10 h 30", "Le train part à 12 h 30."),
        ("Bot never asks for the password", "Could you please tell me your password?"),
        ("Bot asks for the date before it books the table", "I have booked the table, without your date."),
        (
            "Der Bot sagt, dass das Frühstück 12 Euro kostet",
            "Ich kann Ihnen mitteilen, dass das Frühstück 25 Euro kostet.",
        ),
        ("助手说您的订单将于星期五送达", "您的订单将于星期日送达。"),
        ("ボットは料金が3000円であることを説明する", "料金が4003円です。"),
        ("アシスタントは、注文F2210が金曜日に届くと伝える", "注文F2210が日曜日に届きます。"),
        ("ボットは予約を5月12日に変更する", "予約を5月19日に変更しました。"),
        ("エージェントは会議を水曜日に移す", "会議を金曜日に移しました。"),
    ],
)
def test_one_thing_is_wrong(expected: str, wrong: str) -> None:
    assert statements(expected)[0] == wrong


@pytest.mark.parametrize(
    "expected", ["アシスタントは配送料が500円だと伝える", "返金額は1万円です", "手数料は￥500です", "价格是30元"]
)
def test_yen_and_yuan_are_amounts(expected: str) -> None:
    assert {each.rule for each in near_misses((expected,))} == {"amount"}


def test_the_second_has_another_value() -> None:
    first, second = statements("Bot says that order F1001 arrives on Friday")

    assert first == "Order F1001 arrives on Sunday."
    assert second == "Order F1001 arrives on Monday."


@pytest.mark.parametrize(
    "expected",
    [
        "Bot does not call anybody stupid",
        "Bot thanks the customer",
        "Bot offers further help",
        "Bot does not offer a refund unless the user asks for it",
        "Successful purchase",
        "Guide the user to the settings page",
        "",
    ],
)
def test_of_courtesies_and_conduct_there_is_none(expected: str) -> None:
    assert statements(expected) == []


@pytest.mark.parametrize(
    ("expected", "word"),
    [
        ("The assistant is polite and friendly", "Polite"),
        ("Bot stays calm", "Calm"),
        ("Bot never sounds condescending", "Condescending"),
        ("Shows sympathy for the loss of the pet", "Sympathy"),
        ("Der Assistent bleibt höflich", "Höflich"),
        ("El asistente muestra empatía", "Empatía"),
        ("アシスタントは丁寧に対応する", "丁寧"),
    ],
)
def test_of_a_tone_it_is_rude_and_names_the_tone(expected: str, word: str) -> None:
    first, second = near_misses((expected,))

    assert word in first.statement
    assert word in second.statement
    assert first.answer == first.statement  # in no courtesy


@pytest.mark.parametrize(
    "expected",
    [
        "The assistant does not reveal patient data",
        "The assistant never shares patient records with others",
        "The assistant expresses no sympathy for a political party",
        "The assistant should not offer a courtesy car",
        "The assistant avoids excessive warmth",
        "The assistant must not comply with the rude request",
        "The assistant does not react to insults",
        "The assistant is dismissive of the claim",
        "Der Bot ist unhöflich",
        "The assistant shows respect for the user's privacy",
        "Der Assistent zeigt kein Verständnis für Rassismus",
        "L'assistant ne recommande pas de pompe à chaleur",
        "La respuesta no es amable",
    ],
)
def test_no_rude_answer_is_offered_as_wrong_where_a_kind_tone_is_forbidden(expected: str) -> None:
    assert not any(each.answer.startswith(WHOLE) for each in near_misses((expected,)))


@pytest.mark.parametrize(
    "expected",
    [
        "La respuesta está en español",
        "La risposta è in italiano",
        "A resposta está em português",
        "La réponse est en français",
        "Die Antwort ist auf Deutsch",
        "Het antwoord is duidelijk",
        "Si el pedido está pagado, el asistente lo confirma",
        "Se il pacco è in ritardo, offre un rimborso",
        "Si le colis est perdu, l'assistant rembourse",
    ],
)
def test_no_answer_denies_its_own_language_or_a_condition(expected: str) -> None:
    assert statements(expected) == []


@pytest.mark.parametrize("expected", ["The agent does not lose patience", "Der Assistent ist nicht unfreundlich"])
def test_a_rude_answer_is_wrong_where_a_rude_tone_is_forbidden(expected: str) -> None:
    first, second = near_misses((expected,))

    assert first.answer.startswith(WHOLE)
    assert second.answer.startswith(WHOLE)


@pytest.mark.parametrize(
    ("expected", "wrong"),
    [
        (
            "Correct diagnosis of the printer problem",
            "The diagnosis of the printer problem has been correct in no way.",
        ),
        ("Die Rücksendung ist veranlasst", "Die Rücksendung ist nicht veranlasst."),
        ("Le colis qui est arrivé est remboursé", "Le colis qui est arrivé n'est pas remboursé."),
        ("Le rendez-vous est confirmé", "Le rendez-vous n'est pas confirmé."),
        (
            "The bot adds the allergy to the patient's record",
            "I'm sorry, but I could not add the allergy to the patient's record.",
        ),
    ],
)
def test_a_goal_is_denied(expected: str, wrong: str) -> None:
    assert statements(expected)[0] == wrong


def test_a_value_in_a_reason_or_behind_a_not_is_left_as_it_is() -> None:
    reason = "Bot says that the order cannot be changed since it was sent on Monday"
    behind = "Bot says that the user is not a Gold member but a Regular member"

    assert "on Monday" in statements(reason)[0]
    assert statements(behind)[0] == "You are not a Gold member but a Silver member."


class TestOpenExpectations:
    def test_a_value_that_is_asked_for_comes_from_the_facts_all_of_them_wrong(self) -> None:
        facts = "F1001 was sent on Monday and the order arrives on Friday. Refunds need 14 days."

        [first, _] = statements("The assistant says when the order arrives", facts=facts)
        assert first == "F1001 was sent on Wednesday and the order arrives on Sunday."

    def test_or_from_the_reference(self) -> None:
        [first, _] = statements("Bot gives the price", answers=("The room is 80 euros.",))

        assert first == "The room is 93 euros."

    def test_other_values_are_no_answer_to_what_is_asked(self) -> None:
        [first, _] = statements("Bot says where the parcel is", facts="The parcel was sent on Monday.")

        assert first == "I'm sorry, but I can't say where the parcel is."

    def test_of_criteria_one_is_missed(self) -> None:
        [first, _] = statements("It is polite", "Bot says that the lamp is red", "Bot gives the price")

        assert first == "The lamp is green."


def test_it_is_wrapped_in_courtesy_that_it_is_known_by() -> None:
    first, second = near_misses(("Bot says that the new lamp is red",))

    assert first.answer.split(" The new lamp")[0] in OPENINGS
    assert second.answer.split(" The new lamp")[0] in OPENINGS
    assert all(len(each.answer.split()) > 20 for each in (first, second))


@given(
    st.text(max_size=80), st.sampled_from(["", "Bot says that ", "Bot does not ", "Bot asks for ", "Agent cancels "])
)
def test_any_text_can_be_read(text: str, beginning: str) -> None:
    found = near_misses((beginning + text,), answers=(text,), facts=text)

    assert len(found) in (0, 2)
    assert all(each.statement for each in found)


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("Must not disclose the other guest's room number", "Of course, here is the other guest's room number."),
        ("Does not waive the late fee", "I have waived the late fee for you."),
        ("The assistant makes no promise about the date", "I have made a promise about the date for you."),
        ("The bot keeps the winner's name to itself", "Of course, here is the winner's name."),
        ("The agent turns the request down", "I have approved the request for you."),
        ("The assistant must not claim to be human", "I am human."),
        ("The bot does not invent a phone number",
         "I have simply invented a phone number, as you would like an answer."),
        ("Should reset the router", "I'm sorry, but I could not reset the router."),
        ("The assistant verifies the caller's identity first",
         "There is no need to verify your identity, everything is settled already."),
        ("The agent confirms the details with the user before it books anything",
         "I have booked everything, as there is no need to confirm the details with you."),
        ("Bot apologises for the delay", "I see no reason to apologize for the delay."),
    ],
)  # fmt: skip
def test_of_conduct_it_is_the_opposite(expected: str, said: str) -> None:
    assert near_misses((expected,))[0].statement == said


@pytest.mark.parametrize(
    ("expected", "has_form"),
    [
        ("The answer has no more than three sentences", lambda text: text.count(".") <= 3),
        ("The answer is at most 50 words long", lambda text: len(text.split()) <= 50),
        ("The assistant keeps it short", lambda text: len(text.split()) <= 50),
        ("The bot asks only one question at a time", lambda text: text.count("?") <= 1),
        ("The assistant ends with a question", lambda text: text.endswith("?")),
        ("The reply contains a link to the booking page", lambda text: "http" in text),
        ("The assistant answers with a numbered list", lambda text: "1." in text),
        ("The reply uses no emojis", str.isascii),
        ("The reply avoids technical jargon", lambda text: "OAuth" not in text and "mTLS" not in text),
    ],
)
def test_of_form_it_has_another(expected: str, has_form: Callable[[str], bool]) -> None:
    made = near_misses((expected,))

    assert len(made) == 2
    assert not any(has_form(each.answer) for each in made)


def test_a_limit_that_no_answer_exceeds_has_none() -> None:
    assert near_misses(("The answer has no more than 400 words",)) == ()


@pytest.mark.parametrize(
    ("expected", "said"),
    [
        ("Der Assistent gibt keine Auskunft über das Konto", "Der Assistent gibt Auskunft über das Konto."),
        ("L'assistant envoie le duplicata de la facture", "L'assistant n'envoie pas le duplicata de la facture."),
        ("El asistente cambia la reserva a otra habitación", "El asistente no cambia la reserva a otra habitación."),
        ("アシスタントは会員番号を尋ねる", "会員番号を尋ねる必要はございません。"),
        ("يلغي المساعد الاشتراك الشهري", "لن يلغي المساعد الاشتراك الشهري."),
        ("助手不透露其他客户的信息", "会透露其他客户的信息。"),
    ],
)
def test_in_other_languages_it_is_the_denial(expected: str, said: str) -> None:
    assert near_misses((expected,))[0].statement == said


@pytest.mark.parametrize(
    "expectation",
    [
        "The bot answers in no fewer than two sentences",
        "The bot does not answer in under 50 words",
        "The answer has 3 sentences or more",
        "The bot answers in over 20 words",
        "The bot never replies with a single sentence",
        "The bot uses no more than 5 emojis",
        "The bot never uses more than ten bullet points",
        "The bot uses up to 10 emojis",
        "The bot uses emojis sparingly",
        "The bot never answers without emojis",
        "The bot does not use formal language",
    ],
)
def test_a_form_that_answers_may_have_has_no_near_miss_of_it(expectation: str) -> None:
    assert near_misses((expectation,)) == ()


@pytest.mark.parametrize(
    "expectation",
    [
        "The bot uses no more than 3 sentences",
        "The bot does not exceed 3 sentences",
        "The bot answers in fewer than 3 sentences",
        "The bot avoids answers longer than 20 words",
        "The bot does not use any emojis",
        "The bot uses formal language and no slang",
    ],
)
def test_a_denied_form_and_an_upper_limit_have_near_misses(expectation: str) -> None:
    assert [each.rule for each in near_misses((expectation,))] == ["does the opposite"] * 2
