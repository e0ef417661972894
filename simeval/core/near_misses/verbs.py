"""English verbs: their bare form, and the participle used in reports."""

_IRREGULAR = {
    "be": "been", "begin": "begun", "bring": "brought", "build": "built", "buy": "bought", "choose": "chosen",
    "cut": "cut", "do": "done", "drive": "driven", "find": "found", "forget": "forgotten", "get": "got",
    "give": "given", "go": "gone", "have": "had", "hold": "held", "keep": "kept", "know": "known", "leave": "left",
    "lend": "lent", "let": "let", "make": "made", "meet": "met", "pay": "paid", "put": "put", "read": "read",
    "say": "said", "see": "seen", "sell": "sold", "send": "sent", "set": "set", "show": "shown", "speak": "spoken",
    "spend": "spent", "take": "taken", "tell": "told", "think": "thought", "understand": "understood",
    "withdraw": "withdrawn", "write": "written", "rebook": "rebooked", "cancel": "cancelled", "refer": "referred",
    "transfer": "transferred", "submit": "submitted", "stop": "stopped", "drop": "dropped", "ship": "shipped",
    "swap": "swapped", "plan": "planned", "permit": "permitted", "commit": "committed", "skip": "skipped",
}  # fmt: skip
_BARE = {"is": "be", "are": "be", "has": "have", "does": "do", "goes": "go"}
_SILENT = ("c", "dg", "rg", "s", "v", "z", "at", "ir", "ak", "ad", "uc")  # stems that end in a silent e
_PAST = {past: verb for verb, past in _IRREGULAR.items() if past != verb}


def bare(verb: str) -> str:
    """Return the bare form of a verb in the third person, in the past or with -ing."""
    if verb in _BARE or verb in _PAST:
        return _BARE.get(verb) or _PAST[verb]
    for ending in ("ing", "ed"):
        if verb.endswith(ending) and len(verb) > 5 and verb not in _IRREGULAR and not verb.endswith("eed"):
            stem = verb.removesuffix(ending)
            return f"{stem}e" if stem.endswith(_SILENT) and stem not in _IRREGULAR else stem
    if verb.endswith("ies"):
        return f"{verb[:-3]}y"
    if verb.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return verb[:-2]
    return verb[:-1] if verb.endswith("s") and not verb.endswith("ss") else verb


def participle(verb: str) -> str:
    """Return the participle of a bare verb."""
    if verb in _IRREGULAR:
        return _IRREGULAR[verb]
    if verb.endswith("e"):
        return f"{verb}d"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ied"
    return f"{verb}ed"
