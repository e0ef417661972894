"""The command `simeval import` with its options."""

from pathlib import Path
from typing import Any

import click

from simeval.cli import CONTEXT


@click.command("import", context_settings=CONTEXT)
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--format", default="auto", show_default=True, help="What the files are, as `simeval help logs` lists.")
@click.option("--out", type=click.Path(path_type=Path), help="Where to write.  [default: FILE with .simeval.jsonl]")
@click.option(
    "--as",
    "form",
    type=click.Choice(["simeval", "openai", "sharegpt"]),
    default="simeval",
    show_default=True,
    help="What is written: a dataset, or rows to fine-tune a model with.",
)
@click.option("--name", help="The dataset's name.  [default: the file's]")
@click.option("--store", metavar="URL", help="Keep the dataset there too, so that its examples can have feedback.")
@click.option("--fit-users", is_flag=True, help="Also write how users write, as a mix of personas: DATASET.users.yaml.")
def import_(**options: Any) -> None:
    """Read logs of conversations (FILE...) and write them as one dataset, one JSON object per line.

    Formats: OpenAI chat, ShareGPT, LangSmith, Langfuse, OpenTelemetry, Inspect and more, gzip too. Unreadable parts are
    reported with their place, and the rest is imported. Exit status: 0, or 2 if nothing can be read.
    """
    from simeval.extras.importers.import_logs import import_logs

    raise SystemExit(import_logs(**options))
