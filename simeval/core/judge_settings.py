"""Help texts of the settings for judges."""

from simeval.core.setting_checks import require_path
from simeval.core.setting_field import VERDICTS, about
from simeval.core.validation import require_whole

CONTEXT = about(
    VERDICTS,
    "Tokens of a conversation that judges are shown; of a longer one the middle is left out, and of long messages.",
    flag="--judge-context",
    unset="all of it",
    check=require_whole,
)
EXAMPLES = about(
    VERDICTS,
    "Conversations that people labelled (a file of `simeval people agree --sample`): judges are shown a few of them.",
    flag="--judge-examples",
    metavar="FILE",
    unset="none",
    check=require_path,
)
