"""Keep one comment of a pull request up to date: the one with a hidden marker, which is written where there is none.

It reads what GitHub sets in a job (GITHUB_API_URL, GITHUB_REPOSITORY, GITHUB_EVENT_PATH, GITHUB_TOKEN) and needs
nothing but Python. Without a pull request it does nothing. What GitHub refuses is a notice and no failure: the tokens
of pull requests from forks may only read, and the verdict is simeval's.
"""

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

LONGEST = 65_536  # characters that a comment may have
ON_A_PAGE, MOST_PAGES = 100, 50
TIMEOUT_SECONDS = 30
NOTICE = "::notice title=simeval::no comment: "
CUT = "\n\n(The rest is cut: the summary of the job and the HTML report have all of it.)"


@dataclass(frozen=True, slots=True)
class PullRequest:
    """The comments of one pull request."""

    api: str
    repository: str
    number: int
    token: str

    def upsert(self, marker: str, text: str) -> str:
        """Write the comment with this marker, or write it anew; return its address. Raises OSError."""
        body = {"body": fitted(marker, text)}
        for comment in self._comments():
            if str(comment.get("body") or "").startswith(marker):
                found = self._ask("PATCH", f"issues/comments/{comment['id']}", body)
                return str(found.get("html_url", ""))
        return str(self._ask("POST", f"issues/{self.number}/comments", body).get("html_url", ""))

    def _comments(self) -> Iterator[Mapping[str, Any]]:
        for page in range(1, MOST_PAGES + 1):
            found = self._ask("GET", f"issues/{self.number}/comments?per_page={ON_A_PAGE}&page={page}")
            yield from found
            if len(found) < ON_A_PAGE:
                return

    def _ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        request = Request(  # noqa: S310  (the address is GitHub's own)
            f"{self.api}/repos/{self.repository}/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        with urlopen(request, timeout=TIMEOUT_SECONDS) as reply:  # noqa: S310
            return json.load(reply)


def fitted(marker: str, text: str) -> str:
    """Return a comment with its marker that is not longer than a comment may be; a cut is said, and at a line."""
    whole = f"{marker}\n{text}"
    if len(whole) <= LONGEST:
        return whole
    kept = whole[: LONGEST - len(CUT)]
    return kept[: kept.rfind("\n")] + CUT


def marker_of(name: str) -> str:
    """Return the hidden text by which the comment of a suite is known again."""
    return f"<!-- simeval:{re.sub(r'[^A-Za-z0-9._/-]+', '-', name).replace('--', '-')} -->"


def pull_request_of(environment: Mapping[str, str]) -> PullRequest | None:
    """Return the pull request that a job is about; None where it is about none, or there is no token."""
    event, token = environment.get("GITHUB_EVENT_PATH", ""), environment.get("GITHUB_TOKEN", "")
    if not event or not token or not Path(event).is_file():
        return None
    found = json.loads(Path(event).read_text(encoding="utf-8"))
    number = (found.get("pull_request") or {}).get("number")
    if number is None:
        return None
    api = environment.get("GITHUB_API_URL", "https://api.github.com")
    return PullRequest(api, environment["GITHUB_REPOSITORY"], int(number), token)


def commented(markdown: str, name: str) -> str:
    """Comment on the pull request of this job with a file, under a name that is one suite's; say what came of it."""
    pull_request = pull_request_of(os.environ)
    if pull_request is None:
        return "no comment: this job is about no pull request, or has no token"
    if not Path(markdown).is_file():
        return f"{NOTICE}there is no {markdown}"
    text = Path(markdown).read_text(encoding="utf-8")
    try:
        return f"comment: {pull_request.upsert(marker_of(name), text)}"
    except HTTPError as error:
        may = " (the token may not write; give the job `permissions: pull-requests: write`)"
        why = may if error.code in (401, 403, 404) else ""
        return f"{NOTICE}GitHub answered {error.code}{why}; the summary has the result"
    except (OSError, ValueError) as error:
        return f"{NOTICE}GitHub cannot be asked ({error}); the summary has the result"


if __name__ == "__main__":
    sys.stdout.write(f"{commented(*sys.argv[1:])}\n")
