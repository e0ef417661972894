"""Help texts of the settings for traces."""

from simeval.core.addresses import require_listening
from simeval.core.setting_checks import require_seconds
from simeval.core.setting_field import SURROUNDINGS, about

OUT = about(
    SURROUNDINGS,
    "Export the run as OpenTelemetry spans: to where OTEL_* variables say, or the program's own provider.",
    flag="--trace-out",
    unset="to nobody",
)
IN = about(
    SURROUNDINGS,
    "Receive the app's own OpenTelemetry spans at this address, to see which tools it runs.",
    flag="--trace-in",
    metavar="HOST:PORT",
    unset="not at all",
    check=require_listening,
)
WAIT = about(
    SURROUNDINGS, "Seconds to wait for a trial's spans, at most.", flag="--trace-in-wait", check=require_seconds
)
