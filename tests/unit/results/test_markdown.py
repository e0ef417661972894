"""A run as Markdown: what a pull request shows of it."""

from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from simeval.core.markdown import BREAK, MOST_BYTES
from simeval.core.trial import Score
from simeval.evaluators.scores import SuccessRateEvaluator
from simeval.results.markdown import run_markdown
from simeval.results.suite import SuiteResult
from tests.support.records import RUN, result
from tests.support.screens import demo, in_many_scripts

RULE = SuccessRateEvaluator(min_proportion=0.9)
HOSTILE = "@octocat </details> | `#1` ``` <script>alert(1)</script>\n# heading"


@pytest.mark.anyio
async def test_the_table_has_each_requirement_the_worst_scenario_first() -> None:
    page = await demo()

    text = run_markdown(page)
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line][1:]

    assert text.startswith("## simeval: ❌ FAIL\n\n2 of 8 scenarios fail, 2 are inconclusive, 4 pass\n")
    assert len(rows) == len(page.verdicts)
    assert rows[0].startswith("| ❌ FAIL | Bot starts a return only when the customer confirms it |")
    assert [row.split()[1] for row in rows if "FAIL" in row or "PASS" in row] == ["❌"] * 2 + ["✅"] * 7


@pytest.mark.anyio
async def test_the_worst_conversations_of_what_did_not_pass_are_folded() -> None:
    page = await demo()

    text = run_markdown(page)

    assert text.count("<details>") == text.count("</details>") == 4  # three conversations, and the notes
    assert "<summary>Bot starts a return only when the customer confirms it, trial 0</summary>" in text
    assert "✗ asks for confirmation, score 1:" in text


def test_no_text_of_app_judge_or_suite_breaks_the_page_or_mentions_anyone() -> None:
    found = result((HOSTILE, [RULE], [Score(value=1.0, reasoning=HOSTILE)] * 12), title=HOSTILE)
    said = replace(found.judgements[0].conversation.messages[0], content=HOSTILE)
    judgements = tuple(
        replace(each, conversation=replace(each.conversation, messages=(said,))) for each in found.judgements
    )
    suite = SuiteResult((replace(found, judgements=judgements),), replace(RUN, notes=(HOSTILE,), app=HOSTILE))

    html = str(MarkdownIt("gfm-like", {"linkify": False}).render(suite.to_markdown()))
    outside = "".join(part.split("</pre>")[-1] for part in html.split("<pre>"))

    assert "@octocat" not in outside.replace(f"@{BREAK}", "")
    assert html.count("<script") == 0
    assert html.count("<details>") == html.count("</details>") == 2
    assert html.count("<h1>") == 0
    assert html.count("<table>") == 1


def test_many_failures_stay_within_the_limit_and_what_was_cut_is_named() -> None:
    scenarios = [
        result((f"expectation {n}", [RULE], [Score(value=1.0, reasoning="né " * 300)] * 12), title=f"Scenario {n}")
        for n in range(400)
    ]

    text = SuiteResult((*scenarios,), RUN).to_markdown()

    assert len(text.encode()) <= MOST_BYTES
    assert "of 400 requirements" in text
    assert "of 400 conversations. `simeval show" in text
    assert text.rstrip().endswith("</sub>")


def test_results_in_python_give_the_same_page() -> None:
    page = in_many_scripts()
    found = result(("helps", [RULE], [Score(value=9.0)] * 45))

    assert "❌ FAIL" in run_markdown(page)
    assert found.to_markdown() == SuiteResult((found,), found.run).to_markdown()
    assert found.to_markdown().startswith("## simeval: ✅ PASS")
