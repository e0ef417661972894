"""Tables of cases: what they may be, what is refused with its line, and which row each trial has."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from simeval import Expectation, ProportionEvaluator, ScenarioTest, SuccessRateEvaluator
from simeval.errors import DefinitionError, SuiteFileError
from simeval.scorers import Contains, EachTurn, RegexMatch, ToolRules
from simeval.stats.binomial import clopper_pearson
from simeval.suites import load_suite
from simeval.suites.cases import case_at
from simeval.suites.files import only
from simeval.suites.scenario import by_case

ROWS = [{"nights": nights, "meal": meal} for nights in (2, 5, 7) for meal in ("breakfast", "none")]
RULE = SuccessRateEvaluator(min_proportion=0.9)
SHARE = ProportionEvaluator(min_proportion=0.9)
THEN = Expectation(expected_behavior="Names a price for {nights} nights", evaluator=RULE)
SUITE = """\
scenarios:
  - title: Price of a stay
    given: A guest who stays {nights} nights
    when: They ask for the price
    cases: rooms.csv
    then:
      - expected_behavior: Names {total} euros
        evaluator: {type: success_rate, min_proportion: 0.9}
"""


def scenario(**fields: Any) -> ScenarioTest:
    given: dict[str, Any] = {"title": "T", "given": "A guest", "when": "They ask", "then": THEN, "cases": ROWS}
    return ScenarioTest(**given | fields)


def written(tmp_path: Path, table: str, suite: str = SUITE) -> str:
    (tmp_path / "rooms.csv").write_text(table)
    (tmp_path / "suite.yaml").write_text(suite)
    return str(tmp_path / "suite.yaml")


def test_a_file_beside_the_suite_has_numbers_and_codes(tmp_path: Path) -> None:
    table = "nights,total,breakfast,code,note\n2,270,true,0012,\n5,600.5,false,77,late\n"

    [test] = load_suite(written(tmp_path, table))

    assert list(test.rows) == [
        {"nights": 2, "total": 270, "breakfast": True, "code": "0012", "note": None},
        {"nights": 5, "total": 600.5, "breakfast": False, "code": "77", "note": "late"},
    ]


@pytest.mark.parametrize(
    ("was", "becomes", "line", "found"),
    [
        ("{total} euros", "{totl} euros", 7, "found {totl}, and the table of cases has no column 'totl'; did you mean"),
        (
            "{nights}",
            "{night}",
            3,
            "found {night}, and the table of cases has no column 'night'; did you mean 'nights'",
        ),
        ("rooms.csv", "room.csv", 5, "room.csv: it cannot be read"),
        ("rooms.csv", "[{nights: 3, total: 2}, {total: 4}]", 3, "row 2 of the cases has no column 'nights'"),
        ("rooms.csv", "[3]", 5, "found 3"),
        ("rooms.csv", "[{today: 3}]", 5, "found 'today'"),
        ("cases: rooms.csv", "per_case: true", 5, "found True; give cases, or leave it out"),
        ("rooms.csv", "rooms.csv\n    case_weights: visits", 6, "found 'visits'; use one of nights, total"),
        ("rooms.csv", "rooms.csv\n    case_weights: total", 6, "found '0 in row 2'"),
    ],
)
def test_a_mistake_in_a_table_is_refused_with_its_line(
    tmp_path: Path, was: str, becomes: str, line: int, found: str
) -> None:
    source = written(tmp_path, "nights,total\n2,270\n5,0\n", SUITE.replace(was, becomes))

    with pytest.raises(SuiteFileError) as caught:
        load_suite(source)

    assert caught.value.line == line
    assert found in str(caught.value)


def test_a_row_of_a_file_with_too_many_cells_is_named(tmp_path: Path) -> None:
    with pytest.raises(SuiteFileError, match=r"rooms\.csv, line 3: it has 3 cells under 2 columns"):
        load_suite(written(tmp_path, "nights,total\n2,270\n5,600,1\n"))


def test_a_case_fills_texts_tools_and_arguments_of_scorers() -> None:
    tools = Expectation(
        tools=ToolRules(where={"book": {"nights": "{nights}"}}), evaluator=ProportionEvaluator(min_proportion=0.9)
    )
    texts = Expectation(scorer=Contains(texts=["{nights} nights"]), evaluator=ProportionEvaluator(min_proportion=0.9))
    test = scenario(given="A guest for {nights} nights with {meal}", facts="{meal}", then=[THEN, tools, texts])

    made = test.of_case(test.rows[2])

    assert (made.given, made.facts) == ("A guest for 5 nights with breakfast", "breakfast")
    assert made.then[0].expected_behavior == "Names a price for 5 nights"  # type: ignore[index]
    assert made.then[1].tools.where == {"book": {"nights": 5}}  # type: ignore[index, union-attr]
    assert made.then[2].scorer.texts == ["5 nights"]  # type: ignore[index, union-attr]
    assert not made.rows


@pytest.mark.parametrize(
    ("pattern", "price", "said", "other"),
    [
        (r"\b{price}\b", 160, "It is 160 euros", "It is 1600 euros"),
        (r"(?i)eur ?{price}$", "1.50", "EUR 1.50", "EUR 1x50"),
        (r"\d{3} {price}{1,2}!", "(net)", "160 (net)!", "160 net!"),
        (re.compile("total: {price}", re.IGNORECASE), "$5", "Total: $5", "Total: {price}"),
    ],
)
def test_a_case_fills_a_regular_expression_with_the_text_of_its_value(
    pattern: str | re.Pattern[str], price: object, said: str, other: str
) -> None:
    for measured in (RegexMatch(pattern), EachTurn(RegexMatch(pattern))):
        test = scenario(then=Expectation(scorer=measured, evaluator=SHARE), cases=[{"price": price}])
        [then] = test.of_case(test.rows[0]).expectations
        filled: Any = getattr(then.scorer, "scorer", then.scorer)

        assert filled.score(said)
        assert not filled.score(other)


@pytest.mark.parametrize(
    "measured",
    [RegexMatch("{totl}"), Contains(texts=["{totl}"]), EachTurn(RegexMatch("a{2} {totl}"))],
)
def test_a_place_in_a_scorer_that_has_no_column_is_refused(measured: Any) -> None:
    with pytest.raises(DefinitionError, match=r"then\.0\.scorer: found \{totl\}.*did you mean 'total'"):
        scenario(given="x", then=Expectation(scorer=measured, evaluator=SHARE), cases=[{"total": 3}])


def test_a_table_may_be_a_frame() -> None:
    pandas = pytest.importorskip("pandas")

    test = scenario(cases=pandas.DataFrame({"nights": [2, 5], "meal": ["breakfast", "none"]}))

    assert [row["meal"] for row in test.rows] == ["breakfast", "none"]


def test_each_block_of_trials_has_every_row_once_in_an_order_of_its_own() -> None:
    rows = [{"row": number} for number in range(20)]

    blocks = [[case_at(rows, 20 * block + place, seed=3) for place in range(20)] for block in range(5)]

    assert all(sorted(block) == [*range(20)] for block in blocks)
    assert len({tuple(block) for block in blocks}) == 5
    assert [case_at(rows, index, seed=3) for index in range(20)] == blocks[0]
    assert [case_at(rows, index, seed=4) for index in range(20)] != blocks[0]


def test_rows_with_weights_are_drawn_with_these_chances() -> None:
    rows = [{"visits": 1}, {"visits": 2}, {"visits": 7}]

    drawn = Counter(case_at(rows, index, seed=1, weights="visits") for index in range(10_000))

    for place, row in enumerate(rows):
        low, high = clopper_pearson(drawn[place], 10_000, 0.0001)
        assert low <= row["visits"] / 10 <= high


def test_a_verdict_for_each_case_makes_a_scenario_of_each() -> None:
    told_apart = by_case([scenario(title="{nights} nights, {meal}", per_case=True), scenario(title="whole")])
    alike = by_case([scenario(title="{nights} nights", per_case=True)])

    assert [each.title for each in told_apart][::6] == ["2 nights, breakfast", "whole"]
    assert alike[1].title == "2 nights [nights=2, meal=none]"
    assert told_apart[6].rows


@pytest.mark.parametrize(
    ("names", "nights", "meals"),
    [
        (["case:nights=5"], {5}, {"breakfast", "none"}),
        (["case:nights=5", "case:nights=7", "case:meal=none"], {5, 7}, {"none"}),
        (["T", "case:meal=none"], {2, 5, 7}, {"none"}),
    ],
)
def test_cases_are_chosen_by_their_values(names: list[str], nights: set[int], meals: set[str]) -> None:
    [chosen] = only([scenario(), scenario(title="U", cases=[{"nights": 1}])], names)

    assert {row["nights"] for row in chosen.rows} == nights
    assert {row["meal"] for row in chosen.rows} == meals


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("case:night=5", "did you mean 'nights'"),
        ("case:nights", "write case:COLUMN=VALUE"),
        ("case:nights=6", "no case with nights=6"),
    ],
)
def test_a_case_that_is_not_there_is_refused(name: str, said: str) -> None:
    with pytest.raises(DefinitionError, match=said):
        only([scenario()], [name])
