"""Faults of simulated users in many languages, on transcripts whose authors say which users did their part."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from simeval import Expectation, ScenarioTest, SuccessRateEvaluator
from simeval.core.conversation import STATUS, Conversation, Ending, Message
from simeval.core.phrases import Phrase, candidates, phrases, typed
from simeval.core.wording import asks, promises
from simeval.engine.users.faults import KINDS, find_faults
from simeval.engine.users.state import read_state

USERS = Path(__file__).parents[1] / "data" / "users"
AS_WRITTEN = (
    "own name",
    "given name",
    "given home",
    "other home",
)  # phrases read with capitals
TRANSCRIPTS = (
    "by_another_hand",
    "in_other_words",
    "before_the_rules",
    "of_all_kinds",
    "in_nine_languages",
    "by_a_stranger",
    "by_a_second_stranger",
    "by_a_third_stranger",
)
LATIN = ("en", "de", "fr", "es", "it", "pt", "nl")


def rows(name: str) -> list[dict[str, Any]]:
    return list(map(json.loads, (USERS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()))


def scenario(when: str, *, given: str = "A customer", then: str = "The assistant helps") -> ScenarioTest:
    expectation = Expectation(expected_behavior=then, evaluator=SuccessRateEvaluator(min_proportion=0.8))
    return ScenarioTest(title="Users", given=given, when=when, then=expectation)


def faults(of: ScenarioTest, *said: str, ended: Ending = "goal_satisfied") -> list[str]:
    """Return the kinds of fault of a user whose messages and answers stand in turn."""
    messages = tuple(
        Message(role="assistant" if place % 2 else "user", content=text) for place, text in enumerate(said)
    )
    return [fault.kind for fault in find_faults(of, Conversation(messages=messages, ended=ended))]


def found(row: Mapping[str, Any]) -> list[str]:
    of = scenario(row["when"], given=row["given"], then=row["expected_behavior"])
    messages = tuple(Message(role=each["role"], content=each["content"]) for each in row["messages"])
    return [fault.kind for fault in find_faults(of, Conversation(messages=messages, ended=row["ended"]))]


def is_named(row: Mapping[str, Any]) -> bool:
    return row["label"] == "bad" and row["kind"].split(" ")[0] in KINDS


def is_new(row: Mapping[str, Any]) -> bool:
    return row["label"] == "bad" and not is_named(row)


@pytest.mark.parametrize("phrase", phrases(), ids=lambda each: f"{each.kind}-{each.language}")
def test_a_phrase_matches_its_examples_and_no_counterexample(phrase: Phrase) -> None:
    pattern = re.compile(phrase.pattern)

    def matched(texts: tuple[str, ...]) -> list[bool]:
        return [bool(pattern.search(text if phrase.kind in AS_WRITTEN else typed(text))) for text in texts]

    assert phrase.matches
    assert phrase.misses
    assert all(matched(phrase.matches))
    assert not any(matched(phrase.misses))


def test_no_phrase_is_missed_for_its_signs() -> None:
    said = [message["content"] for name in TRANSCRIPTS for row in rows(name) for message in row["messages"]]
    said += [text for row in rows("promises") for text in (*row["must_match"], *row["must_not_match"])]
    texts = {*map(typed, said), *(text for each in phrases() for text in each.matches)}

    missed = [
        (each.kind, text)
        for each in phrases()
        for text in texts
        if re.search(each.pattern, text) and each not in candidates(each.kind, text)
    ]

    assert missed == []


@pytest.mark.parametrize("name", TRANSCRIPTS)
@pytest.mark.parametrize("is_latin", [True, False])
def test_faults_are_found_in_any_script(name: str, is_latin: bool) -> None:
    read = [row for row in rows(name) if (row["language"] in LATIN) is is_latin]
    named, new = list(filter(is_named, read)), list(filter(is_new, read))

    assert sum(bool(found(row)) for row in named) >= 0.8 * len(named) > 0
    assert sum(bool(found(row)) for row in new) >= 0.6 * len(new) > 0


def test_three_in_five_faults_in_transcripts_that_no_rule_was_written_for_are_found() -> None:
    read = [*rows("by_four_strangers"), *rows("by_three_more_strangers")]
    named, new = list(filter(is_named, read)), list(filter(is_new, read))

    assert sum(bool(found(row)) for row in named) >= 0.6 * len(named) > 0
    assert sum(bool(found(row)) for row in new) >= 0.3 * len(new) > 0


@pytest.mark.parametrize("name", [*TRANSCRIPTS, "good_of_many_kinds", "by_four_strangers", "by_three_more_strangers"])
def test_users_who_do_their_part_are_not_accused(name: str) -> None:
    good = [row for row in rows(name) if row["label"] == "good"]

    assert len(good) > 20
    assert [row["kind"] for row in good if found(row)] == []


def test_lines_of_a_dialogue_are_a_fault() -> None:
    of = scenario("You want a refund for the train.", given="You paid 86.40 for the train at 17:42 from Leeds.")
    lines = "— And the refund?\n— It has been sent.\n— Thank you."

    assert faults(of, "I want a refund for the train.", "Which one?", lines, "Found it.", "Thanks!") == [
        "plays_both_sides"
    ]


def test_a_wrong_thing_in_a_scenario_asks_for_no_wrong_number() -> None:
    of = scenario("Queres trocar as sapatilhas.", given="Recebeste umas sapatilhas com o tamanho errado.")

    found = faults(of, "Quero trocar as sapatilhas.", "Qual é o número da encomenda?", "É PT-20938841.", "Feito.")

    assert found == ["invents_fact"]


def test_faults_that_have_a_name_are_found_by_it() -> None:
    named = [row for name in TRANSCRIPTS for row in rows(name) if is_named(row)]
    right = [row for row in named if row["kind"].split(" ")[0] in found(row)]

    assert len(right) >= 0.9 * sum(bool(found(row)) for row in named)


GOAL = "She wants to know when the lamp is delivered, how much the return costs and whether gift wrapping is offered"
ASKS_FOR_TWO = "When does my lamp get here, and how much is a return?"
OFFERS_THE_THIRD = "On Friday. A return costs $5. Would you also like gift wrapping?"


def test_a_part_of_the_goal_that_is_offered_and_not_taken_is_a_fault() -> None:
    assert "part_unsaid" in faults(scenario(GOAL), ASKS_FOR_TWO, OFFERS_THE_THIRD, "Thanks, bye")


def test_a_part_that_nobody_speaks_of_is_a_fault() -> None:
    assert faults(scenario(GOAL), ASKS_FOR_TWO, "On Friday. A return costs $5.") == ["part_unsaid"]


@pytest.mark.parametrize(
    "said",
    [
        (ASKS_FOR_TWO, OFFERS_THE_THIRD, "Yes please!", "It is added."),
        (ASKS_FOR_TWO, "On Friday. A return costs $5, and gift wrapping is free."),
        ("When will the lamp come, what is the fee of a return, and do you wrap gifts?", "Friday, $5, and we do."),
    ],
)
def test_a_part_that_either_side_speaks_of_is_none(said: tuple[str, ...]) -> None:
    assert faults(scenario(GOAL), *said) == []


def test_who_gives_up_may_leave_a_part_unsaid() -> None:
    assert faults(scenario(GOAL), ASKS_FOR_TWO, "I do not know.", ended="gave_up") == []


@pytest.mark.parametrize(
    "promise",
    [
        "One moment.",
        "Ich sehe gleich nach.",
        "Lo compruebo ahora mismo.",
        "少々お待ちください。",
        "لحظة من فضلك.",
        "Je vérifie tout de suite.",
        "Un attimo, controllo subito.",
        "Só um instante, vou verificar.",
        "我马上为您查询。",
    ],
)
def test_nobody_leaves_satisfied_with_a_promise(promise: str) -> None:
    of = scenario("The customer asks when order F1001 arrives.")
    asked = Message(role="user", content="When does F1001 arrive?")
    history = (asked, Message(role="assistant", content=promise))

    assert not read_state(of, history, patience=3).may_leave
    assert "left_while_asked" in [
        fault.kind for fault in find_faults(of, Conversation(messages=history, ended="goal_satisfied"))
    ]


@pytest.mark.parametrize("row", rows("promises"), ids=lambda row: f"{row['language']}-{row['kind']}")
def test_promises_of_another_hand_hold_and_what_promises_nothing_does_not(row: Mapping[str, Any]) -> None:
    assert [text for text in row["must_match"] if not promises(text)] == []
    assert [text for text in row["must_not_match"] if promises(text)] == []


def test_promises_in_other_words_hold_in_each_language() -> None:
    lines = (USERS / "promises_in_other_words.tsv").read_text(encoding="utf-8").splitlines()
    made = Counter(line.split("\t")[0] for line in lines)
    held = Counter(language for language, text in (line.split("\t") for line in lines) if promises(text))

    assert len(made) == 10
    assert {language for language, count in made.items() if held[language] < 0.85 * count} == set()


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("She wants to move her dentist appointment to a morning", ("Nice weather!", "Hello?", "My cat is funny.")),
        ("Er möchte seine Bankkarte sperren lassen", ("Hallo", "Guten Tag.", "Schönes Wetter heute")),
        ("想知道垃圾分类怎么投放", ("你好", "您好。", "今天天气真好")),
    ],
)
def test_a_goal_without_a_name_is_looked_for_in_what_both_sides_say(when: str, said: tuple[str, ...]) -> None:
    assert "never_states_goal" in faults(scenario(when), *said, ended="turn_limit")


def test_a_goal_that_the_app_answers_was_stated_in_other_words() -> None:
    of = scenario("She wants to move her dentist appointment to a morning")

    assert faults(of, "Any chance of Wednesday at nine?", "Your appointment is on Wednesday.", "Fine!") == []


def test_a_title_before_a_surname_is_no_name() -> None:
    of = scenario("She wants to know when her parcel comes.", given="Your name is Mrs. Miller.")

    assert faults(of, "My name is Mrs. Miller. When will my parcel come?", "On Monday.", "Thank you, bye.") == []


@pytest.mark.parametrize(("number", "kind"), [("55-920", "changes_fact"), ("4471-20-993", "invents_fact")])
def test_a_number_in_groups_is_a_fact_like_any_other(number: str, kind: str) -> None:
    of = scenario("She asks about her bill.", given="A customer with the meter 55-902")

    assert faults(of, "My bill is high.", "Which number?", number, ended="turn_limit") == [kind]


@pytest.mark.parametrize("number", ["55-902", "2024-11-27", "10-14"])
def test_a_date_or_span_is_no_number_in_groups(number: str) -> None:
    of = scenario("She asks about her bill.", given="A customer with the meter 55-902")

    assert faults(of, "My bill is high.", "Which one?", number, ended="turn_limit") == []


def test_a_proposal_that_is_accepted_is_no_open_question() -> None:
    of = scenario("She wants another appointment.")

    assert (
        faults(of, "Another appointment please.", "Shall I book the appointment on Monday?", "Perfect, see you!") == []
    )


def test_answers_that_promise_nothing_hold_nobody() -> None:
    answers = (USERS / "no_promises.txt").read_text(encoding="utf-8").splitlines()

    assert len(answers) > 50
    assert [text for text in answers if promises(text)] == []


@pytest.mark.parametrize("text", ["メールアドレスを教えていただけますか。", "أخبرني برقم طلبك.", "请提供您的邮箱。"])
def test_a_request_without_a_question_mark_waits_for_an_answer(text: str) -> None:
    assert asks(text)


@pytest.mark.parametrize("text", ["他に何かございますか。", "هل هناك شيء آخر؟", "还需要其他帮助吗？"])
def test_anything_else_waits_for_none_in_other_scripts(text: str) -> None:
    assert not asks(text)


@pytest.mark.parametrize(
    ("asked", "answer", "told"),
    [
        ("When does my order F1001 get here, please?", "Your order contains a tent.", "Your order arrives on Friday."),
        (
            "Wann kommt meine Bestellung F1001 bei mir an?",
            "Zu Bestellungen: es gibt Zelte.",
            "Die Bestellung kommt morgen.",
        ),
        ("¿Cuándo llega por fin mi pedido F1001 a casa?", "Su pedido lleva una tienda.", "Su pedido llega el viernes."),
        ("How much do I pay to send back order F1001?", "Order F1001 has a tent.", "To send back order F1001 is free."),
    ],
)
def test_a_question_for_a_time_or_price_is_asked_again_until_one_is_told(asked: str, answer: str, told: str) -> None:
    of = scenario("The customer asks about order F1001.", given="A customer with order F1001")

    assert "repeats_itself" not in faults(of, asked, answer, asked, answer, asked, answer, ended="gave_up")
    assert "repeats_itself" in faults(of, asked, told, asked, told, ended="turn_limit")


@pytest.mark.parametrize("number", ["注文F1010です", "F١٠١٠", "رقمه F1010"])
def test_a_number_told_wrong_is_found_whatever_it_stands_beside(number: str) -> None:
    of = scenario("The customer asks about the order.", given="A customer with order F1001")

    assert "changes_fact" in faults(of, "F1001?", "?", number, ended="turn_limit")


def test_whoever_corrects_itself_changes_no_fact() -> None:
    of = scenario("The customer asks about the order.", given="A customer with order F1001")

    assert faults(of, "It is F1010, sorry, F1001.", "Thank you.") == []


def test_a_farewell_that_declines_leaves_no_question_open() -> None:
    of = scenario("The customer cancels the order.")
    left = Message(role="user", content="No, that is all, thanks", metadata={STATUS: "satisfied"})
    said = (
        Message(role="user", content="Please cancel my order."),
        Message(role="assistant", content="It is cancelled. Shall I order another one?"),
        left,
    )

    assert find_faults(of, Conversation(messages=said, ended="goal_satisfied")) == ()


@pytest.mark.parametrize(
    ("given", "said", "is_another"),
    [
        ("Nadia Cole, 29, a nurse who lives in Leeds", "I'm 71, is there a discount?", True),
        ("Nadia Cole, 29, a nurse who lives in Leeds", "I'm 29, is there a discount?", False),
        ("Nadia Cole, 29, a nurse who lives in Leeds", "I'm 10 minutes away.", False),
        ("Nadia Cole, 29, a nurse who lives in Leeds", "No, I live in Hull.", True),
        ("Nadia Cole, 29, a nurse who lives in Leeds", "I live in Leeds.", False),
        ("Nadia Cole, 29, a nurse who lives in Leeds", "I'm a teacher.", True),
        ("Nadia Cole, 29, a nurse who lives in Leeds", "I'm a night nurse.", False),
        ("A nurse who lives alone with her wife's old dog", "My wife's dog is ill.", False),
        ("A vegan cook", "I'd like the steak.", True),
        ("A vegan cook", "I don't eat meat.", False),
        ("A customer", "I'm 71 and I live in Hull, I'd like the steak.", False),
    ],
)
def test_whoever_is_somebody_else_than_its_script_changes_a_fact(given: str, said: str, is_another: bool) -> None:
    found = faults(scenario("The customer asks about a ticket.", given=given), "A ticket, please.", "For whom?", said)

    assert ("changes_fact" in found) is is_another


SAME_PERSON = [
    ("Nora, a customer of the shop for 12 years", "I'm 71, so please explain slowly."),
    ("The mother of a 14-year-old boy", "I'm 45, and he is in school."),
    ("A customer who needs a single room", "My husband will come with me."),
    ("A woman who lives alone", "My husband died last year."),
    ("Eine Kundin, die lediglich eine Auskunft will", "Meine Frau hat bestellt."),
    ("独身の会社員", "大丈夫とのことでした。"),
    ("A widow whose husband died in May", "I live alone now."),
    ("A customer, never married, 40", "I am single."),
    ("A vegetarian", "I'd like a meat-free dish."),
    ("A vegetarian", "I have chicken in my wrap, and I ordered the vegan one."),
    ("Ein Veganer", "Mir wurde leider Speck gebracht."),
    ("A driver with no car insurance", "I want to insure my car."),
    ("車を持っていない客", "電車で行きます。"),
    ("没有车的顾客", "我有车票。"),
    ("A software developer who has never used the API", "I'm a developer and need a key."),
    ("A former teacher", "I'm retired now."),
    ("A software developer", "I'm a programmer."),
    ("A nurse", "I'm no engineer, but it looks broken."),
    ("A teacher who wants a policy", "I'm a careful driver."),
    ("Ein Lehrer oder eine Lehrerin", "Ich bin Lehrerin."),
    ("一位老师", "我是来看医生的。"),
    ("A customer who ordered shoes from Zalando.", "I live in Leeds, when do they come?"),
    ("A woman who lives in Leeds", "I live in England, if that matters."),
    ("Eine Kundin aus Berlin, 40", "Ich wohne in Miete."),
    ("Клиентка, живёт в Казани", "Я живу в России."),
    ("名古屋に住む客", "名古屋市に住んでいます。"),
    ("名古屋に住む客", "実家に住んでいます。"),
    ("顾客,住在成都", "我住在公司附近。"),
    ("عميل اشترى هاتفا من المتجر", "أعيش في شقة صغيرة."),
]
ANOTHER_PERSON = [
    ("A 29-year-old nurse", "I'm 71, so yes."),
    ("A nurse from Leeds, 30", "No, I live in Hull."),
    ("Anna, 40, single", "My wife said no."),
    ("Lives with her husband", "I live alone."),
    ("Does not eat meat", "I'd like the steak."),
    ("Has no car and takes the bus", "My car is outside."),
    ("Has never used a computer", "As a programmer of twenty years I know this."),
    ("A nurse", "I'm a retired teacher."),
]


@pytest.mark.parametrize(("given", "said"), SAME_PERSON)
def test_a_user_who_tells_more_of_itself_than_its_script_is_still_itself(given: str, said: str) -> None:
    assert "changes_fact" not in faults(scenario("The user wants help", given=given), said, "I see.")


@pytest.mark.parametrize(("given", "said"), ANOTHER_PERSON)
def test_a_user_who_is_not_the_person_of_its_script_is_at_fault(given: str, said: str) -> None:
    assert "changes_fact" in faults(scenario("The user wants help", given=given), said, "I see.")


@pytest.mark.parametrize(
    ("answer", "again"),
    [
        ("Our boots have a lining.", "I want to send back the leaking winter boots and get a refund, please."),
        (
            "You find refunds on our website.",
            "My winter boots are leaking, I would send them back for a refund.",
        ),
        ("We sell winter boots.", "I don't want to buy any. I want to send back my leaking winter boots for a refund."),
    ],
)
def test_who_asks_again_in_other_words_after_an_evasive_answer_does_not_repeat_itself(answer: str, again: str) -> None:
    of = scenario("The user wants to send back their leaking winter boots for a refund.")
    first = "Hi, my winter boots leak and I want to send them back for a refund."

    assert faults(of, first, answer, again, "I see.") == []


@pytest.mark.parametrize(
    ("read_back", "told"),
    [
        ("Account 90315 was opened in 2019. Right?", "No, in 2021."),
        ("Account 90315, and your extension is 55123. Right?", "No, the extension is 55124."),
    ],
)
def test_whoever_denies_a_number_that_is_not_of_its_script_changes_no_fact(read_back: str, told: str) -> None:
    of = scenario("The user confirms the change of the meter", given="Ben, account 90315")

    assert "changes_fact" not in faults(of, "Hello, account 90315.", read_back, told, "I see.")


def test_a_price_in_words_answers_a_question_for_a_price() -> None:
    of = scenario("The user wants to know when the sofa arrives, the price and whether it is insured")
    told = "It comes on Friday, it is insured, and you owe us twenty euros."

    assert faults(of, "When does the sofa arrive? Is it insured?", told, "Thanks.") == []


def test_a_lone_question_mark_is_a_message_in_any_script() -> None:
    assert not any("empty_message" in faults(scenario("The user wants help"), "Hello", "Yes?", sign) for sign in "?？؟")
