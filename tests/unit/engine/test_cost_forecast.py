"""What a run will come to, before the first call."""

from dataclasses import replace

import pytest

from simeval.core.run_records import Usage, total
from simeval.engine.plans.cost_forecast import LEVEL_TOKENS, MESSAGE_TOKENS, Cost, CostForecast, forecast
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import MeanEvaluator, SuccessRateEvaluator
from simeval.models.protocol.prompt_texts import all_prompts
from simeval.models.protocol.prompts import GradeRequest, RubricRequest, UserTurn
from simeval.models.registry import Price
from simeval.scorers.metrics import response_latency
from simeval.suites.planning import plan_suite
from simeval.suites.scenario import Expectation
from tests.support.forecasts import BAR, PLAIN, TOKEN, forecast_of, plans, scenario
from tests.support.records import conversation


def test_calls_at_most_are_those_of_every_trial_of_users_who_never_leave() -> None:
    found = forecast_of(
        scenario("One", behaviours=["it greets", "it helps"], max_turns=7),
        scenario("Two", behaviours=["it helps"], max_turns=4, sample_size=30),
        settings=replace(PLAIN, judge_repeats=3),
        judges=["judge/a", "judge/b"],
        app_model="app/m",
    )

    calls = {role: usage.calls for role, usage in found.at_most.items()}
    assert calls == {
        "app": 40 * 7 + 30 * 4,
        "judge": (40 * 2 + 30) * 3 * 2,
        "control": 3 * 2 * 4,  # two far ones, and two near misses that the writer of the rubric may give
        "rubric": 2,
        "user": 40 * 7 + 30 * 4,
    }
    assert found.trial.calls == 7 + 2 * 3 * 2 + 7
    assert found.trials_at_most == 70


def test_typical_users_write_three_messages_but_not_more_than_they_may() -> None:
    found = forecast_of(scenario("One", max_turns=7), scenario("Two", max_turns=2))

    assert found.typical["user"].calls == 40 * (3 + 1) + 40 * 2  # by one call more they leave
    assert found.at_most["user"].calls == 40 * 7 + 40 * 2


def test_a_second_judge_rates_each_conversation_at_most_and_three_in_ten_typically() -> None:
    found = forecast_of(scenario(), settings=replace(PLAIN, escalate="rating 4..8"), judges=["judge/a", "judge/b"])

    assert (found.at_most["judge"].calls, found.at_most["escalation"].calls) == (40, 40)
    assert (found.typical["judge"].calls, found.typical["escalation"].calls) == (40, 12)
    assert found.trial.calls == forecast_of(scenario()).trial.calls + 1
    assert "30% of conversations escalated" in str(found)


def test_audits_are_counted_by_their_share_and_at_most_one_a_trial() -> None:
    found = forecast_of(scenario("One"), settings=replace(PLAIN, audit_users=0.25))

    assert found.typical["audit"].calls == 40 / 4
    assert found.at_most["audit"].calls == 40
    assert found.trial.calls == forecast_of(scenario("One")).trial.calls + 1
    assert found.at_most["audit"].prompt_tokens > 0
    assert "audit" not in forecast_of(scenario("One")).at_most


def test_a_trial_that_may_be_held_anew_takes_its_user_app_and_audit_so_often_at_most() -> None:
    once, anew = (
        forecast_of(
            scenario("One", max_turns=4),
            settings=replace(PLAIN, audit_users=0.25, on_user_fault=on_user_fault),
            app_model="app/m",
        )
        for on_user_fault in ("missing", "retry")
    )

    times = {role: anew.at_most[role].calls / usage.calls for role, usage in once.at_most.items()}
    assert times == {"user": 3, "app": 3, "audit": 3, "judge": 1, "rubric": 1, "control": 1}
    assert anew.trial.calls == 3 * (4 + 4 + 1) + 1
    assert anew.typical == once.typical


