"""The work of `simeval score`: measure recorded conversations, or a new version's answers to them, by scorers."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypedDict, cast

import click

from simeval.cli.loop import run_to_end
from simeval.cli.options import overrides
from simeval.cli.output import (
    NOT_COMPLETED,
    STATUS,
    exit_status,
    reader,
    require_apart,
    require_writable,
    say,
    show,
    write_json,
)
from simeval.cli.signals import ending_on_signals, status_of_end
from simeval.core.direction import Direction
from simeval.core.faces import load
from simeval.core.logs import configure_logging
from simeval.core.settings import DEFAULTS
from simeval.core.terminal import counted_of, room_of, terminal_of
from simeval.core.validation import nearest
from simeval.core.version import __version__
from simeval.datasets.dataset import Dataset
from simeval.datasets.files import TABLES, read_dataset
from simeval.datasets.records import UNKNOWN_FORMAT, ImportedLog
from simeval.engine.engine import Engine
from simeval.errors import DefinitionError, SimevalError
from simeval.evaluators.base import Evaluator
from simeval.evaluators.scores import ProportionEvaluator, QuantileEvaluator
from simeval.results.document import RunDocument
from simeval.results.experiment import ExperimentResult, encode_experiment
from simeval.results.screen.experiment import experiment_text
from simeval.scorers.base import Scorer, as_scorer
from simeval.scorers.metrics import LISTED, METRICS, SCORERS
from simeval.scorers.summaries import PeoplesFeedback
from simeval.store.opening import open_database
from simeval.suites.apps.named import app_of, load_object
from simeval.suites.files import load_expectations
from simeval.suites.project import read_project
from simeval.suites.scenario import Expectation


class _Columns(TypedDict):
    """Which columns of a table are named, as `read_dataset` takes them."""

    inputs: Sequence[str] | None
    outputs: Sequence[str] | None
    recorded: str | None


IMPORT_LOG = "simeval.extras.importers.registry:import_log"  # a feature that attaches from outside
OF_SUITES = ("executor", "shard", "resume")  # settings of a project that do not concern datasets


@exit_status
def score_file(
    context: click.Context,
    *,
    file: Path,
    scorers: str,
    then: Path | None,
    format: str,
    recorded: str | None,
    inputs: Sequence[str],
    outputs: Sequence[str],
    feedback: Sequence[str],
    app: str | None,
    against: str | None,
    judge_model: str | None,
    shares: Sequence[str],
    medians: Sequence[str],
    json_path: str | None,
    html_path: str | None,
    quiet: bool,
    log_level: str | None,
    **chosen: str | None,
) -> int:
    """Measure the conversations of a file and return the exit status; scorers are made with the `chosen` options."""
    told = configure_logging((log_level or ("error" if quiet else "warning")).upper())  # type: ignore[arg-type]
    named = scorers or ("preference" if against else "")
    made = _scorers(named, ScorerOptions(**chosen)) if named or (then is None and not feedback) else []
    made += [PeoplesFeedback(name=key, key=key) for key in feedback]
    expected = [
        *(load_expectations(then) if then is not None else []),
        *(_expectation(each, made, _share, "--share") for each in shares),
        *(_expectation(each, made, _median, "--median") for each in medians),
    ]
    made += [each.scorer for each in expected if isinstance(each.scorer, Scorer) and each.scorer not in made]
    project = read_project(Path())
    is_judged = any(each.calls for each in made) or any(each.scorer is None for each in expected)
    judges = [judge_model] if judge_model else [*project.cast.judge_model] if is_judged else []
    unset = [*OF_SUITES, *(["escalate"] if len(judges) < 2 else []), *([] if is_judged else ["judge_examples"])]
    usual = {name: getattr(DEFAULTS, name) for name in unset}
    settings = project.settings.overridden({**usual, **overrides(context)})
    require_apart({"--json": json_path, "--html": html_path})
    for path in (json_path, html_path):
        files = (file, then, against, chosen.get("persona"), chosen.get("traits"), settings.store)
        require_writable(path, read=files)
    with project.cast.placed("judge_model"):
        engine = Engine(judges or None, settings=settings)
    columns: _Columns = {"inputs": list(inputs) or None, "outputs": list(outputs) or None, "recorded": recorded}
    dataset = _dataset(file, engine.settings.store, format, columns, feedback, is_asked_anew=app is not None)
    if against is not None:
        _require_pairs([each for each in (file, Path(against)) if _is_run(each)], engine.settings.store)
        baseline = _dataset(Path(against), engine.settings.store, format, columns, ())
        dataset = _against(dataset, baseline, is_answered_anew=app is not None)
    try:
        with project.cast.placed("judge_model"):
            result = run_to_end(_evaluate, engine, dataset, app_of(app) if app else None, made, expected)
    except SimevalError as error:
        if isinstance(error.partial, ExperimentResult):
            _report(error.partial, json_path, html_path, told, brief=quiet)
        raise
    _report(result, json_path, html_path, told, brief=quiet)
    if result.run.stopped:
        return say(result.run.stopped, status_of_end(result.run.stopped))
    if result.outcome != "error" and not result.has_measured:
        return say(f"{_nothing(result)}{_why(result) if quiet else ''}", NOT_COMPLETED)
    return 0 if result.outcome is None else STATUS[result.outcome]


async def _evaluate(
    engine: Engine, dataset: Dataset, app: Any, scorers: Sequence[Scorer], then: Sequence[Expectation]
) -> ExperimentResult:
    with ending_on_signals(engine):
        return await engine.experiment(dataset, app, scorers=scorers, then=then)


def _nothing(result: ExperimentResult) -> str:
    """Report that nothing was measured; if the app failed on everything, that."""
    if not result.answers or len(result.crashed) < result.answers:
        return "nothing was measured"
    has_answered = any(row.conversation.responses for row in result.rows)
    return f"your app {'failed' if has_answered else 'never answered'} in {counted_of(result.answers, 'example')}"


def _why(result: ExperimentResult) -> str:
    """Return the commonest reason that kept scorers from measuring."""
    cause = max(result.failures, key=lambda each: result.failures[each], default="")
    return f"; most often ({result.failures[cause]} x): {cause}" if cause else ""


def _report(
    result: ExperimentResult, json_path: str | None, html_path: str | None, told: Sequence[str], *, brief: bool
) -> None:
    stream = reader(json_path)
    said = experiment_text(result.document(), terminal_of(stream), room=room_of(stream), brief=brief, told=told)
    show(said, json_path)
    write_json(json_path, encode_experiment(result, version=__version__))
    if html_path is not None:
        result.to_html(html_path)


def _dataset(
    file: Path,
    store: Any,
    format: str,
    columns: _Columns,
    feedback: Sequence[str],
    *,
    is_asked_anew: bool = False,
) -> Dataset:
    """Read a log, a table with a column of answers, or a run of the store.

    Unreadable parts of a log are reported. With `is_asked_anew` rows may have any columns.
    """
    if _is_run(file):
        from simeval.store.runs import Runs, has_ended  # SQLAlchemy takes a while to load
        from simeval.store.stored_rows import answers_of

        if store is None:
            do = "name a file, or the store of a run with --store"
            raise DefinitionError(f"{str(file)!r}", found="there is neither such a file nor a store", do=do)
        database = open_database(store, must_exist=True)  # it is read while it is scored: open until the end
        return answers_of(database, Runs(database).find(str(file), has_ended), feedback=feedback)
    if feedback:
        raise DefinitionError("--feedback", found=f"{str(file)!r} is a file", do="give a run of the store")
    if columns["recorded"] and format != "auto":
        do = "leave one out: --recorded reads a table, --format says what a log is"
        raise DefinitionError("--format", found=f"found {format!r} beside --recorded", do=do)
    is_table = file.suffix in TABLES and format == "auto"
    if any(columns.values()) or is_table:
        return read_dataset(file, **columns)
    try:
        found: ImportedLog = load(IMPORT_LOG)(file, format=format)
    except DefinitionError as error:
        if error.found != UNKNOWN_FORMAT:
            raise
        if is_asked_anew:
            return read_dataset(file)
        do = f"{error.do}; of a table of answers name the column: --recorded COLUMN"
        raise DefinitionError(error.where, found=error.found, do=do) from error
    for problem in found.problems:
        say(f"{file}, {problem}", 0)
    return found.dataset


def _is_run(file: Path) -> bool:
    return not file.exists() and not file.suffix


def _require_pairs(runs: Sequence[Path], store: Any) -> None:
    """Raise DefinitionError for runs of suites with different seeds: their trials are no pairs."""
    from simeval.store.runs import Runs, has_ended

    if len(runs) < 2 or store is None:
        return
    database = open_database(store, must_exist=True)
    heads = [Runs(database).head(Runs(database).find(str(each), has_ended)) for each in runs]
    database.close()
    seeds = {each.seed for each in heads if isinstance(each, RunDocument)}
    if len(seeds) > 1:
        found = f"the runs have the seeds {' and '.join(map(str, sorted(seeds)))}, so their trials are no pairs"
        raise DefinitionError("--against", found=found, do="give two runs with the same --seed")


def _against(dataset: Dataset, baseline: Dataset, *, is_answered_anew: bool) -> Dataset:
    """Return a dataset with the other's answers as its baselines; examples of one alone are left out, with a note."""
    if (dataset.name, dataset.version) == (baseline.name, baseline.version) and not is_answered_anew:
        do = "name another, or answer anew with --app"
        raise DefinitionError("--against", found="both are one", do=do)
    found = dataset.against(baseline)
    for each in (dataset, baseline):
        if left_out := each.size - found.size:
            say(f"{left_out} of {each.size} in {each.name} have no answer in the other: left out", 0)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class ScorerOptions:
    """The options for scorers made by name: each takes those it has an argument for; None is its own default.

    `sentiment_model` is the `model` of the scorer named sentiment.
    """

    persona: str | None = None
    traits: str | None = None
    encoder: str | None = None
    sentiment_model: str | None = None


