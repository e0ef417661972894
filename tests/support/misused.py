"""What a new user gets wrong in the command line itself: the command, and what is said of it."""

from tests.support.mistakes import RUN

MISUSED: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing is chosen": (
        (*RUN, "--only", ""),
        "--only: found ''; name a tag, a title or a part of one.",
    ),
    "a command is misspelt": (
        ("rum", "suite.yaml"),
        "there is no command 'rum'; did you mean 'run'?",
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
    "an embedded model is misspelt": (
        (*RUN, "--judge-model", "offline/juge"),
        "model 'offline/juge': there is no embedded model of this name; did you mean 'offline/judge'?",
    ),
    "a provider is misspelt": (
        (*RUN, "--judge-model", "oflline/judge"),
        "model 'oflline/judge': LiteLLM knows no provider of this name; did you mean 'offline/judge'?",
    ),
}
