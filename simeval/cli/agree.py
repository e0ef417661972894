"""What `simeval agree` does: holds a run's judge against people's labels, or draws trials for them to label."""

import sys
from functools import partial
from pathlib import Path

from simeval.analysis.agreement_report import encode_agreement
from simeval.analysis.judge_agreement import agreement, load_run
from simeval.analysis.labels import draw_sample, write_sample
from simeval.cli.output import require_writable, show, status_of, write_json
from simeval.errors import DefinitionError

HOW_TO_AGREE = "give RESULT LABELS, or RESULT --sample N --out LABELS"
SAMPLED = """{rows} rows for {drawn} of the {trials} trials, drawn at random, are in {out}.
Fill in the column label, from the top and without skipping any that are hard: pass or fail, or a rating from 1 to 10.
"""


def agree(
    *,
    result: Path,
    labels: Path | None,
    sample: int | None,
    out: Path | None,
    seed: int | None,
    alpha: float,
    json_path: str | None,
) -> int:
    """Hold a run's judge against people's labels, or draw trials for them to label; give the exit status."""
    if labels is not None and sample is None and out is None:
        return status_of(partial(_agree, result, labels, alpha, json_path))
    if labels is None and sample is not None and out is not None:
        return status_of(partial(_draw, result, sample, out, seed))
    return status_of(_refuse)


def _agree(result: Path, labels: Path, alpha: float, json_path: str | None) -> None:
    require_writable(json_path)
    report = agreement(result, labels, alpha=alpha)
    show(report, json_path)
    write_json(json_path, encode_agreement(report))


def _draw(result: Path, sample: int, out: Path, seed: int | None) -> None:
    run = load_run(result)
    rows, trials = draw_sample(run, sample, seed=run.seed if seed is None else seed)
    write_sample(rows, out)
    sys.stdout.write(SAMPLED.format(rows=len(rows), out=out, drawn=min(sample, trials), trials=trials))


def _refuse() -> None:
    raise DefinitionError("agree", found="it takes either LABELS or --sample", do=HOW_TO_AGREE)