def _scorers(names: str, chosen: ScorerOptions) -> list[Scorer]:
    if "{" in names:
        do = "write it in a file, as `then:` of a suite, and name that with --then"
        raise DefinitionError("--scorers", found=f"found {names!r:.80}, and not a name", do=do)
    listed = [name.strip() for name in names.split(",") if name.strip()]
    if not listed:
        raise DefinitionError(
            "--scorers", found="found no name", do="name one or more, with commas between them, or a file with --then"
        )
    return [
        as_scorer(load_object(name, what="scorer"), f"scorer {name!r}") if ":" in name else named_scorer(name, chosen)
        for name in listed
    ]


def _share(bar: float, direction: Direction | None) -> Evaluator:  # noqa: ARG001
    return ProportionEvaluator(min_proportion=bar)


def _median(bar: float, direction: Direction | None) -> Evaluator:
    return QuantileEvaluator(at_most=bar) if direction == "lower" else QuantileEvaluator(at_least=bar)


def _expectation(
    text: str, scorers: Sequence[Scorer], evaluator: Callable[[float, Direction | None], Evaluator], flag: str
) -> Expectation:
    """Read METRIC=BAR, where METRIC is a scorer's name, or that and the path of one of its numbers."""
    found = re.fullmatch(r"([^=]+)=(-?\d+(?:\.\d+)?)", text.strip())
    if found is None:
        raise DefinitionError(flag, found=f"found {text!r}", do="write METRIC=NUMBER, such as valid_json.valid=0.9")
    metric, bar = found[1].strip(), float(found[2])
    named = [each for each in scorers if metric == each.name or metric.startswith(f"{each.name}.")]
    if not named:
        names = ", ".join(each.name for each in scorers)
        raise DefinitionError(flag, found=f"found {metric!r}", do=f"begin with a scorer's name: {names}")
    scorer = max(named, key=lambda each: len(each.name))
    path = metric[len(scorer.name) + 1 :] or None
    try:
        required = evaluator(bar, scorer.direction_of(path or scorer.default_score or ""))
    except DefinitionError as error:
        raise DefinitionError(flag, found=error.found, do=error.do) from error
    bounds = None if path else scorer.bounds_of("")  # those of a whole scorer may be of its other numbers
    if isinstance(required, ProportionEvaluator) and bounds is not None and bounds[1] > 1:
        do = "use --median METRIC=VALUE, or a threshold in a file with --then"
        raise DefinitionError(flag, found=f"{metric} is a number, and not true or false", do=do)
    try:
        return Expectation(scorer=scorer, score=path, evaluator=required)
    except DefinitionError as error:
        raise DefinitionError(flag, found=error.found, do=error.do) from error


def named_scorer(name: str, options: ScorerOptions | None = None) -> Scorer:
    """Return the scorer of a name, called by it. Raises DefinitionError if it is unknown, or lacks an option."""
    if name in METRICS:
        return METRICS[name]
    kind = SCORERS.find(name)
    if kind is None:
        do = nearest(name, [*METRICS, *SCORERS.names], see=LISTED)
        raise DefinitionError("scorer", found=f"found {name!r}", do=do)
    arguments = inspect.signature(kind).parameters
    known = {option.removeprefix(f"{name}_"): value for option, value in asdict(options or ScorerOptions()).items()}
    given = {argument: value for argument, value in known.items() if argument in arguments and value is not None}
    missing = [each.name for each in arguments.values() if each.default is each.empty and each.name not in given]
    if missing:
        raise DefinitionError(f"scorer {name}", found=f"no {' and '.join(missing)}", do=_how_to_give(missing[0], known))
    return cast("Scorer", kind(name=name, **given))


def _how_to_give(argument: str, options: Mapping[str, Any]) -> str:
    if argument in options:
        return f"give it with --{argument}"
    return f"write it in a suite file, or name a scorer of yours as MODULE:OBJECT, made with its {argument}"
