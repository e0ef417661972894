"""Options made of settings, each from its field's description, and help that shows them in their groups."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, fields
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, get_origin

import click
from click.core import ParameterSource

from simeval.cli.usage import ALL, Misused, help_all
from simeval.core.app_handler import APP_FORMS
from simeval.core.setting_field import NO_STORE, about_of, alternatives, check, choices
from simeval.core.settings import DEFAULTS, MARGIN, Settings
from simeval.core.validation import require_size, require_whole
from simeval.errors import DefinitionError

F = TypeVar("F", bound=Callable[..., Any])

CHOSEN = "__simeval_settings__"  # on a command's function: the settings that it has options for, with their helps
OVERRIDES = "simeval.settings"  # the key of the written settings in a command's context
_UNWRITTEN = (ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)
_SETTINGS = {each.name: each for each in fields(Settings)}
_OF_SETTINGS = {  # options, by the names that settings and models have in files and in Python
    **{name.replace("_", "-"): about_of(each).flag.removeprefix("--") for name, each in _SETTINGS.items()},
    "sample-size": "samples",
    "user-simulator-model": "user-model",
}


FIRST_WEEK = frozenset(  # the settings that a long help shows at once; --help-all shows the others
    ("significance_level", "gate", "seed", "concurrency", "max_cost_usd", "store", "resume")
)
LATER = frozenset(  # the other options that it does not show at once
    (
        *("plan_from", "aa", "junit_path", "sarif_path", "margin", "address", "actors", "simulated", "must_not"),
        *("log_level", "log_format", "color", "quiet", "verbose", "traits", "encoder", "sentiment_model", "median"),
    )
)
MOST_SHOWN = 20


class SettingOption(click.Option):
    """The option of a setting: `overrides` has it if it was written, and only then."""

    def __init__(self, *args: Any, group: str, **kwargs: Any) -> None:
        super().__init__(*args, expose_value=False, callback=_keep, **kwargs)
        self.group = group


class SettingsCommand(click.Command):
    """A command whose options of settings are made when it is called: other commands need not wait for them."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        chosen: Mapping[str, str | None] = getattr(self.callback, CHOSEN, {})
        if not any(isinstance(each, SettingOption) for each in self.params):
            self.params += [_option(_SETTINGS[name], help) for name, help in chosen.items()]
        return super().get_params(ctx)


def option_named(token: str) -> str:
    """Return the name of an option, which may be written as its setting is."""
    return _OF_SETTINGS.get(token) or token


class GroupedCommand(SettingsCommand):
    """A command whose help shows its own options first, and those of settings in their groups.

    Of many options it shows those of a first week; --help-all shows all.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        found = super().get_params(ctx)
        if len(found) > MOST_SHOWN and not any(each.name == "help_all" for each in found):
            help_all(self)
            found = super().get_params(ctx)
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; a file behind an option whose value may be left out is the suite: --aa suite.yaml."""
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option) and _may_stand_alone(each)]
        alone = {flag: each for each in options for flag in each.opts}
        for place, (flag, value) in enumerate(pairwise(args)):
            if flag in alone and not _is_value(alone[flag], value, ctx) and Path(value).exists():
                args[place] = f"{flag}={alone[flag].flag_value}"
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        params = self.get_params(ctx)
        is_all = ctx.meta.get(ALL) or len(params) <= MOST_SHOWN
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for each in params:
            if isinstance(each, click.Option) and (is_all or _is_of_first_week(each)):
                group = each.group if is_all and isinstance(each, SettingOption) else "Options"
                groups.setdefault(group, []).extend(filter(None, [each.get_help_record(ctx)]))
        for title, records in groups.items():
            with formatter.section(title):
                formatter.write_dl(records)


def _may_stand_alone(option: click.Option) -> bool:
    return not option.is_flag and isinstance(option.flag_value, str)


def _is_value(param: click.Parameter, written: str, ctx: click.Context) -> bool:
    try:
        param.type.convert(written, param, ctx)
    except click.UsageError:
        return False
    return True


def _is_of_first_week(option: click.Option) -> bool:
    return option.name in FIRST_WEEK if isinstance(option, SettingOption) else option.name not in LATER


def setting_options(*names: str, **helps: str) -> Callable[[F], F]:
    """Add the options of these settings, by default of all that have one; `helps` replaces the help of some.

    The command is to be a SettingsCommand.
    """

    def add(command: F) -> F:
        chosen = names or [name for name, each in _SETTINGS.items() if about_of(each).flag]
        setattr(command, CHOSEN, {name: helps.get(name) for name in chosen})
        return command

    return add