def test_tokens_are_those_of_the_real_prompts() -> None:
    said = conversation(*[MESSAGE_TOKENS * TOKEN] * 18).messages
    turns = [
        UserTurn(given="A new user", when="They ask for help", writing_style=None, history=said[:place], seed=0)
        for place in range(0, 20, 2)
    ]
    characters = sum(len(message["content"]) for turn in turns for message in turn.messages())

    found = forecast_of(scenario(max_turns=10, sample_size=1))

    assert found.at_most["user"].prompt_tokens == pytest.approx(characters / 4, rel=5e-2)


def test_a_judge_reads_the_whole_conversation_with_the_rubric() -> None:
    said = conversation(*[MESSAGE_TOKENS * TOKEN] * 14).messages
    grade = GradeRequest(
        given="A new user",
        when="They ask for help",
        expected_behavior="it greets",
        levels={str(level): LEVEL_TOKENS * TOKEN for level in range(1, 11)},
        conversation=said,
        held_on="2026-11-26",
        seed=0,
    )
    characters = sum(len(message["content"]) for message in grade.messages())

    found = forecast_of(scenario(max_turns=7, sample_size=1))

    assert found.at_most["judge"].prompt_tokens == pytest.approx(characters / 4, rel=1e-2)


def test_a_longer_scenario_takes_more_tokens_of_every_role() -> None:
    short = forecast_of(scenario())
    long = forecast_of(scenario(given="A new user. " * 40))

    assert all(long.typical[role].prompt_tokens > short.typical[role].prompt_tokens for role in short.typical)


def test_an_app_that_is_a_model_reads_the_whole_conversation_each_time() -> None:
    found = forecast_of(scenario(max_turns=3, sample_size=1), app_model="app/m")

    assert found.typical["app"].prompt_tokens == (1 + 3 + 5) * MESSAGE_TOKENS
    assert found.typical["app"].completion_tokens == 3 * MESSAGE_TOKENS


def test_scorers_that_are_no_judge_make_no_calls() -> None:
    quick = Expectation(scorer=response_latency, score="max", evaluator=MeanEvaluator(at_most=1.0, bounds=(0, 10)))

    found = forecast_of(scenario(then=quick))

    assert set(found.at_most) == {"user"}
    assert found.rubric.calls == 0


def test_a_rubric_that_scenarios_share_is_written_once() -> None:
    found = forecast_of(scenario("One"), scenario("Two"), scenario("Three", when="They ask something else"))

    request = RubricRequest(given="A new user", when="They ask for help", expected_behavior="it greets")
    characters = sum(len(message["content"]) for message in request.messages())
    assert found.at_most["rubric"].calls == 2
    assert found.at_most["rubric"] == found.typical["rubric"]
    assert found.rubric.tokens > characters / 4


def test_expected_trials_are_those_of_the_plan() -> None:
    settings = replace(PLAIN, early_stopping=True)
    both = Expectation(expected_behavior="it greets", evaluator=[BAR, SuccessRateEvaluator(min_proportion=0.5)])
    scenarios = [scenario("One", sample_size=200), scenario("Two", then=both, sample_size=100)]

    found = forecast_of(*scenarios, settings=settings)

    assert found.trials_expected == plan_suite(scenarios, settings).expected_trials
    assert found.trials_expected is not None
    assert found.trials_expected < 300


def test_where_only_a_simulation_could_tell_all_trials_are_counted() -> None:
    bound = Expectation(expected_behavior="it greets", evaluator=MeanEvaluator(at_least=5, bounds=(1, 10)))

    found = forecast_of(scenario(then=bound), scenario("Two"))

    assert found.trials_expected is None
    assert found.typical["user"].calls == 80 * (3 + 1)
    assert "; typically 410 calls, " in str(found)
    assert " tokens if every trial is run\n" in str(found)


