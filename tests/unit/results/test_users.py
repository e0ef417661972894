"""What is said of a run's simulated users."""

from dataclasses import replace
from typing import get_args

from simeval.core.conversation import HELD_ANEW, USER_FAULTS, Conversation, Ending, Message
from simeval.core.trial import Trial, TrialResult
from simeval.results.guarantee import ENDINGS, MOST_TRIALS, UserConduct, show_conduct


def judgement(index: int, *faults: str, ended: Ending = "goal_satisfied", anew: int = 0) -> TrialResult:
    metadata = {HELD_ANEW: ["empty_message"] * anew} if anew else {}
    said = [Message(role="user", content="Hi", metadata=metadata), Message(role="assistant", content="Hello")]
    said += [Message(role="user", content="?", metadata={USER_FAULTS: {fault: ""}}) for fault in faults]
    held = Conversation(messages=tuple(said), ended=ended)
    return TrialResult(trial=Trial(0, index, 1), conversation=held, results=())


def test_trials_with_several_faults_count_once() -> None:
    conduct = UserConduct.of(
        [judgement(0), judgement(1, "changes_fact", "empty_message"), judgement(2, "changes_fact")]
    )

    assert (conduct.trials, conduct.faulty, conduct.rate) == (3, 2, 2 / 3)
    assert conduct.faults == {"changes_fact": (1, 2), "empty_message": (1,)}


def test_the_trials_of_a_fault_are_named_up_to_a_number() -> None:
    conduct = UserConduct.of([judgement(index, "changes_fact") for index in range(MOST_TRIALS + 3)])

    assert show_conduct([("Return", conduct)])[-1] == "Return: changes_fact (trials 0, 1, 2, 3, 4 and 3 more)"


def test_ends_are_summed_over_scenarios_and_what_was_recorded_has_none() -> None:
    ended = UserConduct.of([judgement(0), judgement(1, ended="gave_up"), judgement(2, ended="app_error")])
    recorded = UserConduct.of([judgement(0, ended="recorded")])

    assert show_conduct([("A", ended), ("B", ended), ("C", recorded)]) == ["users: 2 reached their goal, 2 gave up"]
    assert show_conduct([("C", recorded)]) == show_conduct([]) == []


def test_a_trial_that_was_held_anew_is_told_though_nothing_is_wrong_with_it_now() -> None:
    conduct = UserConduct.of([judgement(0, anew=2), judgement(1)])

    assert (conduct.held_anew, conduct.faulty) == (2, 0)
    assert "held anew because of a simulated user's fault: 2 conversations" in show_conduct([("A", conduct)])
    assert replace(conduct, trials=0).rate is None


def test_every_way_to_end_is_told_in_words() -> None:
    assert set(ENDINGS) == set(get_args(Ending))
    assert not any("_" in said for said in ENDINGS.values())
