"""Hosts of requests: the page where one is opened, worked out from a remote, and GitHub's `gh`."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import quote, urlencode, urlsplit

from gitmem.core.text import one_line

Kind = Literal["github", "gitlab", "bitbucket", "gitea"]

_SCP = re.compile(r"(?:[^@/\s]+@)?(?P<host>\[?[^:/@\s]+\]?):(?!//)(?P<path>\S+)")
_HOST = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?")
_PART = re.compile(r"\.?[A-Za-z0-9_~][A-Za-z0-9._~-]*")
_SAME = {
    "ssh.github.com": "github.com",
    "altssh.gitlab.com": "gitlab.com",
    "altssh.bitbucket.org": "bitbucket.org",
}
"""Hosts that only serve ssh over port 443, and whose pages they are."""


@dataclass(frozen=True)
class Host:
    """A repository as its host shows it.

    Attributes:
        name: host, with a port where its pages have one.
        path: owner and repository, on GitLab with all groups between.
        scheme: `https`, or `http` where the remote is.
    """

    kind: Kind
    name: str
    path: str
    scheme: str = "https"

    @property
    def repository(self) -> str:
        """What `gh --repo` takes: `host/owner/repository`."""
        return f"{self.name}/{self.path}"

    def link(self, base: str, branch: str) -> str:
        """The page on which a request from one branch into another is opened.

        Args:
            base, branch: short names.
        """
        top = f"{self.scheme}://{self.name}/{self.path}"
        one, other = quote(base, safe="/"), quote(branch, safe="/")
        if self.kind == "github":
            return f"{top}/compare/{one}...{other}?expand=1"
        if self.kind == "gitea":
            return f"{top}/compare/{one}...{other}"
        if self.kind == "gitlab":
            asked = {"merge_request[source_branch]": branch, "merge_request[target_branch]": base}
            return f"{top}/-/merge_requests/new?{urlencode(asked)}"
        return f"{top}/pull-requests/new?{urlencode({'source': branch, 'dest': base})}"


def find_host(url: str) -> Host | None:
    """The host that a remote's address belongs to; None where it is none that is known.

    Credentials in the address are dropped. A host of one's own is known by its name (`gitlab.example.com`).
    """
    found = _split(url)
    if found is None:
        return None
    scheme, name, path = found
    name = _SAME.get(name, name)
    parts = path.strip("/").removesuffix(".git").split("/")
    kind = _kind(name.partition(":")[0])
    fits = len(parts) >= 2 if kind == "gitlab" else len(parts) == 2
    if kind is None or not fits or not _HOST.fullmatch(name) or not all(map(_PART.fullmatch, parts)):
        return None
    return Host(kind, name, "/".join(parts), scheme)


def _split(url: str) -> tuple[str, str, str] | None:
    """Scheme of the pages, host and path."""
    if "://" not in url:
        scp = _SCP.fullmatch(url)
        return ("https", scp["host"].lower(), scp["path"]) if scp else None
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if parts.scheme not in ("https", "http", "ssh", "git+ssh", "git"):
        return None
    web = parts.scheme in ("https", "http")
    name = f"{host}:{port}" if web and port else host
    return ("http" if parts.scheme == "http" else "https", name, parts.path)


def _kind(host: str) -> Kind | None:
    labels = host.split(".")
    if "github" in labels or host.endswith(".ghe.com"):
        return "github"
    if "gitlab" in labels:
        return "gitlab"
    if "bitbucket" in labels:
        return "bitbucket"
    known = {"gitea", "forgejo", "codeberg"}
    return "gitea" if known & set(labels) else None


TIMEOUT = 60.0
"""Seconds for one run; it talks to the host."""

_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "NO_COLOR": "1", "GH_PAGER": "cat"}
_URL = re.compile(r"https?://[\x21-\x7e]+")


class GhFailed(Exception):
    """It could not; the message says why, on one line."""


@dataclass(frozen=True)
class Gh:
    """The program, and where it runs.

    Attributes:
        program: absolute path.
        folder: a folder of gitmem's own: nothing there tells `gh` what to do.
    """

    program: str
    environ: Mapping[str, str] = field(repr=False)
    folder: Path

    def open(self, host: Host, base: str, branch: str, title: str, body: str) -> tuple[str, str]:
        """Opens a request, or updates the one that is open.

        Args:
            base, branch: short names.

        Returns:
            `created` or `updated`, and its address.

        Raises:
            GhFailed: it could not; nothing was opened.
        """
        where = ["--repo", host.repository]
        number, url = self._open_one(where, base, branch)
        with tempfile.TemporaryDirectory(dir=self.folder, prefix="request-") as folder:
            text = Path(folder) / "body.md"
            text.write_text(body, encoding="utf-8", errors="replace")
            said = ["--title", title, "--body-file", str(text)]
            if number is not None:
                self._run(["pr", "edit", str(number), *where, *said])
                return "updated", url
            done = self._run(["pr", "create", *where, "--base", base, "--head", branch, *said])
        found = _URL.findall(done)
        if not found:
            raise GhFailed("it gave no address")
        return "created", found[-1]

    def _open_one(self, where: Sequence[str], base: str, branch: str) -> tuple[int | None, str]:
        wanted = ["--head", branch, "--base", base, "--state", "open", "--limit", "20"]
        text = self._run(["pr", "list", *where, *wanted, "--json", "number,url,isCrossRepository"])
        try:
            rows = json.loads(text or "[]")
        except ValueError:
            raise GhFailed("its answer cannot be read") from None
        for row in rows if isinstance(rows, list) else ():
            if not isinstance(row, dict) or row.get("isCrossRepository"):
                # A branch of the same name in somebody's fork is another request.
                continue
            number, url = row.get("number"), row.get("url")
            if isinstance(number, int) and isinstance(url, str) and _URL.fullmatch(url):
                return number, url
        return None, ""

    def _run(self, words: Sequence[str]) -> str:
        try:
            done = subprocess.run(
                [self.program, *words],
                cwd=self.folder,
                env={**self.environ, **_QUIET},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=TIMEOUT,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GhFailed(f"it took longer than {TIMEOUT:g} seconds") from None
        except OSError as error:
            raise GhFailed(f"it cannot be started: {error.strerror}") from None
        if done.returncode:
            raise GhFailed(one_line(done.stderr.decode("utf-8", "replace"), 200) or "it gave no reason")
        return done.stdout.decode("utf-8", "replace")


def find_gh(environ: Mapping[str, str], worktree: Path | None, folder: Path) -> Gh | None:
    """Finds `gh` on the person's PATH; one that a repository brings along is not run.

    Args:
        worktree: of the repository.
        folder: where it is to run.
    """
    absolute = [part for part in environ.get("PATH", "").split(os.pathsep) if Path(part).is_absolute()]
    found = shutil.which("gh", path=os.pathsep.join(absolute)) if absolute else None
    if found is None:
        return None
    if worktree is not None and any(
        path.is_relative_to(root)
        for path in (Path(found), Path(found).resolve())
        for root in (worktree, worktree.resolve())
    ):
        return None
    kept = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    return Gh(found, kept, folder)
