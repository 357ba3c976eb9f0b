"""Whether the hooks of each client run: what keeps them from it, and what mends that.

Only what a client's own files say is looked at; no program is started. Where they tell nothing, nothing is
said: what works is no fault.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gitmem.app.client_hooks import HookFile, entries_of, installed
from gitmem.app.client_setup import hooked_clients, place_of
from gitmem.app.clients import Client
from gitmem.core.errors import RepositoryError
from gitmem.flows.engines import find_program
from gitmem.ledger.files import read_json, read_regular
from gitmem.ledger.workspace import Workspace
from gitmem.values import dataclass

_BYTES = 4 * 1024 * 1024
_DEEP = 4
"""Folders above a program in which its package is looked for: npm links `bin/x` to `package/bin/x.js`."""


@dataclass(frozen=True)
class ClientFault:
    """One thing that keeps a client's hooks from running.

    Attributes:
        kind: `missing`, `off`, `untrusted`, `overridden` or `old`.
        what: what it is, in words that begin with the client.
        remedy: what mends it.
    """

    client: Client
    kind: str
    what: str
    remedy: str


def client_faults(
    workspace: Workspace,
    environ: Mapping[str, str],
    argv: Sequence[str],
    root: Path = Path("/"),
) -> tuple[ClientFault, ...]:
    """What keeps hooks from running, of the clients that have them here.

    Args:
        argv: the words that start gitmem.
        root: where an administrator's files are looked for.
    """
    found: list[ClientFault] = []
    for client in hooked_clients(workspace):
        place = place_of(workspace, environ, client)
        folder = client.home(environ, workspace.around.home)
        try:
            there = installed(place, argv)
        except RepositoryError as error:
            found.append(ClientFault(client, "missing", f"{client.title}: {error.message}", error.hint))
            continue
        if not there:
            what = f"{client.title}'s hooks are not all in {place.path}"
            found.append(ClientFault(client, "missing", what, "git mem init"))
            continue
        found += _overridden(client, root)
        found += _off(client, place, folder)
        if client.trusts:
            found += _untrusted(client, place, folder)
        found += _old(workspace, environ, client)
    return tuple(found)


def _overridden(client: Client, root: Path) -> Iterator[ClientFault]:
    for path in (root / name.lstrip("/") for name in client.managed):
        value = _settings(path)
        keys = ("allowManagedHooksOnly", "disableAllHooks")
        key = next((key for key in keys if value.get(key) is True), "")
        if key:
            what = f"{client.title} runs no hooks of yours: {key} in {path}"
            yield ClientFault(client, "overridden", what, "only who administers this machine can mend it")


def _off(client: Client, place: HookFile, folder: Path) -> Iterator[ClientFault]:
    *keys, off = client.switch or ("", None)
    tree = [] if place.user else [place.anchor / client.folder / client.settings, place.path]
    for path in dict.fromkeys([folder / client.settings, *tree]):
        value = _settings(path) if client.settings else {}
        if keys and off is not None and _at(value, keys) is off:
            name = ".".join(map(str, keys))
            what = f"{client.title}'s hooks are switched off: {name} in {path}"
            yield ClientFault(client, "off", what, f"take {name} out of it")
        names = _at(value, client.names_off) if client.names_off else None
        ours = client.entry.get("name")
        if isinstance(names, list) and ours in names:
            what = f"{client.title}'s hooks named {ours} are switched off in {path}"
            yield ClientFault(client, "off", what, f"{client.programs[0]}, then /hooks enable {ours}")


def _untrusted(client: Client, place: HookFile, folder: Path) -> Iterator[ClientFault]:
    """Codex runs only hooks whose very definition a person has seen, in a project that they trust."""
    config = _settings(folder / client.settings)
    if not place.user:
        tops = {str(place.anchor), str(place.anchor.resolve())}
        projects = config.get("projects")
        trusted = [
            one.get("trust_level") == "trusted"
            for top, one in (projects.items() if isinstance(projects, dict) else ())
            if top in tops and isinstance(one, dict)
        ]
        if not any(trusted):
            what = f"{client.title} does not trust {place.anchor}, and runs none of its hooks"
            yield ClientFault(client, "untrusted", what, f"start {client.programs[0]} there, and say yes")
            return
    states = _at(config, ("hooks", "state"))
    states = states if isinstance(states, dict) else {}
    names = {str(place.path), str(place.path.resolve())}
    missing = []
    for event, group, number, entry, matcher in entries_of(place):
        snake = re.sub(r"(?<!^)(?=[A-Z])", "_", event).lower()
        known = [states.get(f"{name}:{snake}:{group}:{number}") for name in names]
        hashes = [one.get("trusted_hash") for one in known if isinstance(one, dict)]
        if trusted_hash(snake, entry, matcher) not in hashes:
            missing.append(event)
    if missing:
        what = f"{client.title} has not been told to trust gitmem's hooks ({', '.join(missing)})"
        yield ClientFault(client, "untrusted", what, f"start {client.programs[0]}, then /hooks")


def trusted_hash(event: str, entry: Mapping[str, Any], matcher: object) -> str:
    """What Codex remembers of a hook that a person trusts: a hash of its definition.

    As 0.169 computes it (`hooks/list` of its app server says the same): the keys sorted, no white space.

    Args:
        event: e.g. `session_start`.
    """
    hook = {
        "async": entry.get("async", False),
        "command": entry.get("command"),
        "timeout": entry.get("timeout"),
        "type": entry.get("type"),
    }
    group = {"event_name": event, "hooks": [hook], **({"matcher": matcher} if matcher else {})}
    text = json.dumps(group, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"sha256:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()}"


def _old(workspace: Workspace, environ: Mapping[str, str], client: Client) -> Iterator[ClientFault]:
    program = find_program(client.programs, workspace, environ)
    version = version_of(Path(program), client.package) if program and client.package else ""
    if version and _numbers(version) < _numbers(client.oldest):
        what = f"{client.title} is {version}; gitmem is tried with {client.oldest} and later"
        yield ClientFault(client, "old", what, f"npm install -g {client.package}")


def version_of(program: Path, package: str) -> str:
    """The version of a program that npm installed, as its package says; empty where there is none."""
    with suppress(OSError, RuntimeError):
        for folder in program.resolve().parents[:_DEEP]:
            value = read_json(folder / "package.json", _BYTES)
            if isinstance(value, dict) and value.get("name") == package:
                return str(value.get("version", ""))
    return ""


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version.partition("-")[0])[:3])


def _settings(path: Path) -> dict[str, Any]:
    """What a client's file says; empty where it is missing or cannot be read."""
    try:
        if path.suffix != ".toml":
            value = read_json(path, _BYTES)
        else:
            found = read_regular(path, _BYTES)
            value = tomllib.loads(found[0].decode()) if found else {}
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _at(value: Any, keys: Sequence[Any]) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value
