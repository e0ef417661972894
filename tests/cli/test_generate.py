"""`simeval generate`: a suite that loads, with every scenario marked as proposed."""

from pathlib import Path

from simeval.suites import load_suite
from simeval.testing import fake_endpoint
from tests.support.command_line import simeval

HANDBOOK = """\
# Returns

Goods can be sent back within 14 days: with their bill. A refund is paid out within five days of the return.

> The shop ships to Norway, "Sweden" & Finland for 12 euros. Customers younger than 18 cannot order knives.
"""


def test_the_suite_loads_and_each_scenario_is_proposed_with_what_it_rests_on(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text(HANDBOOK)

    done = simeval(tmp_path, "generate", "handbook.md", "--scenarios", "4", "--out", "suite.yaml")

    suite = load_suite(str(tmp_path / "suite.yaml"))
    text = (tmp_path / "suite.yaml").read_text()
    assert done.returncode == 0, done.stderr
    assert [each.tags for each in suite] == [["proposed"]] * 4
    assert all(each.expectations[0].counterexample for each in suite)
    assert '# from handbook.md: "Goods can be sent back within 14 days: with their bill."' in text
    assert "4 scenarios proposed by offline/judge" in done.stderr
    assert "not a judgement of quality" in done.stderr


def test_a_run_says_that_nobody_has_read_them(tmp_path: Path) -> None:
    (tmp_path / "handbook.md").write_text(HANDBOOK)
    simeval(tmp_path, "generate", "handbook.md", "--scenarios", "2", "--out", "suite.yaml")

    done = simeval(tmp_path, "run", "suite.yaml", "--app", "offline/app", "--samples", "1")

    assert "proposed by a model and read by nobody yet" in " ".join(done.stderr.split())


def test_a_model_over_http_is_asked_with_a_schema(tmp_path: Path) -> None:
    with fake_endpoint() as endpoint:
        model = ("--model", "openai-compatible/fake", "--model-option", f"api_base={endpoint.base_url}")
        done = simeval(tmp_path, "generate", "--describe", "A shop", *model, "--out", "s.yaml", OPENAI_API_KEY="none")

    suite = load_suite(str(tmp_path / "s.yaml"))
    assert done.returncode == 0, done.stderr
    assert [each.title for each in suite] == ["Opening hours"]
    assert "# from the description, no quotation" in (tmp_path / "s.yaml").read_text()
    assert "no more to say than 1 of 12" in done.stderr


def test_what_is_there_is_not_written_over_and_nothing_is_asked(tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_text("mine")

    taken = simeval(tmp_path, "generate", "--describe", "A shop", "--out", "suite.yaml")
    nothing = simeval(tmp_path, "generate")

    assert (taken.returncode, nothing.returncode) == (2, 2)
    assert "there already" in taken.stderr
    assert "--describe" in nothing.stderr
    assert (tmp_path / "suite.yaml").read_text() == "mine"