def test_the_cost_is_each_models_tokens_at_its_price() -> None:
    table = {"judge/a": Price(1e-3, 0.0), "judge/b": Price(0.0, 1e-3), "user/u": Price(2e-3, 4e-3)}

    found = forecast_of(scenario(), judges=["judge/a", "judge/b"], prices=table.get)

    judged, user = found.at_most["judge"], found.at_most["user"]
    assert judged.cost_usd == pytest.approx((judged.prompt_tokens + judged.completion_tokens) / 2 * 1e-3)
    assert user.cost_usd == pytest.approx(user.prompt_tokens * 2e-3 + user.completion_tokens * 4e-3)
    assert found.unpriced == ()
    assert total(found.at_most).cost_usd == pytest.approx(sum(usage.cost_usd or 0 for usage in found.at_most.values()))


def test_what_is_kept_for_a_trial_is_that_of_the_dearest_scenario() -> None:
    prices = lambda _: Price(1e-3, 1e-3)  # noqa: E731
    cheap, dear = scenario("Cheap"), scenario("Dear", given="A new user. " * 40)

    alone = forecast_of(dear, prices=prices)
    both = forecast_of(cheap, dear, prices=prices)

    used = total({role: usage for role, usage in alone.typical.items() if role not in ("rubric", "control")})
    assert both.trial == alone.trial
    assert both.trial.tokens * 40 == pytest.approx(used.prompt_tokens + used.completion_tokens, rel=1e-2)
    assert both.trial.cost_usd == pytest.approx(both.trial.tokens * 1e-3, rel=1e-2)


def test_a_forecast_reads_like_this() -> None:
    found = CostForecast(
        trials_at_most=2_000,
        trials_expected=912.4,
        at_most={"judge": Usage(2_000, prompt_tokens=4_300_000, cost_usd=1.5), "user": Usage(20_000, cost_usd=2.6)},
        typical={"judge": Usage(912, completion_tokens=64_321, cost_usd=0.1), "user": Usage(2_737, cost_usd=1.1)},
        trial=Cost(),
        rubric=Cost(),
        control=Cost(),
        unpriced=(),
    )

    assert str(found) == (
        "forecast: at most 2,000 trials, 22,000 calls, 4.3M tokens, $4.10; typically about 910 trials, 3,600 calls, "
        "64.3k tokens, $1.20\n"
        "(without retries; guessing 3 messages a user, 60 tokens a message, no hidden reasoning, an app half-way "
        "from its bars to 100%)"
    )


def test_what_costs_nothing_is_not_priced() -> None:
    made = forecast(
        plans(scenario()),
        PLAIN,
        prompts=all_prompts(),
        judges=["offline/judge"],
        user_model="offline/user",
        app_models=["offline/app"],
    )

    assert "$" not in str(made)
    assert made.unpriced == ()


def test_a_model_without_a_known_price_is_named() -> None:
    found = forecast_of(scenario(), prices={"judge/a": Price(1e-3, 1e-3)}.get)

    assert found.unpriced == ("user/u",)
    assert str(found).endswith("; no price is known for user/u)")


def test_a_user_who_may_talk_for_very_long_is_forecast_at_once() -> None:
    found = forecast_of(scenario(max_turns=100_000))

    assert found.at_most["user"].calls == 40 * 100_000


@pytest.mark.parametrize("evaluator", [BAR, MeanEvaluator(at_least=5, bounds=(1, 10))])
def test_one_trial_is_one_trial(evaluator: Evaluator) -> None:
    only = Expectation(expected_behavior="it greets", evaluator=evaluator)

    assert "at most 1 trial, " in str(forecast_of(scenario(then=only, sample_size=1)))


def test_a_rubric_that_the_suite_gives_costs_nothing() -> None:
    own = Expectation(expected_behavior="it greets", evaluator=BAR, rubric=["It does not.", "It does."])

    found = forecast_of(scenario(then=[own]))

    assert "rubric" not in found.at_most
    assert found.rubric.calls == 0
