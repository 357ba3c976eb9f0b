"""Which engine is in force and why, what it would send where, and what it lacks: values in, a value out."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import field
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from gitmem.core.errors import EngineError
from gitmem.values import dataclass

DEFAULT_MODEL = "claude-haiku-5-5"
OFFICIAL_URL = "https://api.anthropic.com"

EngineName = Literal["agent", "offline", "anthropic", "claude-code"]
ENGINES: tuple[EngineName, ...] = ("agent", "offline", "anthropic", "claude-code")

Protocol = Literal["tools", "questions"]

PATIENCE, LOCAL_PATIENCE = 600, 1_800
"""Seconds that one answer may take, of a server elsewhere and of one on this machine: that may read a long
prompt for minutes before the first word."""

LONGEST_PATIENCE = 3_000
"""Seconds: the lock of a dream may be taken over after an hour."""

KEY_VARIABLE = "ANTHROPIC_API_KEY"
URL_VARIABLE = "ANTHROPIC_BASE_URL"
_ENDPOINT = re.compile(r"ANTHROPIC_(?:\w+_)?BASE_URL|AWS_ENDPOINT_URL\w*")
"""What leads the client elsewhere, be it to another provider's."""

_QUESTIONS = (("questions", True), ("questions", False), ("auto", True))
_DIGITS = re.compile(r"[0-9]{1,6}")

_SESSIONS = (
    "messages of sessions in this repository since the last extraction, with their history, and of each "
    "tool call what it was about and the beginning of its result"
)
_LISTED = "names and descriptions of the agent's memories, your own of the scope user among them"
_INSTRUCTIONS = "the instruction files: CLAUDE.md and AGENTS.md of the repository, and your own CLAUDE.md"
_CHOICE = (
    "prompts of up to 4,000 characters and what `recall` is asked, each with names and descriptions of at "
    "most fifty memories of all scopes and agents"
)
_READ = "memories and tracked files of the repository that it asks to read"
_DREAM = (
    "for a dream the memories of its scope, what it looks up in the sessions since the last one, and "
    "tracked files that it asks to read"
)
_TOLD = (
    "to a prompt of the session in which you said it, at most 120 tokens: your words that may last and are "
    "not in memory yet, each once"
)
_DOCUMENT = "for a living document its text, and what changed in files that it names"
_NOTES = "for notes of a session the notes as they stand"
_AT_ONCE = "what you plainly ask to remember, at once"
_SUGGESTS = (
    "of the rest two or three sentences a session are suggested: 16 of 22 were right, and with what was "
    "asked for 21 of 41 plain statements were found"
)
_PUTS = (
    "of the rest some ten sentences a session are put to its agent, which keeps or leaves them: they "
    "hold 35 of 41 plain statements"
)
_MEASURED = "(on 12 sessions that others labelled, each told by the other eleven)"
"""By tests/bench/extract_weights.py; README.md says the same."""
_FINDS = (
    "also where the model fails; of the rest what the model finds, which is not measured: git mem bench "
    "extract --engine {engine} does it on sessions that you label"
)
_NO_REQUEST = "no request of its own"
_NO_PRICE = "requests of its own to the server on this machine, up to the day's ceilings"
_REQUESTS = "requests of its own, {paid}, up to the day's ceilings"
_WITHHELD = (
    "<private> spans, messages that gitmem.ignore matches, what was said in a pause, secrets that are found"
)


@dataclass(frozen=True)
class Installed:
    """What the edges found on this machine.

    Attributes:
        values: `gitmem.*` settings that count, lower-cased key without `gitmem.` to value.
        environ: the person's environment.
        sdk: whether the Anthropic SDK can be imported.
        program: path of the person's own `claude`; empty where there is none.
        signed_in: whether that has an account to ask with.
        carried: whether a client here runs gitmem's hooks, by which its agent can be told something.
    """

    values: Mapping[str, str]
    environ: Mapping[str, str]
    sdk: bool = True
    program: str = ""
    signed_in: bool = False
    carried: bool = False


@dataclass(frozen=True)
class Missing:
    """What keeps an engine from working, and what to do about it."""

    what: str
    remedy: str


