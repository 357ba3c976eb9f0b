"""Where on the web a request is opened: the page of a host, worked out from a remote's address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, urlencode, urlsplit

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
