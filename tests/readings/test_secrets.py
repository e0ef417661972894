"""What is secret of an app's address, headers, command and environment is nowhere to be read."""

import json
import stat
import sys
from base64 import b64encode
from collections.abc import Iterator, Mapping
from functools import partial
from html import escape
from pathlib import Path
from urllib.parse import quote

import anyio.to_thread
import pytest
from aiohttp import web

from simeval import Engine, Expectation, ProportionEvaluator, ScenarioTest, scorer
from simeval.core.redaction import Redactor, secrets_in, shown, shown_name
from simeval.errors import DefinitionError
from simeval.extras.protocols.a2a_app import A2aApp
from simeval.models.protocol.prompts import ChatRequest
from simeval.models.providers.litellm_model import LiteLLMModel
from simeval.models.providers.openai_compatible import CompatibleModel
from simeval.suites.apps.command_app import CommandApp
from simeval.suites.apps.http_app import HttpApp
from simeval.suites.apps.named import app_of, name_of
from tests.integration.test_security import everything_in
from tests.support.command_line import simeval
from tests.support.serving import serving

pytestmark = pytest.mark.anyio
PLANTED = {
    "user": "alice-the-owner",
    "password": "pw/eight-nine",
    "token": "tok4access",
    "code": "function-code-7",
    "signature": "sig+na/ture==",
    "header": "header value eleven",
    "bearer": "opaquebearer",
    "cookie": "crumbs-of-session",
    "variable": "takenFromEnv",
    "body": "key-in-the-body",
    "listed": "key-in-a-list",
    "login": "password-at-login",
    "header_of_login": "header of the login",
    "of_probe": "password<of>the probe",
    "query_of_probe": "query-of-probe",
}
SUITE = """
app:
  url: {url}
  before:
    - url: {url}
      request: {{password: {login}}}
      headers: {{X-Login: {header_of_login}}}
      take: {{said: $.reply}}
  request:
    message: "{{message}}"
    login: "{{said}}"
    api_key: {body}
    accounts: [{{token: {listed}}}]
    region: "${{SHOP_REGION}}"
  headers:
    X-Shop: {header}
    X-Owner: Bearer {bearer}
    Cookie: session={cookie}
    X-Region: ${{SHOP_REGION}}
sample_size: 5
scenarios:
  - title: The bot says what it does
    given: A new user
    when: The user asks what the bot can do
{world}    then:
      scorer: {{type: contains, texts: [orders]}}
      evaluator: {{type: proportion, min_proportion: 0.5}}
"""
WORLD = """    world:
      type: probes
      stock: {{url: "{url}/chat?k={query_of_probe}", request: {{password: "{of_probe}"}}}}
"""
REPORTS = [f"--{kind}={kind}.out" for kind in ("json", "junit", "html", "markdown")]


def planted_url(host: str) -> str:
    """Return an address with five secrets."""
    user, password = PLANTED["user"], PLANTED["password"].replace("/", "%2F")
    signature = PLANTED["signature"].replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    query = f"access_token={PLANTED['token']}&code={PLANTED['code']}&sig={signature}"
    return f"http://{user}:{password}@{host}/chat?{query}"


async def echo(request: web.Request) -> web.Response:
    """Answer with everything that was sent."""
    sent = {**request.headers, **request.query}
    return web.json_response({"reply": f"I track orders. {request.raw_path} {sent} {await request.text()}"})


async def breaks(request: web.Request) -> web.Response:
    """Fail with everything that was sent."""
    return web.Response(status=500, text=f"no such key: {[*request.headers.values()]} {request.raw_path}")


async def breaks_with_a_page(request: web.Request) -> web.Response:
    """Fail with a page of HTML that has everything that was sent."""
    sent = escape(f"{[*request.headers.values()]} {dict(request.query)} {await request.text()}")
    return web.Response(status=500, text=f"<p>no such key: {sent}</p>", content_type="text/html")