@dataclass(frozen=True)
class EngineChoice:
    """The engine in force.

    Attributes:
        engine: its name as set; not one of `ENGINES` where the setting names none.
        why: where that comes from, in words.
        model: empty where it has none, or the session's own is taken.
        endpoint: where it sends to, as it may be shown; empty for nowhere.
        base_url: the same as it was set; empty where it is no address, or the program's own business.
        program: the program that it runs; empty for none.
        key: the API key to send; empty for none. Never shown.
        proxy: what its requests go through; empty for none. It may hold a password.
        ca_file: certificates that the person trusts beside the system's; empty for none.
        patience: seconds that one answer may take; 0 where nothing is waited for.
        protocol: `tools`: the model works on a copy with tools; `questions`: extraction asks it one short
            question a sentence. Empty for an engine that has but one way.
        local: its server is on this machine.
        foreign: the model is none of Anthropic's: what it can do is not known.
        sends: what leaves this machine, one line each.
        withheld: what of that is kept back.
        missing: what it lacks; empty where it can work.
        notes: what a person should know besides.
        tells: whether agents are told what may last.
        adds: what it adds to requests that are made anyway; empty for nothing.
        learns: what it finds of what is said, with figures where they were measured.
        costs: what it costs, in words.
        more: what would learn more here, and the command for it; empty where nothing would.
    """

    engine: str
    why: str
    model: str = ""
    endpoint: str = ""
    base_url: str = field(default="", repr=False)
    program: str = ""
    key: str = field(default="", repr=False)
    proxy: str = field(default="", repr=False)
    ca_file: str = ""
    patience: int = 0
    protocol: Protocol | Literal[""] = ""
    local: bool = False
    foreign: bool = False
    sends: tuple[str, ...] = ()
    withheld: str = ""
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    tells: bool = False
    adds: str = ""
    learns: str = ""
    costs: str = _NO_REQUEST
    more: str = ""

    def lacking(self) -> EngineError:
        """Says what is missing, and what to do about it."""
        hints = [one.remedy.rstrip(".") for one in self.missing]
        return EngineError(
            f"The engine {self.engine} cannot run: {'; '.join(one.what for one in self.missing)}",
            f"{'; '.join(hints)}. Or: git mem engine set offline",
        )

    @property
    def gist(self) -> str:
        """What it does and costs, for somebody who has just begun."""
        if self.tells:
            return "agent: what you say in passing is put to the agent of that session, 120 tokens at most"
        if self.engine in ("agent", "offline"):
            return (
                f"{self.engine}: what you ask to remember is stored at once, two or three other sentences "
                "a session are suggested"
            )
        return f"{self.engine}: {self.costs}"

    @property
    def summary(self) -> str:
        """What it sends where, in one sentence."""
        if not self.sends:
            return "nothing leaves this machine"
        return f"{', '.join(self.sends)}, to {self.endpoint}"


def choose(found: Installed) -> EngineChoice:
    """Says which engine is in force.

    Address, model, certificates and how it is asked come from the person's own configuration alone
    (settings.PERSONAL); the environment gives the key, and a proxy that carries what is encrypted, but
    nothing else, since a repository's files can set the rest.
    """
    name = _last(found.values, "engine")
    why = f"gitmem.engine is {name}" if name else "gitmem.engine is not set"
    if name == "anthropic":
        return _anthropic(found, why)
    if name == "claude-code":
        return _claude_code(found, why)
    if name == "agent" or (not name and found.carried):
        return _agent(found, why)
    if name in ("", "offline"):
        why = why if name else f"{why}, and no client here runs gitmem's hooks"
        return EngineChoice(
            "offline", why, learns=f"{_AT_ONCE}; {_SUGGESTS} {_MEASURED}", more=_more(found)
        )
    known = Missing(f"there is no engine {name!r}", f"Choose one: git mem engine set {'|'.join(ENGINES)}")
    return EngineChoice(name, why, missing=(known,))


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


def _agent(found: Installed, why: str) -> EngineChoice:
    note = (
        "no client here runs gitmem's hooks, so no agent is told, and what was not asked for waits in "
        "review: git mem init adds them to Claude Code"
    )
    notes = () if found.carried else (note,)
    adds = _TOLD if found.carried else ""
    learns = f"{_AT_ONCE}; {_PUTS if found.carried else _SUGGESTS} {_MEASURED}"
    return EngineChoice(
        "agent", why, notes=notes, tells=found.carried, adds=adds, learns=learns, more=_more(found)
    )


def _more(found: Installed) -> str:
    """What would learn more than words and the agent in the session do, of what is there already."""
    if found.program and found.signed_in:
        return "claude-code, by a fork of each session: git mem engine set claude-code"
    if found.sdk and found.environ.get(KEY_VARIABLE, "").strip():
        return f"anthropic, with the key in {KEY_VARIABLE}: git mem engine set anthropic"
    return ""


