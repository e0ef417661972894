"""The values of settings with only a few values."""

from collections.abc import Sequence
from typing import Literal, get_args

OnAppError = Literal["fail", "exclude", "stop"]
OnFailedControl = Literal["refuse", "warn", "off"]
OnUserFault = Literal["missing", "retry", "count"]
UserFormat = Literal["json", "text"]
EarlyStopping = bool | Literal["anytime"]
Gate = Literal["pass", "not_fail"]
StopAt = Literal["fewest", "unlikely", "gate", "verdict"]  # the modes that evaluators know
Stop = Literal["fewest", "unlikely", "reachable", "gate", "verdict"]
Standard = Literal["judge", "people"]  # whose rate a requirement is on
Order = Literal["file", "round-robin", "history"]  # in which scenarios get their trials
CriteriaCalls = Literal["all", "each"]
JudgeReply = Literal["json", "label"]
TraceOut = Literal["otlp", "global"]
ModelRole = Literal["judge", "user", "app"]  # whose options a model gets; rubrics and scorers are the judge's
ROLES: Sequence[ModelRole] = get_args(ModelRole)
