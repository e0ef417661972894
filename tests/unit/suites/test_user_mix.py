"""Users who are not all alike: who is drawn, how often, and what is refused."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simeval import Expectation, ScenarioTest, SuccessRateEvaluator, UserMix, UserPersona
from simeval.core import seeds
from simeval.errors import DefinitionError, SuiteFileError
from simeval.stats.binomial import clopper_pearson
from simeval.suites import load_suite

SHARES = {"Anna": 0.6, "Ben": 0.3, "Carl": 0.1}
MIX = UserMix([UserPersona(persona=f"You are {name}.", name=name, share=share) for name, share in SHARES.items()])
FILE = """\
users: {mix: [{persona: You are in a hurry., share: 0.75}, {persona: You are deaf., share: 0.25, name: deaf}]}
scenarios:
  - title: One
    given: A user
    when: They ask
    then: {expected_behavior: It answers, evaluator: {type: success_rate, min_proportion: 0.9}}
  - title: Two
    given: A user
    when: They ask
    users: {mix: [{persona: You are Danish., share: 1, style: {language: Danish}}]}
    then: {expected_behavior: It answers, evaluator: {type: success_rate, min_proportion: 0.9}}
"""


def test_shares_of_ten_thousand_personas_lie_within_exact_bounds() -> None:
    drawn = Counter(MIX.draw(seeds.derive(7, index)).name for index in range(10_000))

    for name, share in SHARES.items():
        lower, upper = clopper_pearson(drawn[name], 10_000, 0.0001)
        assert lower <= share <= upper


def test_texts_of_a_style_are_drawn_by_their_shares_and_the_seed() -> None:
    persona = UserPersona(
        persona="You type.", share=1, style={"tone": "Polite.", "typing": {"Small.": 0.8, "BIG.": 0.2}}
    )

    drawn = [persona.drawn_style(seeds.derive(7, index)) for index in range(10_000)]

    lower, upper = clopper_pearson(sum(each["typing"] == "BIG." for each in drawn), 10_000, 0.0001)
    assert lower <= 0.2 <= upper
    assert {each["tone"] for each in drawn} == {"Polite."}
    assert drawn == [persona.drawn_style(seeds.derive(7, index)) for index in range(10_000)]


def test_a_trial_has_the_persona_of_its_seed() -> None:
    assert [MIX.draw(seed) for seed in range(50)] == [MIX.draw(seed) for seed in range(50)]


def test_a_file_gives_a_mix_to_all_of_its_scenarios_but_for_those_with_their_own(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(FILE)

    one, two = load_suite(str(tmp_path / "suite.yaml"))

    assert one.users is not None
    assert [(each.title, each.share) for each in one.users.mix] == [("You are in a hurry", 0.75), ("deaf", 0.25)]
    assert two.users is not None
    assert [(each.title, dict(each.style)) for each in two.users.mix] == [("You are Danish", {"language": "Danish"})]


@pytest.mark.parametrize(
    ("before", "now", "line", "says"),
    [
        ("share: 0.75", "share: 0.5", 1, "the shares add up to 0.75"),
        ("share: 1,", "share: 0,", 10, "give a number above 0"),
        ("share: 1,", "shares: 1,", 10, "did you mean 'share'?"),
        ("persona: You are deaf.", "persona: 5", 1, "users.mix.1.persona"),
        (", name: deaf", ", name: You are in a hurry", 1, "two personas are called"),
        ("style: {language: Danish}", "style: {language: 5}", 10, "style"),
        ("language: Danish", "language: {Danish: 0.5, German: 0.4}", 10, "texts with shares that add up to 1"),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, before: str, now: str, line: int, says: str) -> None:
    (tmp_path / "suite.yaml").write_text(FILE.replace(before, now))

    with pytest.raises(SuiteFileError) as refused:
        load_suite(str(tmp_path / "suite.yaml"))

    assert f"line {line}," in str(refused.value)
    assert says in str(refused.value)


@pytest.mark.parametrize("users", [[], "hurried", {"mix": []}])
def test_only_a_mix_is_one(users: Any) -> None:
    then = Expectation(expected_behavior="It answers", evaluator=SuccessRateEvaluator(min_proportion=0.9))

    with pytest.raises(DefinitionError, match="give a UserMix"):
        ScenarioTest(title="A", given="B", when="C", then=then, users=users)


def test_secrets_are_taken_out_of_all_texts() -> None:
    mix = UserMix([UserPersona(persona="Knows K1.", name="K1", share=1, style={"tone": "K1"})])

    [cleaned] = mix.cleaned(lambda text: text.replace("K1", "*")).mix

    assert (cleaned.persona, cleaned.name, cleaned.style) == ("Knows *.", "*", {"tone": "*"})
    assert MIX.cleaned(str) is MIX


def test_a_persona_with_scripts_says_one_of_them_by_the_seed(tmp_path: Path) -> None:
    scripts = "scripts: [[{user: Hello}], [{user: Hi}, {simulate: 1}]]"
    (tmp_path / "suite.yaml").write_text(FILE.replace("persona: You are in a hurry.", f"persona: Hurry., {scripts}"))

    scenario, _ = load_suite(str(tmp_path / "suite.yaml"))

    assert scenario.users is not None
    [hurried, deaf] = scenario.users.mix
    drawn = {scenario.script_of(hurried, seed)[0].user for seed in range(40)}
    assert drawn == {"Hello", "Hi"}
    assert scenario.script_of(deaf, 1) == ()
    assert scenario.is_simulated


def test_a_script_of_a_persona_that_cannot_be_followed_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text(
        FILE.replace("persona: You are in a hurry.", "persona: Hurry., scripts: [[{check: It greets}]]")
    )

    with pytest.raises(SuiteFileError, match="found no turn"):
        load_suite(str(tmp_path / "suite.yaml"))
