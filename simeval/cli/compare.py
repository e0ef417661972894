"""The work of `simeval compare`: read two results, compare them, write the changes, return the exit status."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from simeval.analysis.comparison import compare
from simeval.analysis.comparison_html import write_comparison
from simeval.analysis.comparison_report import (
    Comparison,
    change_part,
    comparison_markdown,
    comparison_text,
    encode_comparison,
    noun_of,
    told_of,
)
from simeval.analysis.many_runs import compare_many, encode_many, many_text
from simeval.analysis.saved_run import Source, read_json, read_result
from simeval.cli.output import exit_status, reader, require_apart, require_writable, show, write_json, write_markdown
from simeval.core.markdown import Part, escaped
from simeval.core.terminal import Color, terminal_of
from simeval.errors import DefinitionError
from simeval.store.opening import open_database

PASSED, NOT_PASSED = 0, 1


@exit_status
def compare_runs(
    *,
    baseline: str,
    candidates: Sequence[str],
    store: str,
    json_path: str | None,
    html_path: str | None,
    markdown_path: str | None,
    color: Color,
    aa: bool = False,
    **options: Any,
) -> int:
    """Compare two results and return the exit status; with a `json_path` of "-" standard output holds JSON only."""
    require_apart({"--json": json_path, "--html": html_path, "--markdown": markdown_path})
    for path in (json_path, html_path, markdown_path):
        require_writable(path, read=(baseline, *candidates, store))
    if len(candidates) > 1 and (html_path or markdown_path):
        do = "leave it out, or compare the runs two by two"
        raise DefinitionError(
            "--html" if html_path else "--markdown", found=f"found {len(candidates)} candidates", do=do
        )
    named = [(f"baseline {baseline!r}", baseline), *((f"candidate {name!r}", name) for name in candidates)]
    found = [load_result(name, store, where) for where, name in named]
    if aa:
        from simeval.cli.aa import require_alone, show_unchanged  # most comparisons are of two versions

        require_alone({"--html": html_path, "--markdown": markdown_path})
        return show_unchanged(found, json_path=json_path, color=color)
    old, *new = (read_result(document, where) for document, (where, _) in zip(found, named, strict=True))
    if len(new) > 1:
        many = compare_many(old, new, **options)
        show(many_text(many, terminal_of(reader(json_path), color)), json_path)
        write_json(json_path, encode_many(many))
        return PASSED if many.passed else NOT_PASSED
    comparison = compare(old, new[0], **options)
    show(comparison_text(comparison, terminal_of(reader(json_path), color)), json_path)
    write_json(json_path, encode_comparison(comparison))
    if html_path is not None:
        write_comparison(html_path, comparison, old, new[0])
    write_markdown(markdown_path, lambda: comparison_markdown(comparison, old, new[0]))
    return PASSED if comparison.passed else NOT_PASSED


def load_baseline(name: str, store: str) -> Any:
    """Return the result that Markdown shows the changes to. Raises DefinitionError if there is none."""
    where = f"baseline {name!r}"
    document = load_result(name, store, where)
    read_result(document, where)
    return document


def changes_since(baseline: Any, result: Source) -> Sequence[Part]:
    """Return the changes to a baseline as a part of a page; or why the two cannot be compared."""
    try:
        comparison = compare(baseline, result)
    except DefinitionError as error:
        return [Part(noun="change", blocks=[f"Not compared with the baseline: {escaped(str(error))}"])]
    return [changes_part(comparison)]


def changes_part(comparison: Comparison) -> Part:
    """Return the changes that a comparison found as a part of a page."""
    said = f"{comparison.finding.upper()}: {told_of(comparison, noun_of(comparison))}"
    return change_part(comparison, title=f"**Changes**: {escaped(said)}")


def load_result(name: str, store: str, where: str, *, of_a_suite: bool = False) -> Any:
    """Return the JSON result that a file holds, or the store of a run. Raises DefinitionError if there is none.

    The last run is the last that has ended, and, if requested, is `of_a_suite`.
    """
    if Path(name).is_file() or Path(name).suffix == ".json":
        return read_json(Path(name), where)
    from simeval.store.runs import Runs, has_ended, is_of_a_suite

    with closing(open_database(store, must_exist=True)) as database:
        runs = Runs(database)
        return runs.document(runs.find(name, is_of_a_suite if of_a_suite else has_ended))
