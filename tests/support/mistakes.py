"""What a new user gets wrong on the command line: the suite, the command, and what is said of it."""

from textwrap import indent

from tests.support.suite_files import ONE

SCENARIO = indent(ONE, "  ")
SUITE = f"scenarios:\n{SCENARIO}"
RUN = ("run", "suite.yaml", "--app", "mistaken_app:handle", "--store", "none")
SCORED = SUITE.replace("expected_behavior: It answers", "scorer: response_latency")
QUIET: dict[str, tuple[str, tuple[str, ...], str]] = {
    "a title is used twice": (
        SUITE + SCENARIO,
        RUN,
        "suite.yaml, line 8, field scenarios.1.title: there is another scenario with the title 'First'; "
        "give each its own: results are told by titles.",
    ),
    "a rating is asked of a metric": (
        SCORED,
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator: it is for a judge's "
        "ratings from 1 to 10, and response_latency is a metric; use proportion, quantile or mean.",
    ),
    "a share of ratings has no threshold": (
        SUITE.replace("success_rate", "proportion"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator: every score from 1 to 10 meets it; use success_rate, or "
        "a threshold between 1 and 10: a judge rates from 1 to 10.",
    ),
    "a title is a word that YAML takes for true": (
        SUITE.replace("First", "yes"),
        RUN,
        "suite.yaml, line 2, field scenarios.0.title: found True; YAML reads yes, no, on and off as true and false: "
        "put such a word in quotes.",
    ),
    "a text has a colon": (
        SUITE.replace("A user", "A user: new"),
        RUN,
        "suite.yaml, line 3: this is not YAML (mapping values are not allowed here); "
        "put a text that has a colon in quotes, or begin the line in the right column.",
    ),
    "a line begins with a tab": (
        SUITE.replace("    given", "\tgiven"),
        RUN,
        "suite.yaml, line 3: this is not YAML (found character '\\t' that cannot start any token); "
        "use spaces in place of tabs, and quotes around a text that begins with a sign.",
    ),
    "several fields are misspelt": (
        SUITE.replace("given", "givn").replace("success_rate", "succes_rate"),
        RUN,
        "suite.yaml, line 3, field scenarios.0.givn: there is no field 'givn'; did you mean 'given'?\n"
        "suite.yaml, line 7, field scenarios.0.then.evaluator.type: found the type 'succes_rate'; did you mean "
        "'success_rate'?",
    ),
    "a setting stands at the top": (
        f"concurrency: 4\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field concurrency: there is no field 'concurrency' here; put it under `settings`.",
    ),
    "one judge stands where two are named": (
        f"judge: openai/gpt-4o\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field judge: found 'openai/gpt-4o'; name one judge as judge_model: openai/gpt-4o; two of "
        "them as first and escalate.",
    ),
    "a misspelt field has its value in the lines below": (
        SUITE.replace("then:", "thne:"),
        RUN,
        "suite.yaml, line 5, field scenarios.0.thne: there is no field 'thne'; did you mean 'then'?",
    ),
    "a quarantine ends at no date": (
        SUITE.replace("    when", "    quarantine: {reason: flaky, until: tomorrow}\n    when"),
        RUN,
        "suite.yaml, line 4, field scenarios.0.quarantine.until: found 'tomorrow'; give a date, such as 2027-01-31.",
    ),
    "mistakes are in several scenarios": (
        SUITE.replace("when", "wen") + SCENARIO.replace("First", "Second").replace("0.9", "90"),
        RUN,
        "suite.yaml, line 4, field scenarios.0.wen: there is no field 'wen'; did you mean 'when'?\n"
        "suite.yaml, line 13, field scenarios.1.then.evaluator.min_proportion: found 90.0; use a "
        "share strictly between 0 and 1, such as 0.9.",
    ),
    "no app is named": (
        SUITE,
        ("run", "suite.yaml"),
        "app: none is named; name yours with --app MODULE:HANDLER, or as app: in the suite; "
        "`simeval demo` shows a run without one.",
    ),
    "the app is a file": (
        SUITE,
        ("run", "suite.yaml", "--app", "mistaken_app.py"),
        "app 'mistaken_app.py': this is a file; name it as a module with its handler, such as mistaken_app:handle.",
    ),
    "the app is a module without its handler": (
        SUITE,
        ("run", "suite.yaml", "--app", "mistaken_app"),
        "app 'mistaken_app': this is a module, without its handler; name it as a module with its handler, such as "
        "mistaken_app:handle.",
    ),
    "the app's address has no http": (
        SUITE,
        ("run", "suite.yaml", "--app", "127.0.0.1:8000/chat"),
        "app '127.0.0.1:8000/chat': this is no address of a known kind; write http://127.0.0.1:8000/chat, or https://.",
    ),
    "a share has a percent sign": (
        SUITE.replace("0.9", "90%"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator.min_proportion: found '90%'; use a number, such as 0.9.",
    ),
    "there are no scenarios": (
        "scenarios: []",
        RUN,
        "suite.yaml, line 1, field scenarios: found []; give at least one.",
    ),
    "a baseline is asked of no store": (
        SUITE,
        (*RUN, "--baseline", "last"),
        "store: none is kept; name the store of a run with --store.",
    ),
    "the app is not there": (
        SUITE,
        ("run", "suite.yaml", "--app", "nowhere:handle"),
        "app 'nowhere:handle': importing it failed (ModuleNotFoundError: No module named 'nowhere'); name the app as "
        "MODULE:OBJECT, which lies in the current folder or beside the suite.",
    ),
    "there is no such scenario": (
        SUITE,
        (*RUN, "--only", "Frist"),
        "--only: no scenario has 'Frist' as a tag or in its title; did you mean 'First'?",
    ),
    "a key is missing": (
        SUITE,
        (*RUN, "--judge-model", "openai/gpt-5-nano"),
        "model 'openai/gpt-5-nano': its key is missing: OPENAI_API_KEY is not set; set it (export OPENAI_API_KEY=...), "
        "or for a first look use offline/judge, offline/user or offline/app.",
    ),
    "there is no such provider": (
        SUITE,
        (*RUN, "--judge-model", "nobody/x"),
        "model 'nobody/x': LiteLLM knows no provider of this name; use LiteLLM's form provider/model, such as "
        "openai/gpt-5-nano, or offline/judge.",
    ),
    "there is no suite": (
        SUITE,
        ("run", "siute.yaml", "--app", "mistaken_app:handle"),
        "suite 'siute.yaml': there is no such file or folder; name a YAML file, a folder of them, or module:object.",
    ),
    "an evaluator has another name": (
        SUITE.replace("success_rate", "average"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator.type: found the type 'average'; did you mean 'mean'?",
    ),
    "half of a scorer's name is given": (
        SUITE.replace("expected_behavior: It answers", "scorer: json"),
        RUN,
        "suite.yaml, line 6, field scenarios.0.then.scorer: found 'json'; did you mean 'json_match' or 'valid_json'?",
    ),
    "a prompt is misspelt": (
        SUITE,
        (*RUN, "--prompt", "rubrc=suite.yaml"),
        "prompts: there is no prompt 'rubrc'; did you mean 'rubric'?",
    ),
    "the judge is an embedded app": (
        SUITE,
        (*RUN, "--judge-model", "offline/app"),
        "model 'offline/app': it cannot play the judge; use offline/judge, or a model of a provider, such as "
        "openai/gpt-5-nano.",
    ),
    "a run is shown before there is one": (
        SUITE,
        ("show", "last"),
        "store: there is no '.simeval/simeval.db'; run a suite first, or name the store of a run with --store.",
    ),
    "an evaluator is a name": (
        SUITE.replace("{type: success_rate, min_proportion: 0.9}", "success_rate"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator: found 'success_rate'; give a mapping, such as {type: "
        "success_rate, min_proportion: 0.9}.",
    ),
    "a field is missing": (
        SUITE.replace("    given: A user\n", ""),
        RUN,
        "suite.yaml, line 2, field scenarios.0.given: the field is missing; add it.",
    ),
    "the judge has half a name": (
        SUITE,
        (*RUN, "--judge-model", "openai/"),
        "model 'openai/': found no model's name; write it after the slash.",
    ),
    "the part of an app's description is misspelt": (
        "app: {url: 'http://127.0.0.1:9', replay: answer}\n" + SUITE,
        RUN,
        "suite.yaml, line 1, field app.replay: there is no field 'replay'; did you mean 'reply'?",
    ),
    "the report has no folder": (
        SUITE,
        (*RUN, "--json", "nowhere/x.json"),
        "file 'nowhere/x.json': it cannot be written (No such file or directory); check the path, or its permissions.",
    ),
    "the share of a plan is a percentage": (
        SUITE,
        ("plan", "--bar", "90", "--rate", "97"),
        "--bar: found 90.0; use a share strictly between 0 and 1, such as 0.9.",
    ),
    "a persona is not there": (
        SUITE,
        ("persona", "check", "nothing.yaml"),
        "nothing.yaml, line 1: it cannot be read (No such file or directory); name another file.",
    ),
    "nothing is to be measured": (
        SUITE,
        ("score", "suite.yaml"),
        "--scorers: found no name; name one or more, with commas between them, or a file with --then.",
    ),
    "what the app imports is not in the module": (
        SUITE,
        ("run", "suite.yaml", "--app", "broken_app:handle"),
        "app 'broken_app:handle': importing it failed (ImportError: cannot import name 'dum' from 'json' "
        "({json}) (broken_app.py:3 in <module>)); correct that line; `python -c 'import broken_app'` shows all of it.",
    ),
    "what the app needs is not installed": (
        SUITE,
        ("run", "suite.yaml", "--app", "needy_app:handle"),
        "app 'needy_app:handle': importing it failed (ModuleNotFoundError: No module named 'flaskk' (needy_app.py:1 in "
        "<module>)); install flaskk in simeval's environment, or correct the import.",
    ),
    "the suite is a number": (
        SUITE,
        ("run", "needless_app:NUMBER", "--app", "mistaken_app:handle"),
        "suite 'needless_app:NUMBER': found int; give a ScenarioTest, a list of them, or a function without arguments "
        "that returns them.",
    ),
    "the scenarios are a text": (
        "scenarios: hello\n",
        RUN,
        "suite.yaml, line 1, field scenarios: found 'hello'; give a list: [one, two], or a line with a dash for each.",
    ),
    "a setting has the name of its option": (
        f"settings: {{max_trials: 5}}\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field settings.max_trials: there is no field 'max_trials' here; did you mean "
        "'sample_size'?",
    ),
    "what is a scenario's stands among the settings": (
        f"settings: {{max_turns: 4}}\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field settings.max_turns: there is no field 'max_turns' here; put it with a scenario.",
    ),
    "a text begins with a star": (
        SUITE.replace("A user", "*user"),
        RUN,
        "suite.yaml, line 3: this is not YAML (found undefined alias 'user'); put a text that begins with * in quotes.",
    ),
    "the secret of an attack is not set": (
        SUITE,
        ("attack", "mistaken_app:handle", "--secret", "env:NOT_SET_HERE"),
        "attack.secrets: NOT_SET_HERE is not set in the environment; set it, or give the secret itself in place of "
        "env:NOT_SET_HERE.",
    ),
    "the system prompt of an attack is not there": (
        SUITE,
        ("attack", "mistaken_app:handle", "--system-prompt", "no.txt"),
        "--system-prompt: no.txt cannot be read (No such file or directory); name a file with the app's system prompt.",
    ),
    "a run is resumed without a store": (
        SUITE,
        (*RUN, "--resume", "last"),
        "resume: this needs a database; name one with --store: an SQLite file, or a PostgreSQL URL.",
    ),
    "brand voice has no persona": (
        SUITE,
        ("score", "log.jsonl", "--scorers", "alignment"),
        "scorer alignment: found neither a persona nor authenticity; give one of them (--persona FILE on the command "
        "line).",
    ),
    "a log is of no known format": (
        SUITE,
        ("import", "suite.yaml"),
        "log 'suite.yaml': the format of its first records is not known; name its format with --format (in Python "
        "format=): simeval, inspect, otel, langfuse, langsmith, deepeval, sessions, sharegpt, openai, chatml, rasa, "
        "botium, promptfoo.",
    ),
    "a run is compared with itself": (
        SUITE,
        ("compare", "run.json", "run.json"),
        "compare: both are run one; give two runs: a run is not better or worse than itself.",
    ),
    "a field is empty": (
        SUITE.replace(" They ask", ""),
        RUN,
        "suite.yaml, line 4, field scenarios.0.when: found nothing; give a text, in quotes.",
    ),
    "a scorer of one's own is a number": (
        SUITE.replace("expected_behavior: It answers", "scorer: needless_app:NUMBER"),
        RUN,
        "suite.yaml, line 6, field scenarios.0.then.scorer: found 3; give a Scorer instance or a function.",
    ),
    "a mapping has one field, and another is given": (
        f"users: {{personas: 3}}\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field users.personas: there is no field 'personas'; use one of mix, logs.",
    ),
    "a bar is a percentage": (
        SUITE,
        ("score", "log.jsonl", "--scorers", "turn_count", "--share", "turn_count=90", "--store", "none"),
        "--share: found 90.0; use a share strictly between 0 and 1, such as 0.9.",
    ),
    "a bar is missing": (
        SUITE,
        ("score", "log.jsonl", "--scorers", "valid_json", "--median", "valid_json.valid", "--store", "none"),
        "--median: found 'valid_json.valid'; write METRIC=NUMBER, such as valid_json.valid=0.9.",
    ),
    "a metric is scored that is a number": (
        SUITE,
        ("score", "log.jsonl", "--scorers", "needless_app:NUMBER"),
        "scorer 'needless_app:NUMBER': found 3; give a Scorer instance or a function.",
    ),
    "a secret is too short to be one": (
        SUITE,
        ("attack", "mistaken_app:handle", "--secret", "X"),
        "breach.secrets: found one of fewer than 3 characters, which an answer may have by chance; give a longer one.",
    ),
    "a model is probed": (
        f"app: offline/app\n{SUITE}",
        ("probe", "suite.yaml"),
        "suite 'suite.yaml': its app is a model, which needs no probe; try it with `simeval try suite.yaml`.",
    ),
    "the labels have no folder": (
        SUITE,
        ("agree", "run.json", "--sample", "5", "--out", "none/labels.csv"),
        "file 'none/labels.csv': it cannot be written (No such file or directory); check the path, or its permissions.",
    ),
    "a mean of ratings has the bounds of a share": (
        SUITE.replace("{type: success_rate, min_proportion: 0.9}", "{type: mean, at_least: 0.9}"),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.evaluator: its bounds are 0 to 1, and the scores lie between 1 and "
        "10; a judge rates from 1 to 10: add bounds: [1, 10] and a bar between them, or use rating_average.",
    ),
    "a scorer has nothing to look for": (
        SCORED.replace("response_latency", "contains").replace("success_rate", "proportion"),
        RUN,
        "suite.yaml, line 6, field scenarios.0.then.scorer: scorer contains: found no texts; say what to look for: in "
        "a file {type: contains, texts: [thank you]}, in Python Contains(texts=[...]).",
    ),
    "the path of a score is misspelt": (
        SCORED.replace("scorer: response_latency", "scorer: response_latency\n      score: p95").replace(
            "{type: success_rate, min_proportion: 0.9}", "{type: quantile, quantile: 0.9, at_most: 3}"
        ),
        RUN,
        "suite.yaml, line 7, field scenarios.0.then.score: response_latency gives no 'p95'; did you mean 'p90'?",
    ),
    "the judge stands among the settings": (
        f"settings: {{judge_model: openai/gpt-5-nano}}\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field settings.judge_model: there is no field 'judge_model' here; put it at the top of "
        "the file.",
    ),
    "a number has a comma": (
        SUITE.replace("0.9}", "0,9}"),
        RUN,
        "suite.yaml, line 7: this is not YAML (a comma ends a value, so 9 is a field of its own); write numbers with a "
        "point, such as 0.9.",
    ),
    "an expectation is a text": (
        SUITE.partition("  then:")[0] + "  then: It answers\n",
        RUN,
        "suite.yaml, line 5, field scenarios.0.then: found the text 'It answers'; give a mapping: {expected_behavior: "
        "TEXT, evaluator: {type: success_rate, min_proportion: 0.9}}.",
    ),
    "the function of the app is misspelt in the suite": (
        f"app: json:dmps\n{SUITE}",
        ("run", "suite.yaml", "--store", "none"),
        "suite.yaml, line 1, field app: 'json:dmps': json has no 'dmps'; did you mean 'dumps'?",
    ),
    "the judge is misspelt in the suite": (
        f"judge_model: offline/jugde\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field judge_model: model 'offline/jugde': there is no embedded model of this name; did "
        "you mean 'offline/judge'?",
    ),
    "a gate is misspelt": (
        f"settings: {{gate: passs}}\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field settings.gate: found 'passs'; use pass or not_fail.",
    ),
    "a setting has the name of another tool": (
        f"settings: {{budget: 3}}\n{SUITE}",
        RUN,
        "suite.yaml, line 1, field settings.budget: there is no field 'budget' here; did you mean 'max_cost_usd'?",
    ),
}