app_option = click.option("--app", help=f"The app: {APP_FORMS}.  [default: the suite's]")
judge_option = click.option(
    "--judge-model",
    multiple=True,
    help="LiteLLM name of the judge; give several for a panel, whose mean rating counts.  [default: offline/judge]",
)
user_option = click.option("--user-model", help="LiteLLM name of the simulated user.  [default: the judge's]")
_suite_argument = click.argument("suite", type=click.Path())
_samples_option = click.option(
    "--samples", type=click.IntRange(1), help="Trials for each scenario, whatever the suite says."
)
markdown_option = click.option(
    "--markdown",
    "markdown_path",
    metavar="PATH",
    type=click.Path(),
    help="Write the result as Markdown of at most 60 kB, for a pull request.",
)


def _file(context: click.Context, option: click.Parameter, value: str | None) -> str | None:  # noqa: ARG001
    """Take the path of a report, which is no text for standard output."""
    if value == "-":
        raise Misused(f"{option.opts[0]}: it is a file, not for standard output; name a path.")
    return value


html_option = click.option(
    "--html",
    "html_path",
    metavar="PATH",
    type=click.Path(),
    callback=_file,
    help="Write a report for the browser, with everything in one file.",
)


sarif_option = click.option(
    "--sarif",
    "sarif_path",
    metavar="PATH",
    type=click.Path(),
    callback=_file,
    help="Write attacks that succeeded as SARIF 2.1.0, for code scanning.",
)


def suite_options(command: F) -> F:
    """Add the options that choose the suite, its app and the models."""
    return _all_of(command, _suite_argument, app_option, judge_option, user_option, _samples_option)


def entrant_options(command: F) -> F:
    """Add the options that choose the suite, its apps and the models."""
    apps = click.option(
        "--app", "apps", multiple=True, required=True, metavar="APP", help="An app, as `run` takes it; give several."
    )
    return _all_of(command, _suite_argument, apps, judge_option, user_option, _samples_option)


def log_options(command: F) -> F:
    """Add the options for the level and the form of the log."""
    level = click.option(
        "--log-level",
        type=click.Choice(["debug", "info", "warning", "error"], case_sensitive=False),
        help="debug shows every prompt, reply and judge's reasoning.  [default: info]",
    )
    form = click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True)
    return _all_of(command, level, form)


def only_option(help: str) -> Callable[[F], F]:
    """Add the option that chooses scenarios of a suite."""
    return click.option("--only", "only_named", multiple=True, metavar="NAME", help=help)


def color_option(command: F) -> F:
    """Add the option for colours."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="Use colours; auto: on a terminal, unless NO_COLOR is set.",
    )(command)


quiet_option = click.option(
    "-q", "--quiet", is_flag=True, is_eager=True, help="Show the result in one line, and errors."
)


def _not_quiet(context: click.Context, option: click.Parameter, value: bool) -> bool:  # noqa: ARG001
    """Take --verbose without --quiet, which is read before it."""
    if value and context.params.get("quiet"):
        raise Misused("--verbose: there is --quiet, too; leave one of them out.")
    return value


def screen_options(command: F) -> F:
    """Add the options for the level of detail, and for colours."""
    verbose = click.option(
        "-v",
        "--verbose",
        is_flag=True,
        callback=_not_quiet,
        help="Show everything: what each requirement accepts, and every test.",
    )
    return _all_of(command, quiet_option, verbose, color_option)


def markdown_options(command: F) -> F:
    """Add the options for a Markdown report, and for the baseline of its changes."""
    baseline = click.option(
        "--baseline",
        metavar="RUN",
        help="For Markdown: say what changed since this run (as `simeval compare` takes it).",
    )
    return _all_of(command, markdown_option, baseline)


def baseline_options(command: F) -> F:
    """Add the options for a baseline, and for a Markdown report."""
    baseline = click.option(
        "--baseline",
        metavar="FILE|RUN",
        help="Also require proof that this is no worse than a run that --json wrote, or of the store; Markdown has "
        "the changes. Without --seed its seed is taken.",
    )
    against = click.option(
        "--against",
        metavar="FILE|RUN|APP",
        help="Instead of the bars, prove that this is no worse than that run, which --json wrote or the store has, or "
        "than that app, which is asked beside it: in pairs, until that or the contrary is proven.",
    )
    margin = click.option(
        "--margin",
        type=float,
        help=f"With --baseline or --against: the loss of a share that is tolerated.  [default: {MARGIN}]",
    )
    return _all_of(command, markdown_option, baseline, against, margin)


def _all_of(command: F, *options: Callable[[F], F]) -> F:
    for option in reversed(options):
        command = option(command)
    return command


def json_option(what: str) -> Callable[[F], F]:
    """Add the option that writes `what` was found for programs."""
    help = f"Write the {what} as JSON; to standard output without a PATH, or with -."
    return click.option(
        "--json", "json_path", metavar="[PATH]", type=click.Path(), is_flag=False, flag_value="-", help=help
    )


def store_option(help: str) -> Callable[[F], F]:
    """Add the option of a store that is read: the project's, if it has one."""
    return click.option("--store", default=store_of_project, show_default=str(DEFAULTS.store), help=help)


