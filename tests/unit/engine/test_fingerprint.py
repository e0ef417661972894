"""A definition says what a run's results depend on, and where two of them differ."""

from simeval.engine.plans.fingerprint import answer_options, changes


def test_equal_definitions_have_no_changes() -> None:
    assert changes({"seed": 1, "scenarios": [{"title": "a"}]}, {"seed": 1, "scenarios": [{"title": "a"}]}) == []


def test_a_change_is_named_by_its_way_to_it() -> None:
    before = {"scenarios": [{"title": "a", "then": [{"title": "x", "score": None}]}]}
    now = {"scenarios": [{"title": "a", "then": [{"title": "x", "score": "length"}]}]}

    assert changes(before, now) == ["scenarios: 'a': then: 'x': score was nothing and is 'length'"]


def test_one_version_of_all_prompts_is_held_against_that_of_each_that_is_read() -> None:
    assert changes({"prompts": "2"}, {"prompts": {"user": "2", "judge": "2"}}) == []
    assert changes({"prompts": "2"}, {"prompts": {}}) == []
    assert changes({"prompts": "2"}, {"prompts": {"user": "3", "judge": "2"}}) == ["prompts: user was '2' and is '3'"]


def test_scenarios_are_told_apart_by_title_and_number() -> None:
    before = {"scenarios": [{"title": "a", "when": "1"}, {"title": "a", "when": "2"}]}
    now = {"scenarios": [{"title": "a", "when": "1"}, {"title": "a", "when": "3"}, {"title": "b"}]}

    assert changes(before, now) == [
        "scenarios: 'a' (2): when was '2' and is '3'",
        "scenarios: 'b' was nothing and is there",
    ]


def test_addresses_and_keys_are_not_of_the_answer() -> None:
    assert answer_options({"api_base": "http://x", "api_key": "k", "temperature": 1}) == {"temperature": 1}
