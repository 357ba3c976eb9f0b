"""Writes what `git mem check --code` found into one comment on a pull request of GitHub, for the Action.

    TOKEN=… NUMBER=7 GITHUB_API_URL=… GITHUB_REPOSITORY=OWNER/NAME python3 comment.py FILE

The comment that an earlier run of the same account made is changed, nobody else's. A host that says no, as
to the token of a request from a fork, which may only read, fails no check: it is said as a warning. The
standard library alone, since it runs on whatever Python the runner has.
"""

import json
import os
import pathlib
import sys
import urllib.error
import urllib.request

MARK = "<!-- gitmem check --code -->"
RUNNER = "github-actions[bot]"
"""Who a runner's own token acts as, where the host does not say."""

PAGE = 100
SECONDS = 60
ANSWER_BYTES = 64 * 1024 * 1024


def main() -> int:
    """Writes, changes or leaves the comment."""
    text = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    try:
        _write(text)
    except urllib.error.HTTPError as error:
        need = " (the token needs `pull-requests: write`)" if error.code in (401, 403, 404) else ""
        _warn(f"the host refused the comment: {error.code}{need}")
    except OSError as error:
        _warn(f"the comment could not be written: {error}")
    except (ValueError, KeyError, TypeError):
        # What is said of a header that cannot be sent would show the token.
        _warn("the comment could not be written: the token or the host's answer is not as it should be")
    return 0


def _write(text: str) -> None:
    comments = f"/issues/{int(os.environ['NUMBER'])}/comments"
    mine = _mine(comments)
    if text:
        body = f"{MARK}\n{text}"
    elif mine is not None:
        body = f"{MARK}\nThe check finds no memory of the project that this change still makes false."
    else:
        return
    if mine is None:
        _repository(comments, "POST", {"body": body})
    else:
        _repository(f"/issues/comments/{mine}", "PATCH", {"body": body})


def _mine(comments: str) -> "int | None":
    """The comment that this account made before, wherever it stands among the others."""
    me, page = _who(), 1
    while True:
        found = _repository(f"{comments}?per_page={PAGE}&page={page}")
        for one in found:
            author = (one.get("user") or {}).get("login")
            if author == me and (one.get("body") or "").startswith(MARK):
                return int(one["id"])
        if len(found) < PAGE:
            return None
        page += 1


def _who() -> str:
    """Who the token acts as. An App's may not ask REST's `/user`, and may ask GraphQL for the viewer."""
    api = os.environ["GITHUB_API_URL"]
    url = os.environ.get("GITHUB_GRAPHQL_URL") or f"{api}/graphql"
    try:
        return str(_ask(url, "POST", {"query": "{viewer{login}}"})["data"]["viewer"]["login"])
    except (urllib.error.HTTPError, KeyError, TypeError):
        return RUNNER


def _repository(path: str, method: str = "GET", value: object = None):
    api, name = os.environ["GITHUB_API_URL"], os.environ["GITHUB_REPOSITORY"]
    return _ask(f"{api}/repos/{name}{path}", method, value)


def _ask(url: str, method: str = "GET", value: object = None):
    data = None if value is None else json.dumps(value).encode()
    token = os.environ["TOKEN"].strip()
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    asked = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(asked, timeout=SECONDS) as answer:
        return json.loads(answer.read(ANSWER_BYTES))


def _warn(message: str) -> None:
    line = " ".join(message.split())[:300].replace("%", "%25")
    print(f"::warning title=gitmem::{line}; what it would say is in the summary of this run")


if __name__ == "__main__":
    sys.exit(main())
