"""What a new user gets wrong in the command line itself: the command, and what is said of it."""

from tests.support.mistakes import RUN, SUITE

MISUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing is chosen": (
        (*RUN, "--only", ""),
        "--only: found ''; name a tag, a title or a part of one.",
    ),
    "a command is misspelt": (
        ("rum", "suite.yaml"),
        "there is no command 'rum'; did you mean 'run'?",
    ),
    "a page is misspelt": (
        ("help", "scorer"),
        "there is no page 'scorer'; did you mean 'scorers' or 'score'?",
    ),
    "an option stands before its command": (
        ("--app", "shop:handle", *RUN),
        "there is no option '--app'; write it behind the command: simeval run ... --app.",
    ),
    "a command of a command is misspelt": (
        ("persona", "chek"),
        "persona: no such command 'chek'; did you mean 'check'?",
    ),
    "an option is misspelt": (
        (*RUN, "--concurency", "4"),
        "run: there is no option '--concurency'; did you mean '--concurrency'?",
    ),
    "an option is like none": (
        (*RUN, "--xyz"),
        "run: there is no option '--xyz'; `simeval run --help` shows how it is called.",
    ),
    "an option has no value": (
        (*RUN, "--seed"),
        "run: --seed requires an argument; `simeval run --help` shows how it is called.",
    ),
    "a number is too small": (
        (*RUN, "--concurrency", "0"),
        "--concurrency: found 0; use a whole number of 1 or more.",
    ),
    "a number is a word": (
        (*RUN, "--samples", "many"),
        "--samples: found 'many'; use a whole number of 1 or more.",
    ),
    "a choice is none of those there are": (
        (*RUN, "--color", "often"),
        "--color: found 'often'; use auto, always or never.",
    ),
    "there is one choice": (
        (*RUN, "--rerun", "all"),
        "--rerun: found 'all'; use failed.",
    ),
    "the beginning of an option is given": (
        (*RUN, "--concur", "4"),
        "run: there is no option '--concur'; did you mean '--concurrency'?",
    ),
    "a share is asked of a number": (
        ("score", "log.jsonl", "--scorers", "turn_count", "--share", "turn_count=0.9", "--store", "none"),
        "--share: turn_count is a number, and not true or false; use --median METRIC=VALUE, or a threshold in a file "
        "with --then.",
    ),
    "no suite is named": (
        ("run",),
        "run: SUITE is missing; `simeval run --help` shows how it is called.",
    ),
    "there is an argument too many": (
        (*RUN, "more.yaml"),
        "run: got unexpected extra argument (more.yaml); `simeval run --help` shows how it is called.",
    ),
    "the level is a percentage": (
        (*RUN, "--alpha", "5"),
        "--alpha: found 5.0; use a number between 0 and 0.5, such as 0.05.",
    ),
    "the app's colon is a dot": (
        ("run", "suite.yaml", "--app", "mistaken_app.handle", "--store", "none"),
        "app 'mistaken_app.handle': this is neither a handler nor a model; did you mean 'mistaken_app:handle'?",
    ),
    "a slash is missing in the app's address": (
        ("run", "suite.yaml", "--app", "http:/127.0.0.1:9/chat", "--store", "none"),
        "app 'http:/127.0.0.1:9/chat': a slash is missing behind the colon; write http://127.0.0.1:9/chat.",
    ),
    "the app's protocol is misspelt": (
        ("run", "suite.yaml", "--app", "opnai:http://127.0.0.1:9/v1#m", "--store", "none"),
        "app 'opnai:http://127.0.0.1:9/v1#m': there is no protocol 'opnai'; did you mean 'openai'?",
    ),
    "the app's port is none": (
        ("run", "suite.yaml", "--app", "http://127.0.0.1:99999/chat", "--store", "none"),
        "app: url: found 'http://127.0.0.1:99999/chat' (Port out of range 0-65535); correct it.",
    ),
    "runs are wanted where none are kept": (
        ("runs", "--store", "none"),
        "store: none is kept; name the store of a run with --store.",
    ),
    "a table is said to be a log": (
        (
            "score",
            "log.jsonl",
            "--recorded",
            "output",
            "--format",
            "opnai",
            "--scorers",
            "valid_json",
            "--store",
            "none",
        ),
        "--format: found 'opnai' beside --recorded; leave one out: --recorded reads a table, --format says what a log "
        "is.",
    ),
    "a scorer has arguments": (
        ("score", "log.jsonl", "--scorers", "{type: contains, texts: [thank you]}"),
        "--scorers: found '{type: contains, texts: [thank you]}', and not a name; write it in a file, as `then:` of a "
        "suite, and name that with --then.",
    ),
    "an embedded model is misspelt": (
        (*RUN, "--judge-model", "offline/juge"),
        "model 'offline/juge': there is no embedded model of this name; did you mean 'offline/judge'?",
    ),
    "a provider is misspelt": (
        (*RUN, "--judge-model", "oflline/judge"),
        "model 'oflline/judge': LiteLLM knows no provider of this name; did you mean 'offline/judge'?",
    ),
    "the letters of an option have one dash": (
        (*RUN, "-verbose"),
        "run: there is no option '-verbose'; did you mean '--verbose'?",
    ),
    "an option has the name of another tool": (
        (*RUN, "--tag", "smoke"),
        "run: there is no option '--tag'; did you mean '--only'?",
    ),
    "an option says what a scenario says": (
        (*RUN, "--max-turns", "4"),
        "run: there is no option '--max-turns'; a scenario says it: write max_turns, such as max_turns: 8, in the "
        "suite file.",
    ),
    "a program is no handler": (
        ("run", "suite.yaml", "--app", "sh bot.sh"),
        "app 'sh bot.sh': this is a program; write cmd:sh bot.sh.",
    ),
    "one app is selected": (
        ("select", "suite.yaml", "--app", "mistaken_app:handle"),
        "select: --app: found 'mistaken_app:handle'; give --app twice or more, once for each app.",
    ),
    "an option stands where a file is named": (
        (*RUN, "--html", "-q"),
        "file '-q': this looks like an option; name a file behind the option before it, or write it as ./-q.",
    ),
    "quiet and verbose are wanted": (
        (*RUN, "-q", "-v"),
        "--verbose: there is --quiet, too; leave one of them out.",
    ),
    "an executor is none of those there are": (
        (*RUN, "--executor", "kubernetes"),
        "--executor: found 'kubernetes'; use local or ray.",
    ),
    "the rate of a plan is a percentage": (
        ("plan", "--bar", "0.9", "--rate", "97"),
        "--rate: found 97.0; use a share above 0, up to 1, such as 0.97.",
    ),
    "what attacks may succeed is a number": (
        ("attack", "mistaken_app:handle", "--at-most", "5"),
        "--at-most: found 5.0; use a share strictly between 0 and 1, such as 0.05.",
    ),
    "a store is a table": (
        (*RUN[:-1], "runs.csv"),
        "--store: found 'runs.csv'; name a SQLite file, such as runs.db, a .jsonl file or a PostgreSQL URL.",
    ),
    "feedback has no key": (
        ("feedback", "last", "--score", "yes"),
        "feedback: --key is missing; name what is said of it, such as --key helpful.",
    ),
    "the suite and the app change places": (
        ("run", "mistaken_app:handle", "--app", "suite.yaml"),
        "suite 'mistaken_app:handle': this is a function with parameters, as an app is; name the suite, and the app by "
        "its option: simeval run SUITE --app mistaken_app:handle.",
    ),
}

IN_THE_SUITE = ("run", "suite.yaml", "--store", "none")
OF_APPS: dict[str, tuple[str, tuple[str, ...], str]] = {
    "the app is a model without a key": (
        f"app: openai/gpt-5-nano\n{SUITE}",
        IN_THE_SUITE,
        "suite.yaml, line 1, field app: model 'openai/gpt-5-nano': its key is missing: OPENAI_API_KEY is not set; set "
        "it (export OPENAI_API_KEY=...), or for a first look use offline/judge, offline/user or offline/app.",
    ),
    "an address has no colon": (
        f"app: http//127.0.0.1:9/chat\n{SUITE}",
        IN_THE_SUITE,
        "suite.yaml, line 1, field app: 'http//127.0.0.1:9/chat': a colon is missing before the slashes; write "
        "http://127.0.0.1:9/chat.",
    ),
}
