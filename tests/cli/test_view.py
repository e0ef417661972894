"""The viewer answers this machine's own pages that know its token, and nobody else; what it cannot do it says."""

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlsplit

import psutil
import pytest

from tests.support.command_line import SHOP, SUITE, simeval
from tests.support.viewers import Viewer, viewing


@pytest.fixture(scope="module")
def viewer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Viewer]:
    folder = tmp_path_factory.mktemp("viewed")
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "shop.py").write_text(SHOP)
    assert simeval(folder, "run", "suite.yaml", "--app", "shop:good", "-q", "--seed", "1").returncode == 0
    with viewing(folder) as found:
        yield found


def run_of(viewer: Viewer) -> str:
    _, listed = viewer.ask(f"/{viewer.token}/list.json")
    found: str = json.loads(listed)["suites"][0]["runs"][0]["run_id"]
    return found


def test_only_this_machine_can_reach_it(viewer: Viewer) -> None:
    [listener] = [each for each in psutil.Process(viewer.process.pid).net_connections() if each.status == "LISTEN"]

    assert listener.laddr.ip == "127.0.0.1"


@pytest.mark.parametrize("path", ["/", "/list.json", "/wrong/", "/wrong/list.json", "/%E2%82%AC/", "//list.json"])
def test_without_the_token_nothing_is_shown(viewer: Viewer, path: str) -> None:
    status, said = viewer.ask(path)

    assert status == 403
    assert "the address needs the token" in said


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "0.0.0.0:{port}", ""])
def test_a_name_that_was_made_to_mean_this_machine_is_refused(viewer: Viewer, host: str) -> None:
    port = urlsplit(viewer.address).port

    status, _ = viewer.ask(f"/{viewer.token}/", Host=host.format(port=port))

    assert status == 403


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1:{port}"])
def test_the_page_of_another_server_is_refused(viewer: Viewer, origin: str) -> None:
    given = origin.format(port=urlsplit(viewer.address).port)

    statuses = [viewer.ask(f"/{viewer.token}/", Origin=given)[0] for _ in range(2)]

    assert statuses == [403, 403]


def test_what_changes_something_needs_the_token_in_a_header_and_json(viewer: Viewer) -> None:
    path = f"/{viewer.token}/label/{run_of(viewer)}/queue.json"
    _, listed = viewer.ask(f"{path}?by=ann")
    item = json.loads(listed)["item"]
    said = json.dumps(
        {"asked": {"by": "ann"}, "do": "label", "value": True, "scenario": item["scenario"], "index": item["index"]}
    )
    header, as_json = {"X_Simeval_Token": viewer.token}, {"Content_Type": "application/json"}

    refused = [
        viewer.ask(path, method="POST", body=said, **as_json)[0],
        viewer.ask(path, method="POST", body=said, **as_json, X_Simeval_Token="wrong")[0],
        viewer.ask(path, method="POST", body=said, Content_Type="text/plain", **header)[0],
        viewer.ask(path, method="POST", body="{", **as_json, **header)[0],
        viewer.ask(path, method="PUT", body=said, **as_json, **header)[0],
        viewer.ask(f"/{viewer.token}/list.json", method="POST", body=said, **as_json, **header)[0],
    ]
    _, unchanged = viewer.ask(f"{path}?by=ann")
    taken, changed = viewer.ask(path, method="POST", body=said, **as_json, **header)

    assert refused == [403, 403, 403, 400, 403, 404]
    assert json.loads(unchanged)["labelled"] == 0
    assert (taken, json.loads(changed)["labelled"]) == (200, 1)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"value": 7.0}, "give true or false"),
        ({"value": None}, "give true or false"),
        ({"do": "skip"}, "say why"),
        ({"do": "drop"}, "choose again"),
        ({"asked": {"by": ""}}, "choose again"),
        ({"asked": {"by": "eve", "label": "nothing"}}, "there is no expectation"),
        ({"asked": {"by": "eve", "ratings": True}, "value": 11.0}, "give a rating from 1 to 10"),
        ({"index": 10_000}, "another trial is next"),
    ],
)
def test_a_label_that_is_none_is_refused_in_a_sentence(viewer: Viewer, change: dict[str, object], said: str) -> None:
    path = f"/{viewer.token}/label/{run_of(viewer)}/queue.json"
    item = json.loads(viewer.ask(f"{path}?by=eve")[1])["item"]
    given = {"asked": {"by": "eve"}, "do": "label", "value": True, "scenario": item["scenario"], "index": item["index"]}

    status, answer = viewer.ask(
        path,
        method="POST",
        body=json.dumps(given | change),
        Content_Type="application/json",
        X_Simeval_Token=viewer.token,
    )

    assert status == 404
    assert said in json.loads(answer)["error"]


@pytest.mark.parametrize("text", ["TRACK ORDERS", "returns", "no such words", "%", "ü/ö?"])
def test_a_text_is_looked_for_by_the_server(viewer: Viewer, text: str) -> None:
    start = f"/{viewer.token}/run/{run_of(viewer)}"
    _, said = viewer.ask(f"{start}/find/{quote(text, safe='')}")
    parts = [json.loads(viewer.ask(f"{start}/0-{part}.json")[1])["trials"] for part in (0, 1)]

    holding = [
        trial["index"]
        for part in parts
        for trial in part
        if text.lower() in json.dumps([trial["turns"], trial["scores"]], ensure_ascii=False).lower()
    ]
    assert json.loads(said) == {"hits": [sorted(holding)]}


def test_what_the_judge_said_is_not_told_before_the_end(viewer: Viewer) -> None:
    path = f"/{viewer.token}/label/{run_of(viewer)}/result.json?by=zoe"

    status, said = viewer.ask(path)

    assert status == 404
    assert "30 trials still to come" in json.loads(said)["error"]
    assert "kappa" not in said


@pytest.mark.parametrize(
    "path", ["run/none/", "run/none/0.json", "compare/none/none/", "label/none/", "elsewhere", "run/{run}/7.json"]
)
def test_what_is_not_there_is_told_in_a_sentence(viewer: Viewer, path: str) -> None:
    status, said = viewer.ask(f"/{viewer.token}/{path.format(run=run_of(viewer))}")

    assert status == 404
    assert ";" in json.loads(said)["error"]


def test_what_cannot_be_shown_is_told_in_a_sentence(viewer: Viewer, tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "mine.txt").write_text("mine")
    store, port = ("--store", str(viewer.folder / ".simeval" / "simeval.db")), str(urlsplit(viewer.address).port)

    missing, unknown, taken, filled = (
        simeval(tmp_path, "view", "--no-open", *options)
        for options in (
            ("--store", "none.db"),
            (*store, "nothing"),
            (*store, "--port", port),
            (*store, "--bundle", "pages"),
        )
    )

    assert [each.returncode for each in (missing, unknown, taken, filled)] == [2, 2, 2, 2]
    assert "there is no 'none.db'" in missing.stderr
    assert "there is no run 'nothing'" in unknown.stderr
    assert f"--port: {port} cannot be used" in taken.stderr
    assert "'pages' is not empty; name a new folder" in filled.stderr


def test_a_report_is_written_to_a_file_and_not_to_standard_output(viewer: Viewer) -> None:
    done = simeval(viewer.folder, "show", "last", "--html", "-")

    assert done.returncode == 2
    assert "--html: it is a file, not for standard output; name a path" in done.stderr
    assert not (viewer.folder / "-").exists()