def level_option(help: str) -> Callable[[F], F]:
    """Add the option of a significance level: the project's, if it has one."""
    usual = DEFAULTS.significance_level
    return click.option("--alpha", type=float, default=level_of_project, show_default=str(usual), help=help)


def store_of_project() -> str:
    """Return the store in the settings of the project here, or the usual one; a run reports mistakes in these."""
    return str(_of_project().store)


def level_of_project() -> float:
    """Return the significance level that the project here sets, or the usual one."""
    return _of_project().significance_level


def _of_project() -> Settings:
    file = Path("pyproject.toml")
    try:
        if not file.is_file() or "simeval" not in file.read_text(encoding="utf-8"):
            return DEFAULTS
        from simeval.suites.project import read_project  # takes a while to load

        return read_project(Path()).settings
    except (DefinitionError, OSError, ValueError):
        return DEFAULTS


def overrides(context: click.Context) -> dict[str, Any]:
    """Return the settings that were written, as the settings have them. Raises DefinitionError."""
    found = {name: _READ[name](value) if name in _READ else value for name, value in _written(context).items()}
    for name, value in found.items():
        if name in _SETTINGS and isinstance(value, (int, float, str)):
            _check(_SETTINGS[name], value)
    return found


def _check(setting: "Field[Any]", value: object) -> None:
    """Raise DefinitionError, by the option's name, for a value that its setting cannot have."""
    try:
        check(setting, value)
    except DefinitionError as error:
        raise DefinitionError(about_of(setting).flag or setting.name, found=error.found, do=error.do) from error


def written_flags(context: click.Context) -> Mapping[str, str]:
    """Return the options that were written, by the names of their values, as they were written."""
    found = {}
    for each in context.command.params:
        if each.name and context.get_parameter_source(each.name) not in _UNWRITTEN:
            value = _written(context).get(each.name, context.params.get(each.name))
            found[each.name] = each.secondary_opts[0] if each.secondary_opts and not value else each.opts[0]
    return found


def _written(context: click.Context) -> dict[str, Any]:
    found: dict[str, Any] = context.meta.setdefault(OVERRIDES, {})
    return found


def _keep(context: click.Context, option: click.Parameter, value: Any) -> None:
    if option.name and context.get_parameter_source(option.name) not in _UNWRITTEN:
        _written(context)[option.name] = value


def _option(setting: "Field[Any]", help: str | None) -> SettingOption:
    said, default, few = about_of(setting), setting.default, choices(setting.type)
    flag, more = said.flag, {}
    if True in few:
        flag = f"{flag}/--no-{flag.removeprefix('--')}" if said.is_of_a_suite else flag
        more["is_flag"] = True
    elif get_origin(alternatives(setting.type)[0]) is not None and not few:
        more["multiple"] = True
        default = None
    unset = f"  [default: {said.unset}]" if default is None and said.unset else ""
    return SettingOption(
        [flag, setting.name],
        group=said.group,
        type=_type(setting, few),
        default=str(default) if isinstance(default, Path) else default,
        show_default=bool(default),
        metavar=said.metavar,
        help=(help or said.help) + unset,
        **more,
    )


def _type(setting: "Field[Any]", few: Sequence[Any]) -> Any:
    kinds = alternatives(setting.type)
    if few:
        return bool if True in few else click.Choice([each for each in few if each is not None])
    if int in kinds:
        return click.IntRange(1) if about_of(setting).check in (require_whole, require_size) else int
    return float if float in kinds else str


def _model_options(flag: str, texts: Sequence[str]) -> dict[str, Any]:
    return dict(_model_option(flag, text) for text in texts)


def _model_option(flag: str, text: str) -> tuple[str, Any]:
    """Read NAME=VALUE; a value that is JSON (a number, true, an object) is taken as such."""
    name, sign, value = text.partition("=")
    if not sign or not name:
        raise DefinitionError(flag, found=f"found {text!r}", do="write NAME=VALUE")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _prompts(texts: Sequence[str]) -> dict[str, Path]:
    found = {}
    for text in texts:
        name, sign, file = text.partition("=")
        if not sign or not name or not file:
            raise DefinitionError("--prompt", found=f"found {text!r}", do="write NAME=FILE, such as user=user.md")
        found[name] = Path(file)
    return found


_READ: Mapping[str, Callable[[Any], Any]] = {
    "prompts": _prompts,
    "store": lambda where: None if where.lower() == NO_STORE else where,
    **{
        name: partial(_model_options, about_of(_SETTINGS[name]).flag)
        for name in ("model_options", "judge_options", "user_options", "app_options")
    },
}