def _anthropic(found: Installed, why: str) -> EngineChoice:
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
    model = _last(found.values, "model") or DEFAULT_MODEL
    patience = _last(found.values, "patience")
    if patience and not (_DIGITS.fullmatch(patience) and 0 < int(patience) <= LONGEST_PATIENCE):
        missing.append(
            Missing(
                f"gitmem.patience is {patience!r}",
                f"Give seconds, up to {LONGEST_PATIENCE:,}: git config --global gitmem.patience 900",
            )
        )
        patience = ""
    protocol = _last(found.values, "protocol") or "auto"
    if protocol not in ("auto", "tools", "questions"):
        missing.append(
            Missing(f"gitmem.protocol is {protocol!r}", "Set it to one of: auto, tools, questions.")
        )
    foreign = not model.lower().startswith("claude")
    proxy = _proxy(found.environ, url)
    bad_proxy = bool(proxy) and urlsplit(proxy).scheme not in ("http", "https")
    if bad_proxy:
        what = f"the proxy {shown_address(proxy)} is none of http or https"
        missing.append(Missing(what, "Set HTTPS_PROXY to another, or NO_PROXY to leave it out."))
    elif proxy:
        notes = (*notes, f"it goes through the proxy {shown_address(proxy)}, which sees the address alone")
    if not key and local:
        notes = (*notes, f"{KEY_VARIABLE} is not set; the server on this machine gets none")
    return EngineChoice(
        "anthropic",
        why,
        model=model,
        endpoint=shown_address(url),
        base_url=url,
        key=key,
        proxy="" if bad_proxy else proxy,
        ca_file=_last(found.values, "cafile"),
        patience=int(patience or (LOCAL_PATIENCE if local else PATIENCE)),
        # On a person's own machine a model is small as a rule, and tools are more than it can do.
        protocol="questions" if (protocol, local and foreign) in _QUESTIONS else "tools",
        local=local,
        foreign=foreign,
        sends=(_SESSIONS, _INSTRUCTIONS, _LISTED, _READ, _CHOICE, _DREAM, _NOTES, _DOCUMENT),
        learns=f"{_AT_ONCE}, {_FINDS.format(engine='anthropic')}",
        withheld=_WITHHELD,
        missing=tuple(missing),
        notes=notes,
        costs=_NO_PRICE if local else _REQUESTS.format(paid="paid by your key"),
    )


def _claude_code(found: Installed, why: str) -> EngineChoice:
    missing: list[Missing] = []
    if not found.program:
        remedy = "Install Claude Code, and see that `claude` is on PATH."
        missing.append(Missing("there is no program `claude`", remedy))
    other = found.environ.get(URL_VARIABLE, "").strip()
    mine = _last(found.values, "baseurl")
    for name in sorted(filter(_ENDPOINT.fullmatch, found.environ)):
        url = found.environ[name].strip()
        if url and url.rstrip("/") != mine.rstrip("/") and not on_this_machine(url):
            # The fork would follow it, to where the session itself may never have sent anything.
            missing.append(
                Missing(
                    f"{name} is {shown_address(url)} in the environment, which a repository can set",
                    "Take it out, or if it is yours: git config --global gitmem.baseUrl ADDRESS",
                )
            )
    model = _last(found.values, "model")
    notes = [
        "the history goes as the session sent it before; a session with <private> spans, a pause or "
        "messages that gitmem.ignore matches in it is not forked but looked at offline"
    ]
    if model:
        notes.append(f"gitmem.model ({model}) is not used: a fork needs its session's model")
    return EngineChoice(
        "claude-code",
        why,
        endpoint=shown_address(other) if other else "wherever your own claude sends its sessions",
        program=found.program,
        sends=(
            "a fork of the session that was just held, with its whole history",
            _INSTRUCTIONS,
            _LISTED,
            _READ,
            _DREAM,
            _NOTES,
            _DOCUMENT,
        ),
        learns=f"{_AT_ONCE}, {_FINDS.format(engine='claude-code')}",
        missing=tuple(missing),
        notes=tuple(notes),
        costs=_REQUESTS.format(paid="paid as your own sessions are"),
    )


def _proxy(environ: Mapping[str, str], url: str) -> str:
    """The proxy for an address; none for one on this machine, which nothing is encrypted for."""
    parts = _split(url)
    if parts is None or parts.scheme != "https" or not parts.hostname or on_this_machine(url):
        return ""
    names = ("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
    given = next((environ[name].strip() for name in names if environ.get(name, "").strip()), "")
    named = (environ.get("no_proxy") or environ.get("NO_PROXY") or "").lower().split(",")
    left_out = [name.strip().lstrip(".") for name in named]
    if not given or any(
        name in ("*", parts.hostname) or _is_below(parts.hostname, name) for name in left_out
    ):
        return ""
    return given if "://" in given else f"http://{given}"


def _is_below(host: str, domain: str) -> bool:
    return bool(domain) and host.endswith(f".{domain}")


def _environment_notes(found: Installed, url: str) -> tuple[str, ...]:
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
