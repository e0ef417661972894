"""How long it takes to resume a run of 10,000 finished trials, and what it takes on the disk.

    python -m benchmarks.speed.resume

100 scenarios x 100 trials with the embedded models are run, kept in SQLite, and resumed: everything is known, so the
seconds are those of loading, dealing every trial again and concluding.
"""

import tempfile
from pathlib import Path
from time import perf_counter, process_time

import anyio

from simeval import Engine, Expectation, ScenarioTest, SuccessRateEvaluator, SuiteResult
from simeval.results.encoding import encode_verdict

SCENARIOS, TRIALS = 100, 100


async def app(message: str) -> str:
    """Answer at once, well two times in three."""
    return "I track orders and start returns." if len(message) % 3 else "I can not help with that, sorry."


async def run(
    store: Path, resume: str | None, *, scenarios: int = SCENARIOS, trials: int = TRIALS
) -> tuple[SuiteResult, float, float]:
    """Run or resume the suite; give the results, seconds and CPU seconds."""
    then = Expectation(
        expected_behavior="The bot tracks orders, starts returns", evaluator=SuccessRateEvaluator(min_proportion=0.6)
    )
    suite = [
        ScenarioTest(
            title=f"scenario {number}",
            given=f"A customer with {number} orders",
            when="The customer asks what the bot can do. The customer asks how long a return takes.",
            sample_size=trials,
            max_turns=4,
            then=then,
        )
        for number in range(scenarios)
    ]
    engine = Engine(seed=1, concurrency=200, early_stopping=False, display="none", store=store, resume=resume)
    wall, cpu = perf_counter(), process_time()
    results = await engine.evaluate(suite, app)
    return results, perf_counter() - wall, process_time() - cpu


def main() -> None:
    """Print seconds and bytes."""
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "runs.db"
        first, seconds, cpu = anyio.run(run, store, None)
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
        again, resumed_seconds, resumed_cpu = anyio.run(run, store, first.run.run_id)
    trials = sum(result.trials for result in first)
    messages = sum(len(each.messages) for result in first for each in result.conversations)
    before, after = ([encode_verdict(v) for result in results for v in result.verdicts] for results in (first, again))
    print(f"{trials} trials, {messages / trials:.1f} messages each: run in {seconds:.1f} s (CPU {cpu:.1f} s)")
    print(f"resumed in {resumed_seconds:.1f} s (CPU {resumed_cpu:.1f} s); same verdicts: {before == after}")
    print(f"{size / trials:.0f} bytes a trial on the disk, rubrics, verdicts and report included")


if __name__ == "__main__":
    main()
