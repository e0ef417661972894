"""What trials with a script come to: their checks by a judge, and no calls for what is given."""

from dataclasses import replace

from simeval.engine.plans.cost_forecast import MESSAGE_TOKENS, CostForecast
from simeval.scorers.text.tool_calls import ToolRules
from simeval.suites.scenario import ScenarioTest
from simeval.suites.script import Check, Step
from tests.support.forecasts import PLAIN, forecast_of, scenario

GIVEN = Step(user="Where is my order?")
SENTENCE = Step(check="Bot asks for the number")


def calls(found: CostForecast) -> dict[str, tuple[int, int]]:
    """Return the calls of each role in 40 trials: at most, and typically."""
    return {role: (usage.calls // 40, found.typical[role].calls // 40) for role, usage in found.at_most.items()}


def scripted(*script: Step, max_turns: int = 10) -> ScenarioTest:
    return scenario(script=script, max_turns=max_turns)


def test_each_check_by_a_sentence_is_a_call_of_each_judge_and_repeat() -> None:
    suite = scripted(GIVEN, SENTENCE, GIVEN, Step(check=Check(judged="Bot is polite")))

    once = forecast_of(suite)
    often = forecast_of(suite, settings=replace(PLAIN, judge_repeats=3), judges=["judge/a", "judge/b"])

    assert calls(once)["judge"] == (1 + 2, 1 + 2)
    assert calls(often)["judge"] == (3 * 6, 3 * 6)
    assert once.trial.calls == 3


def test_checks_by_rule_are_no_calls() -> None:
    rules = [Check(contains="number"), Check(tools=ToolRules(required=["refund"])), Check(matches="[0-9]+")]

    assert calls(forecast_of(scripted(GIVEN, *[Step(check=rule) for rule in rules])))["judge"] == (1, 1)


def test_a_check_of_a_second_judge_is_escalated_as_a_rating_is() -> None:
    settings = replace(PLAIN, escalate="rating 4..8")

    found = forecast_of(scripted(GIVEN, SENTENCE), settings=settings, judges=["judge/a", "judge/b"])

    assert (found.at_most["judge"].calls, found.at_most["escalation"].calls) == (80, 80)
    assert (found.typical["judge"].calls, found.typical["escalation"].calls) == (80, 24)


def test_a_trial_that_is_held_anew_has_its_checks_anew() -> None:
    found = forecast_of(scripted(GIVEN, SENTENCE), settings=replace(PLAIN, on_user_fault="retry"))

    assert calls(found)["judge"] == (1 + 3, 1 + 1)


def test_a_script_that_gives_every_answer_asks_no_app() -> None:
    found = forecast_of(scripted(GIVEN, Step(app="Which one?")), app_model="app/m")

    assert calls(found) == {"judge": (1, 1), "control": (0, 0), "rubric": (0, 0)}


def test_what_is_given_asks_no_user_and_no_app() -> None:
    found = forecast_of(scripted(GIVEN, Step(app="Which one?"), Step(user="4711")), app_model="app/m")

    assert calls(found) == {"app": (1, 1), "judge": (1, 1), "control": (0, 0), "rubric": (0, 0)}
    assert found.typical["app"].prompt_tokens == 40 * 3 * MESSAGE_TOKENS


def test_a_user_is_asked_for_no_more_messages_than_a_step_has() -> None:
    assert calls(forecast_of(scripted(GIVEN, Step(simulate=2))))["user"] == (2, 2)
    assert calls(forecast_of(scripted(GIVEN, Step(simulate=8))))["user"] == (8, 4)
    assert calls(forecast_of(scripted(GIVEN, Step(simulate="to_end"), max_turns=6)))["user"] == (5, 4)
    assert calls(forecast_of(scripted(Step(simulate="to_end"), max_turns=6))) == calls(
        forecast_of(scenario(max_turns=6))
    )


def test_who_leaves_a_step_without_a_word_can_be_asked_once_more_to_the_end() -> None:
    steps = (Step(simulate=2), GIVEN, Step(simulate="to_end"))

    assert calls(forecast_of(scripted(*steps, max_turns=6)))["user"] == (2 + 3 + 1, 2 + 3)


def test_a_simulated_user_alone_is_forecast_as_by_a_script_to_the_end() -> None:
    alone, by_script = forecast_of(scenario()), forecast_of(scripted(Step(simulate="to_end")))

    assert (alone.at_most, alone.typical, alone.longest) == (by_script.at_most, by_script.typical, by_script.longest)


def test_a_check_reads_what_was_said_by_then() -> None:
    early = forecast_of(scripted(SENTENCE, *[GIVEN] * 3))
    late = forecast_of(scripted(*[GIVEN] * 3, SENTENCE))

    more = late.typical["judge"].prompt_tokens - early.typical["judge"].prompt_tokens
    assert 40 * 6 * MESSAGE_TOKENS < more < 40 * 6 * 2 * MESSAGE_TOKENS
