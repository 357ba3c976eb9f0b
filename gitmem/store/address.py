"""Addresses of repositories as people type them: made absolute, checked, and shown without credentials."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

from gitmem.core.errors import UsageError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_HELPER = re.compile(r"([A-Za-z0-9][A-Za-z0-9+.-]*)::")
_SCP = re.compile(r"(?:[^@/]+@)?([^:/]+):(?!//)(.+)")
_USERINFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)(?P<user>[^/\s]*)@")

COMMANDS = frozenset({"ext", "fd"})
"""Transports that run what the address says; git refuses them by default (`protocol.ext.allow`)."""


def normalise_url(url: str, folder: Path) -> str:
    """A remote's URL without what differs between two people's clones: scheme, user, port, `.git`.

    Args:
        folder: what a relative path is relative to.
    """
    scp = _SCP.fullmatch(url)
    if scp and "://" not in url:
        host, path = scp.groups()
    else:
        try:
            parts = urlsplit(url)
            host, path = parts.hostname or "", parts.path
        except ValueError:
            host, path = "", url
    if not host:
        path = str((folder / path).resolve())
    path = path.strip("/").removesuffix(".git").strip("/")
    return f"{host.lower()}/{path}" if host else path


def same_place(one: str, other: str, folder: Path) -> bool:
    """Whether two addresses plainly name one repository; hosts hide many other ways to write one."""
    return _plain(one, folder) == _plain(other, folder)


def checked_address(text: str, cwd: Path) -> str:
    """An address that git may be given: a path is made absolute, anything else stays as it is.

    Args:
        text: as a person typed it.
        cwd: what a relative path is relative to.

    Raises:
        UsageError: it is an option, a transport that runs commands, or no address.
    """
    helper = _HELPER.match(text)
    if not text or text.startswith("-") or not text.isprintable():
        raise UsageError(f"{text!r} is no address of a repository", _HINT)
    if helper and helper[1].lower() in COMMANDS:
        raise UsageError(f"{helper[1]}:: runs commands: it is not used", _HINT)
    scp = _SCP.fullmatch(text)
    if helper or _SCHEME.match(text) or (scp and not (cwd / text).exists()):
        return text
    return str((cwd / text).resolve())


def without_credentials(text: str) -> str:
    """The text with nothing secret in its addresses: no password, and over HTTP no user either."""
    return _USERINFO.sub(_user_alone, text)


def _user_alone(found: re.Match[str]) -> str:
    user = found["user"].partition(":")[0]
    # A token often stands where HTTP expects a user.
    hidden = found["scheme"].lower().startswith("http") or not user
    return found["scheme"] if hidden else f"{found['scheme']}{user}@"


def _plain(url: str, folder: Path) -> str:
    return unquote(normalise_url(_HELPER.sub("", url, count=1), folder)).casefold()


_HINT = "Name a path, or an https, ssh or file URL of a repository of yours."
