"""The command line of the campaign: runs the rows and prints them as a Markdown table."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.faults.campaign import elsewhere, endpoints, handlers, kills, stores
from benchmarks.faults.campaign.campaign import Campaign, NotRun, Row, healthy
from benchmarks.faults.campaign.cases import Report
from simeval.testing import fake_endpoint
from tests.support.postgres import installed, serving

ROWS: Mapping[str, tuple[str, Row]] = {
    **kills.ROWS,
    **elsewhere.ROWS,
    **stores.ROWS,
    **endpoints.ROWS,
    **handlers.ROWS,
}
HEADER = (
    "| what happens | finished | lost | paid twice | missing, set aside | ended | seconds | verdicts as if nothing had "
    "happened | what the user sees |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)
SAME = {True: "yes", False: "NO", None: "-"}


def main() -> int:
    """Run the rows that are named, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults.campaign", description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="how often a run is killed on each database")
    parser.add_argument("--postgres", metavar="URL", help="a database to use, where no server can be started here")
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}")
    options = parser.parse_args()
    unknown = set(options.rows) - set(ROWS)
    if unknown:
        parser.error(f"no row is named {', '.join(sorted(unknown))}")
    clock = perf_counter()
    print(HEADER)
    bad = 0
    with prepared(options.kills, options.postgres) as campaign:
        for name in options.rows or ROWS:
            title, row = ROWS[name]
            try:
                report = row(campaign)
            except NotRun as reason:
                print(f"| {title} | not run: {reason} | | | | | | | |", flush=True)
                continue
            bad += not report.is_good
            print(as_row(title, report), flush=True)
    print(f"\n{len(options.rows or ROWS)} rows in {perf_counter() - clock:.0f} s; {bad or 'none'} with a fault")
    return bad > 0


@contextmanager
def prepared(kill_count: int, postgres: str | None) -> Iterator[Campaign]:
    """Return what the rows need; all that was started has been stopped in the end."""
    with (
        TemporaryDirectory(prefix="simeval-campaign-") as folder,
        fake_endpoint(healthy()) as endpoint,
        ExitStack() as ends,
    ):
        server = None
        if postgres is None and (binaries := installed()) is not None:
            server = ends.enter_context(serving(binaries))
            postgres = server.fresh()
        campaign = Campaign(folder=Path(folder), endpoint=endpoint, kills=kill_count, postgres=postgres, server=server)
        with closing(campaign):
            yield campaign


def as_row(title: str, report: Report) -> str:
    """Return a row of the table."""
    message = "; ".join(text for text in (report.problem and f"**{report.problem}**", report.message) if text)
    cells = (
        title,
        f"{report.finished}",
        f"{report.lost}",
        f"{report.repeated}",
        f"{report.missing}, {report.set_aside}",
        report.ended,
        f"{report.seconds:.1f}",
        SAME[report.same] + (", up to the cuts" if report.same and report.missing else ""),
        message.replace("|", "\\|") or "its verdicts",
    )
    return f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
