"""How a fake endpoint answers, and the requests it has seen."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Role = Literal["user", "judge", "rubric", "control", "canary", "app", "scorer", "audit", "proposal"]
"""The role in which a fake model is asked."""

Fault = Literal[
    "error_500",
    "rate_limited",
    "malformed",
    "truncated",
    "hang",
    "auth",
    "bad_request",
    "html",
    "content_filter",
    "reset",
    "huge",
]
"""The fault of a fake endpoint: a status, a broken answer, or none."""

FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass(slots=True, kw_only=True)
class Behaviour:
    """How a fake endpoint answers; it may be changed while the endpoint runs.

    Each of the numbers named as a fault is the share of requests (0 to 1) that it strikes, drawn from `seed`, among
    those of `faulty_roles`. `first_faults` strike the first such requests, before any is drawn; "" lets one pass.
    `retry_after` is the header of a 429, None leaves it out; `refusal` is the text of a 401. `echo_key` puts the
    caller's API key into the text of every error. More than `max_rps` requests within a second are answered with 429.
    With `reads` the answers depend on the prompt alone: each of the user's messages has a number made from it, and the
    judge rates by the app's replies. A judge that is `credulous` rates controls as it does all else. `prompts` maps the
    beginnings of other programs' system prompts to the roles they ask for; an unknown one asks for the app.
    """

    latency_seconds: float = 0.0
    user_messages: int = 3
    score: float = 8
    credulous: bool = False
    error_500: float = 0.0
    rate_limited: float = 0.0
    malformed: float = 0.0
    truncated: float = 0.0
    hang: float = 0.0
    auth: float = 0.0
    bad_request: float = 0.0
    html: float = 0.0
    content_filter: float = 0.0
    reset: float = 0.0
    huge: float = 0.0
    first_faults: tuple[Fault | Literal[""], ...] = ()
    faulty_roles: tuple[Role, ...] = get_args(Role)
    retry_after: str | None = "0.05"
    refusal: str = "Incorrect API key provided"
    echo_key: bool = False
    max_rps: float | None = None
    reads: bool = False
    seed: int = 0
    prompts: Mapping[str, Role] = field(default_factory=dict)


@dataclass(slots=True)
class EndpointStats:
    """The requests a fake endpoint has seen. Read it when no request is under way, or take it as approximate."""

    requests: int = 0
    by_role: Counter[Role] = field(default_factory=Counter)
    faults: Counter[Fault] = field(default_factory=Counter)
    in_flight: int = 0
    peak_in_flight: int = 0
    saw_authorization: bool = False