def found_in(folder: Path, *texts: str) -> dict[str, str]:
    """Return the planted secrets that can be read, and where."""
    files = {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    written = {**files, **{str(place): text.encode() for place, text in enumerate(texts)}}
    forms = {form for secret in PLANTED.values() for form in (secret, quote(secret), quote(secret, safe=""))}
    return {form: place for place, text in written.items() for form in forms if form.encode() in text}


@pytest.mark.parametrize("answer", [echo, breaks, breaks_with_a_page])
async def test_no_secret_of_an_app_at_a_url_is_in_anything_shown_or_kept(tmp_path: Path, answer: object) -> None:
    application = web.Application()
    application.router.add_post("/chat", answer)  # type: ignore[arg-type]
    folder = tmp_path / "work"
    folder.mkdir()
    run = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
    async with serving(application) as url:
        suite = tmp_path / "suite.yaml"
        app, world = planted_url(url.removeprefix("http://")), WORLD.format(url=url, **PLANTED)
        suite.write_text(SUITE.format(url=app, world=world, **PLANTED), encoding="utf-8")
        environment = {"SHOP_REGION": PLANTED["variable"]}
        commands = [
            ["run", str(suite), *REPORTS, "--log-level=debug", "--verbose"],
            ["probe", str(suite)],
            ["probe", planted_url(url.removeprefix("http://"))],
            ["run", str(suite), "--app", planted_url(url.removeprefix("http://")), "--store=second.db"],
            ["runs"],
            ["show", "last"],
            ["view", "--bundle=site"],
        ]
        done = [await run(partial(simeval, folder, *each, **environment)) for each in commands]

    assert (folder / "json.out").exists(), done[0].stderr
    assert ("[secret]" in (folder / "json.out").read_text(encoding="utf-8")) or answer is not echo
    assert not found_in(folder, *(each.stdout + each.stderr for each in done))


@pytest.mark.parametrize("judge", ["openai-compatible/x", "openai/x"])
async def test_no_secret_of_a_model_is_in_anything_shown_or_kept(tmp_path: Path, judge: str) -> None:
    application = web.Application()
    application.router.add_route("*", "/{rest:.*}", refuses)
    (tmp_path / "app.py").write_text("def handle(message):\n    return 'I track orders.'\n", encoding="utf-8")
    _, _, rest = SUITE.format(url="x", world="", **PLANTED).partition("sample_size")
    scored, _, _ = rest.partition("      scorer")
    rated = "      expected_behavior: Tracks orders\n      evaluator: {type: success_rate, min_proportion: 0.5}\n"
    (tmp_path / "suite.yaml").write_text(f"sample_size{scored}{rated}", encoding="utf-8")
    run = partial(anyio.to_thread.run_sync, abandon_on_cancel=True)
    async with serving(application) as url:
        base = f"api_base={url}/v1?code={PLANTED['code']}"
        headers = f'extra_headers={{"X-Team": "{PLANTED["header"]}"}}'
        options = [f"--model-option={each}" for each in (base, headers, f"api_key={PLANTED['token']}")]
        asked = ["run", "suite.yaml", "--app=app:handle", f"--judge-model={judge}", *options, *REPORTS]
        commands = [[*asked, "--log-level=debug"], ["runs"], ["show", "last"], ["view", "--bundle=site"]]
        done = [await run(partial(simeval, tmp_path, *each)) for each in commands]

    (tmp_path / "suite.yaml").unlink()
    assert "[secret]" in done[0].stderr, done[0].stderr
    assert not found_in(tmp_path, *(each.stdout + each.stderr for each in done))


async def refuses(request: web.Request) -> web.Response:
    """Refuse a call of a model's, and quote all that was sent."""
    said = f"no such model: {request.raw_path} {[*request.headers.values()]}"
    return web.json_response({"error": {"message": said}}, status=404)


def test_a_password_in_an_address_and_a_header_for_another_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(DefinitionError, match="a user in the address, and the header Authorization"):
        HttpApp(url="http://me:pass-1@h/chat", headers={"Authorization": "Bearer x"})
    with pytest.raises(DefinitionError, match="a password in api_base, and a key beside it"):
        CompatibleModel("openai-compatible/x", {"api_base": "http://me:pass-1@h/v1", "api_key": "k"}).check()
    with pytest.raises(DefinitionError, match="a password in api_base, and a key beside it"):
        LiteLLMModel("openai/x", {"api_base": "http://me:pass-1@h/v1", "api_key": "k"}).check()
    with pytest.raises(DefinitionError, match="LiteLLM takes no password in api_base"):
        LiteLLMModel("anthropic/x", {"api_base": "http://me:pass-1@h/v1"}).check()


async def test_a_model_whose_address_has_a_password_is_not_sent_the_key_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key-of-another")
    sent: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        sent.append(request.headers["Authorization"])
        return web.json_response({"choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}]})

    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    async with serving(application) as url:
        model = CompatibleModel("openai-compatible/x", {"api_base": f"{url.replace('://', '://me:pass-1@')}/v1"})
        model.check()
        await model.complete(ChatRequest(history=[{"role": "user", "content": "hi"}], seed=1))
        await model.close()

    assert sent == [f"Basic {b64encode(b'me:pass-1').decode()}"]


async def test_a_part_of_a_path_that_a_pattern_names_is_not_in_the_name_of_the_app(tmp_path: Path) -> None:
    seen: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        seen.append(request.path)
        return web.json_response({"reply": "I track orders."})

    application = web.Application()
    application.router.add_post("/{rest:.*}", answer)
    rule = ProportionEvaluator(min_proportion=0.5)
    async with serving(application) as url:
        apps = [app_of(f"{url}/token/ACME-{number}/chat") for number in (1, 2)]
        engine = Engine(store=tmp_path / "runs.db", secret_patterns=[r"ACME-\d"], seed=1)
        suite = ScenarioTest(
            title="One", given="A user", when="They ask", sample_size=1, then=Expectation(scorer=words, evaluator=rule)
        )
        runs = [(await engine.evaluate(suite, app)).run for app in apps]
        selection = await engine.select(suite, apps)

    names = [run.app for run in runs]
    assert seen[0] == "/token/ACME-1/chat"
    assert all("/token/[secret]/chat (" in str(name) for name in names)
    assert names[0] != names[1]
    assert not [name for name, text in everything_in(tmp_path).items() if "ACME-" in text]
    assert "ACME-" not in str(selection)


@scorer
def words(output: str) -> bool:
    return bool(output.split())


def test_the_beginning_of_a_secret_before_the_end_of_a_quotation_is_masked() -> None:
    redactor = Redactor()
    redactor.learn(["YWxpY2UtdGhlLW93bmVyOnB3", "two words of it"])

    assert redactor.clean("sent 'Basic YWxpY2UtdG… and") == "sent 'Basic [secret]… and"
    assert redactor.clean("two words… two wonders… YWxpY2") == "[secret]… two wonders… YWxpY2"


def test_the_key_in_a_query_that_an_exception_quotes_is_masked() -> None:
    clean = Redactor().clean

    assert clean("Max retries exceeded with url: /v1/chat?key=abc4defg&n=2 (Caused by") == (
        "Max retries exceeded with url: /v1/chat?key=[secret]&n=2 (Caused by"
    )
    assert clean("GET https://h/x?a=1&access_token=abc4defg'") == "GET https://h/x?a=1&access_token=[secret]'"
    assert clean("https://h/x?key=value&monkey=5") == "https://h/x?key=value&monkey=5"


def test_a_mistake_of_a_file_is_told_without_the_secrets_of_its_addresses(tmp_path: Path) -> None:
    world = "    world: {stock: {url: 'http://me:pass-word@h/chat?k=query-value'}}\n"
    suite = SUITE.format(url="http://h/", world=world, **PLANTED)
    (tmp_path / "suite.yaml").write_text(suite, encoding="utf-8")

    done = simeval(tmp_path, "run", "suite.yaml", "--app=app:handle")

    assert done.returncode == 2
    assert "http://[secret]@h/chat?k=[secret]" in done.stderr


def test_two_apps_that_differ_in_a_secret_alone_have_two_names_and_the_same_one_always_has_its_own() -> None:
    names = [name_of(HttpApp(url=f"http://shop/chat?tenant={each}")) for each in ("one", "two", "one")]

    assert names[0] == names[2] != names[1]
    assert all(name.startswith("http://shop/chat?tenant=[secret] (") for name in names)


@pytest.mark.parametrize(
    ("named", "seen"),
    [
        ("a2a:http://me:pass-1@h:9/", "a2a:http://[secret]@h:9/"),
        ("agui:https://h/agent?key=pass-1", "agui:https://h/agent?key=[secret]"),
        ("openai:https://h/v1?key=pass-1#shop", "openai:https://h/v1?key=[secret]#shop"),
        ("openai-responses:https://pass-1@h/v1#shop", "openai-responses:https://[secret]@h/v1#shop"),
        ("mcp:http://h/mcp?pass-1#ask", "mcp:http://h/mcp?[secret]#ask"),
        ("wss://h/chat?auth=pass-1", "wss://h/chat?auth=[secret]"),
        ("http://h/chat#pass-1", "http://h/chat#[secret]"),
        ("agui:http://h/agent#pass-1", "agui:http://h/agent#[secret]"),
        ("https://h/chat?s={session}&key=pass-1", "https://h/chat?s={session}&key=[secret]"),
    ],
)
def test_every_kind_of_address_is_named_without_its_secrets(named: str, seen: str) -> None:
    name = name_of(app_of(named))  # type: ignore[arg-type]

    assert name.startswith(f"{seen} (")
    assert "pass-1" not in name


@pytest.mark.parametrize(
    ("arguments", "seen"),
    [
        ("bot.py --api-key s3cret-9", "bot.py --api-key [secret]"),
        ("bot.py --token='s3cret-9'", "bot.py --token='[secret]'"),
        ("bot.py API_TOKEN=s3cret-9", "bot.py API_TOKEN=[secret]"),
        ("bot.py --jwt=s3cret-9", "bot.py --jwt=[secret]"),
        ("bot.py --license s3cret-9", "bot.py --license [secret]"),
        ("bot.py GH_PAT=s3cret-9", "bot.py GH_PAT=[secret]"),
        ("bot.py --cookie 'sid=s3cret-9'", "bot.py --cookie '[secret]'"),
        ("bot.py -u me:s3cret-9", "bot.py -u me:[secret]"),
        ("bot.py -H 'Authorization: Bearer s3cret-9'", "bot.py -H 'Authorization: [secret]'"),
        ("bot.py postgres://me:s3cret-9@h/db", "bot.py postgres://[secret]@h/db"),
        ("bot.py 8f3as3cret9c1b2d4e5f", "bot.py [secret]"),
    ],
)
def test_arguments_of_a_command_that_look_like_keys_are_masked(arguments: str, seen: str) -> None:
    app = CommandApp(f"{sys.executable} {arguments}")

    assert app.name.startswith(f"cmd:{sys.executable} {seen} (")
    assert any("s3cret" in str(each) for each in app.secrets)


def test_a_word_behind_an_option_of_a_command_is_no_secret_of_conversations() -> None:
    assert {*secrets_in("cmd:bot.py --license commercial --auth required --password plumtree")} == {"plumtree"}


def test_a_command_within_an_option_is_shown_without_its_secrets() -> None:
    assert shown("--app=mcp:bot.py --auth s3cret-9#ask") == "--app=mcp:bot.py --auth [secret]#ask"


async def test_cookies_and_the_address_of_a_redirection_are_not_in_what_an_app_answers() -> None:
    async def answer(request: web.Request) -> web.Response:
        if not request.cookies:
            begun = web.json_response({"reply": "Welcome"})
            begun.set_cookie("sid", "plum-tree")
            begun.set_cookie("auth", "pear-tree-and-more")
            begun.set_cookie("theme", "dark")
            return begun
        if (await request.json())["message"] == "on":
            location = "/login?state=fig-tree-42#id=lime-tree"
            return web.Response(status=302, headers={"Location": location}, text=f"see {location}")
        return web.json_response({"reply": f"{request.headers['Cookie']}; {request.cookies['auth']}; dark"})

    application = web.Application()
    application.router.add_post("/chat", answer)
    async with serving(application) as url, HttpApp(url=f"{url}/chat") as app:
        first = await app([{"role": "user", "content": "hi"}], {})
        second = await app([{"role": "user", "content": "hi"}], first.state)
        third = await app.exchange([{"role": "user", "content": "on"}], second.state)

    assert second.response == "auth={auth}; {sid}; theme=dark; {auth}; dark"
    assert str(third.failure) == "HTTP 302: it redirects to /login?state=[secret]#id=[secret]"
    assert third.body == "see /login?state={Location}#id={Location}"


async def test_cookies_and_addresses_that_are_no_secret_leave_an_answer_to_its_judge_as_it_is() -> None:
    said = "Delivery of ORD-2024-00012345 is on its way; I wrote to customer@example.com (America/Los_Angeles)."

    async def answer(request: web.Request) -> web.Response:
        headers = {"Location": "/messages?of=ORD-2024-00012345#Delivery"}
        made = web.json_response({"reply": said}, status=201, headers=headers)
        for name, value in {
            "user": "customer@example.com",
            "author": "customer@example.com",
            "last_order": "ORD-2024-00012345",
            "tz": "America/Los_Angeles",
        }.items():
            made.set_cookie(name, value)
        return made

    application = web.Application()
    application.router.add_post("/chat", answer)
    async with serving(application) as url, HttpApp(url=f"{url}/chat") as app:
        response = await app([{"role": "user", "content": "hi"}], {})

    assert response.response == said


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("connect.sid", "correct-horse-battery"),
        ("PHPSESSID", "correct-horse-battery"),
        ("__Host-csrf", "correct-horse-battery"),
        ("remember_me", "correct-horse-battery"),
        ("c", "4f1c2a9d8e7b6a5c4f1c2a9d"),
    ],
)
async def test_a_cookie_with_the_name_of_a_session_or_a_random_value_is_not_in_an_answer(name: str, value: str) -> None:
    async def answer(request: web.Request) -> web.Response:
        made = web.json_response({"reply": f"here: {value}"})
        made.set_cookie(name, value)
        return made

    application = web.Application()
    application.router.add_post("/chat", answer)
    async with serving(application) as url, HttpApp(url=f"{url}/chat") as app:
        response = await app([{"role": "user", "content": "hi"}], {})

    assert response.response == f"here: {{{name}}}"


async def test_the_secrets_of_the_address_on_the_card_of_an_app_are_not_in_what_it_answers() -> None:
    async def card(request: web.Request) -> web.Response:
        named = {"url": f"http://{request.host}/rpc?tenant=plum-tree", "preferredTransport": "JSONRPC"}
        return web.json_response(named)

    application = web.Application()
    application.router.add_get("/.well-known/agent-card.json", card)
    application.router.add_post("/rpc", breaks)
    async with serving(application) as url, A2aApp(url) as app:
        failed = await app.exchange([{"role": "user", "content": "hi"}], {})

    assert "/rpc?tenant={url}" in failed.body
    assert "plum-tree" not in f"{failed}"


@pytest.mark.parametrize(
    "plain",
    [
        "http://localhost:8000/chat",
        "http://h/users/@me",
        "https://h/${TENANT}/chat?key=${KEY}&s={session}",
        "http://${NAME}:${PASSWORD}@h/",
        "cmd:python bot.py --model claude-sonnet-4-20250514 --max-tokens 100 data/2024/orders.json",
        "cmd:python bot.py --compat strict-mode --spin forever --shortcut=control-k",
        "mcp:http://localhost:8000/mcp#ask",
    ],
)
def test_a_name_without_secrets_is_shown_as_it_is(plain: str) -> None:
    assert shown_name(plain) == shown(plain) == plain
    assert secrets_in(plain) == []


def _files(folder: Path) -> Iterator[tuple[str, int]]:
    for file in folder.rglob("*"):
        if file.is_file():
            yield file.name, stat.S_IMODE(file.stat().st_mode)


def test_store_and_reports_can_be_read_by_their_owner_alone_unless_the_file_was_there(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("def handle(message):\n    return 'I track orders.'\n", encoding="utf-8")
    app, _, rest = SUITE.format(url="x", world="", **PLANTED).partition("sample_size")
    del app
    (tmp_path / "suite.yaml").write_text(f"sample_size{rest}", encoding="utf-8")
    shared = tmp_path / "markdown.out"
    shared.touch()
    shared.chmod(0o644)

    done = simeval(tmp_path, "run", "suite.yaml", "--app", "app:handle", *REPORTS)

    modes: Mapping[str, int] = dict(_files(tmp_path))
    assert done.returncode == 0, done.stderr
    written = {name for name in modes if name.endswith((".out", ".db"))}
    assert {name for name in written if modes[name] != 0o600} == {"markdown.out"}
    assert modes["markdown.out"] == 0o644
    assert json.loads((tmp_path / "json.out").read_text(encoding="utf-8"))
