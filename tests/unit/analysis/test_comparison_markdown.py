"""A comparison as Markdown: the table of changes, and what got worse."""

from typing import Any

from simeval import compare
from simeval.analysis.comparison_report import comparison_markdown
from simeval.core.markdown import MOST_BYTES
from simeval.core.trial import Score
from simeval.core.version import __version__
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.reading import read_document
from simeval.results.suite import ScenarioResult, encode_suite
from tests.support.records import RUN, result
from tests.support.results import run, scenario, share

RULE = SuccessRateEvaluator(min_proportion=0.9, early_stopping=False)


def document(found: ScenarioResult, run_id: str) -> dict[str, Any]:
    return {**encode_suite([found], RUN, version=__version__), "run_id": run_id}


def scored(*values: float) -> ScenarioResult:
    return result(("helps", [RULE], [Score(value=value, reasoning=f"rated {value:g}") for value in values]))


def test_what_got_worse_stands_first_and_its_conversations_are_shown_before_and_now() -> None:
    before, now = document(scored(*[9.0] * 40), "one"), document(scored(*[1.0] * 30, *[9.0] * 10), "two")

    text = comparison_markdown(compare(before, now), read_document(before), read_document(now))

    assert text.startswith("## simeval compare: ❌ WORSE")
    assert "| ❌ |" in text
    assert text.count("<details>") == 3
    first = text[text.index("<details>") : text.index("</details>")]
    assert first.index("before:") < first.index("rated 9") < first.index("now:") < first.index("rated 1")


def test_without_the_conversations_the_table_stands_alone() -> None:
    met = [True] * 60

    text = comparison_markdown(compare(run(scenario(share(met))), run(scenario(share(met)), run_id="two")))

    assert text.startswith("## simeval compare: ✅ NOT WORSE")
    assert "<details>" not in text


def test_many_changes_stay_within_the_limit_and_what_was_cut_is_named() -> None:
    suite = [scenario(share([True, False] * 10), title=f"@octocat {n} " + "long " * 60) for n in range(500)]

    text = comparison_markdown(compare(run(*suite), run(*suite, run_id="two")))

    assert len(text.encode()) <= MOST_BYTES
    assert "of 500 changes. `simeval compare one two` shows it." in text
    assert "@octocat" not in text
