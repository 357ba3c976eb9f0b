"""Which engine is in force and why, what it would send where, and what it lacks: values in, a value out."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from gitmem.engines.anthropic_api.settings import DEFAULT_MODEL, OFFICIAL_URL

EngineName = Literal["offline", "anthropic", "claude-code"]
ENGINES: tuple[EngineName, ...] = ("offline", "anthropic", "claude-code")

KEY_VARIABLE = "ANTHROPIC_API_KEY"
URL_VARIABLE = "ANTHROPIC_BASE_URL"

_SENT = (
    "messages of sessions in this repository since the last extraction, with their history",
    "names and descriptions of memories",
)
_READ = "files that it asks to read, inside the repository"
_WITHHELD = (
    "<private> spans, messages that gitmem.ignore matches, what was said in a pause, secrets that are found"
)


@dataclass(frozen=True)
class Found:
    """What the edges found on this machine.

    Attributes:
        values: `gitmem.*` settings that count, lower-cased key without `gitmem.` to value.
        environ: the person's environment.
        sdk: whether the Anthropic SDK can be imported.
        program: path of the person's own `claude`; empty where there is none.
    """

    values: Mapping[str, str]
    environ: Mapping[str, str]
    sdk: bool = True
    program: str = ""


@dataclass(frozen=True)
class Missing:
    """What keeps an engine from working, and what to do about it."""

    what: str
    remedy: str


@dataclass(frozen=True)
class Choice:
    """The engine in force.

    Attributes:
        engine: its name as set; not one of `ENGINES` where the setting names none.
        why: where that comes from, in words.
        model: empty where it has none, or the session's own is taken.
        endpoint: where it sends to, as it may be shown; empty for nowhere.
        base_url: the same as it was set; empty where it is no address, or the program's own business.
        program: the program that it runs; empty for none.
        key: the API key to send; empty for none. Never shown.
        sends: what leaves this machine, one line each.
        withheld: what of that is kept back.
        missing: what it lacks; empty where it can work.
        notes: what a person should know besides.
    """

    engine: str
    why: str
    model: str = ""
    endpoint: str = ""
    base_url: str = field(default="", repr=False)
    program: str = ""
    key: str = field(default="", repr=False)
    sends: tuple[str, ...] = ()
    withheld: str = ""
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """What it sends where, in one sentence."""
        if not self.sends:
            return "nothing leaves this machine"
        return f"{', '.join(self.sends)}, to {self.endpoint}"


def choose(found: Found) -> Choice:
    """Says which engine is in force.

    `gitmem.baseUrl` and `gitmem.model` come from the person's own configuration alone (settings.PERSONAL);
    the environment gives the key and nothing else, since a repository's files can set the rest.
    """
    name = _last(found.values, "engine")
    why = f"gitmem.engine is {name}" if name else "gitmem.engine is not set"
    if name == "anthropic":
        return _anthropic(found, why)
    if name == "claude-code":
        return _claude_code(found, why)
    if name in ("", "offline"):
        return Choice("offline", why)
    known = Missing(f"there is no engine {name!r}", f"Choose one: git mem engine set {'|'.join(ENGINES)}")
    return Choice(name, why, missing=(known,))


def endpoint_problem(url: str) -> Missing | None:
    """Why nothing is sent to an address; None where it may be."""
    parts = _split(url)
    if parts is None or parts.scheme not in ("https", "http") or not parts.hostname:
        return Missing(
            "gitmem.baseUrl is no address of a server",
            "Give e.g. https://models.example.com or http://127.0.0.1:8080",
        )
    if parts.username or parts.password:
        return Missing(
            "gitmem.baseUrl holds a name or password",
            f"Take it out, and put the key into {KEY_VARIABLE}.",
        )
    if parts.scheme == "http" and not on_this_machine(url):
        return Missing(
            f"{parts.hostname} would be sent the key and what was said unencrypted",
            "Use https, or reach it through a tunnel (ssh -L) as http://127.0.0.1:PORT",
        )
    return None


def on_this_machine(url: str) -> bool:
    """Whether an address is the machine's own loopback, by its form: no name is looked up."""
    parts = _split(url)
    host = (parts.hostname or "") if parts else ""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown_address(url: str) -> str:
    """An address without name, password and query."""
    parts = _split(url)
    if parts is None or not parts.hostname:
        return "an address that cannot be read"
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    port = f":{parts.port}" if parts.port else ""
    return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


def _anthropic(found: Found, why: str) -> Choice:
    url = _last(found.values, "baseurl") or OFFICIAL_URL
    key = found.environ.get(KEY_VARIABLE, "").strip()
    missing: list[Missing] = []
    if problem := endpoint_problem(url):
        missing.append(problem)
    local = on_this_machine(url)
    if not key and not local:
        missing.append(Missing(f"{KEY_VARIABLE} is not set", f"Put your key into {KEY_VARIABLE}."))
    if not found.sdk:
        missing.append(Missing("the package `anthropic` is not installed", "pip install anthropic"))
    notes = _environment_notes(found, url)
    if not key and local:
        notes = (*notes, f"{KEY_VARIABLE} is not set; the server on this machine gets none")
    return Choice(
        "anthropic",
        why,
        model=_last(found.values, "model") or DEFAULT_MODEL,
        endpoint=shown_address(url),
        base_url=url,
        key=key,
        sends=(*_SENT, _READ),
        withheld=_WITHHELD,
        missing=tuple(missing),
        notes=notes,
    )


def _claude_code(found: Found, why: str) -> Choice:
    missing: list[Missing] = []
    if not found.program:
        remedy = "Install Claude Code, and see that `claude` is on PATH."
        missing.append(Missing("there is no program `claude`", remedy))
    other = found.environ.get(URL_VARIABLE, "").strip()
    mine = _last(found.values, "baseurl")
    if other and other.rstrip("/") != mine.rstrip("/") and not on_this_machine(other):
        # The fork would follow it, to where the session itself may never have sent anything.
        missing.append(
            Missing(
                f"{URL_VARIABLE} is {shown_address(other)} in the environment, which a repository can set",
                "Take it out, or if it is yours: git config --global gitmem.baseUrl ADDRESS",
            )
        )
    model = _last(found.values, "model")
    notes = ["the history goes as the session sent it before, <private> spans included"]
    if model:
        notes.append(f"gitmem.model ({model}) is not used: a fork needs its session's model")
    return Choice(
        "claude-code",
        why,
        endpoint=shown_address(other) if other else "wherever your own claude sends its sessions",
        program=found.program,
        sends=("a fork of the session that was just held, with its whole history", _SENT[1]),
        missing=tuple(missing),
        notes=tuple(notes),
    )


def _environment_notes(found: Found, url: str) -> tuple[str, ...]:
    other = found.environ.get(URL_VARIABLE, "").strip()
    if not other or other.rstrip("/") == url.rstrip("/"):
        return ()
    return (
        f"{URL_VARIABLE} in the environment says {shown_address(other)} and is not followed, since a "
        "repository can set it; if you mean it: git mem engine set anthropic --base-url ADDRESS",
    )


def _last(values: Mapping[str, str], key: str) -> str:
    return values.get(key, "").rsplit("\n", 1)[-1].strip()


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    return None if any(c.isspace() or not c.isprintable() for c in url) else parts
