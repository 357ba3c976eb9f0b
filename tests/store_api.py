"""A scripted server of memory stores and dreams on loopback, in the SDK's shapes and by the API's rules.

    with StoreApi() as api:
        store = api.make({"/main/ports.md": "..."})
        ...  # a client of the SDK with base_url=api.url

What it answers is made by the SDK's models, and what it is asked is held to the SDK's parameter types.
Preconditions, paths, sizes, pages and versions are as the API documents them.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from loopback import Answering, Loopback

START = datetime(2027, 1, 15, 8, tzinfo=UTC)
STORE_MEMORIES, MEMORY_BYTES = 2_000, 102_400
_SEGMENT = re.compile(r"[^/\x00-\x1f\x7f\u200b-\u200f\u2028\u2029\u2060-\u2064\ufeff]+")


@cache
def sdk() -> ModuleType:
    """The SDK's models, which take a second and a half to load: not where tests are collected."""
    from anthropic.types import beta

    return beta


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass
class Memory:
    id: str
    path: str
    content: str
    version: str
    created: datetime
    updated: datetime


@dataclass
class Store:
    id: str
    memories: dict[str, Memory] = field(default_factory=dict)
    versions: list[dict[str, Any]] = field(default_factory=list)


class Refused(Exception):
    """An answer with an error's status."""

    def __init__(
        self, status: int, type: str, message: str = "scripted", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.type, self.headers = status, type, headers or {}


@dataclass(frozen=True)
class Asked:
    """One request as it came."""

    method: str
    path: str
    query: Mapping[str, str]
    body: Mapping[str, Any]
    headers: Mapping[str, str]


class StoreApi(Loopback):
    """The running server; use it as a context manager.

    Args:
        key: the only key that it accepts.
        page: items of a page at most, to try paging with few.

    Attributes:
        before: is called with each request before it is answered; may write, or raise `Refused`.
        dreaming: is called with a dream's input files and makes its output files of them.
        polls: how often a dream is asked for before it has ended.
        ends: the status with which a dream ends.
        number: what the next that is made is called by.
    """

    def __init__(self, key: str = "sk-test-0", page: int = 100) -> None:
        self.key, self.page = key, page
        self.stores: dict[str, Store] = {}
        self.asked: list[Asked] = []
        self.before: Callable[[Asked], None] = lambda _: None
        self.dreaming: Callable[[dict[str, str]], dict[str, str]] = dict
        self.dreams: dict[str, dict[str, Any]] = {}
        self.sessions: list[str] = ["sesn_01one", "sesn_02two"]
        self.polls = 1
        self.ends = "completed"
        self.number = count(1)
        self._lock = threading.RLock()
        super().__init__(_handler(self))

    @property
    def writes(self) -> list[Asked]:
        """Requests that would have changed a store."""
        return [one for one in self.asked if one.method != "GET" and "/memories" in one.path]

    # What other writers do, with no request of the client's.

    def make(self, files: Mapping[str, str] | None = None) -> str:
        """A new store; returns its id."""
        store = Store(f"memstore_{next(self.number):06d}")
        self.stores[store.id] = store
        for path, text in (files or {}).items():
            self.put(store.id, path, text)
        return store.id

    def put(self, store: str, path: str, text: str, by: str = "sesn_01agent") -> None:
        """Writes as a hosted agent would: whatever is there."""
        with self._lock:
            known = self._at(store, path)
            if known is None:
                self._add(store, path, text, {"type": "session_actor", "session_id": by})
            else:
                self._change(store, known, text, path, {"type": "session_actor", "session_id": by})

    def drop(self, store: str, path: str, by: str = "sesn_01agent") -> None:
        with self._lock:
            known = self._at(store, path)
            assert known is not None
            self._remove(store, known, {"type": "session_actor", "session_id": by})

    def files(self, store: str) -> dict[str, str]:
        return {one.path: one.content for one in self.stores[store].memories.values()}

    # The API.

    def answer(self, asked: Asked) -> Any:
        with self._lock:
            self.asked.append(asked)
            self.before(asked)
            sent = asked.headers.get("x-api-key") or asked.headers.get("authorization", "")
            if sent.removeprefix("Bearer ") != self.key:
                raise Refused(401, "authentication_error", "invalid x-api-key")
            for pattern, method, act in _ROUTES:
                found = re.fullmatch(pattern, asked.path)
                if found and asked.method == method:
                    return act(self, asked, *map(unquote, found.groups()))
            raise Refused(404, "not_found_error", f"no route {asked.method} {asked.path}")

    def _list(self, asked: Asked, store: str) -> Any:
        full = asked.query.get("view") == "full"
        items = sorted(self._store(store).memories.values(), key=lambda one: one.path)
        most = min(int(asked.query.get("limit", 20)), 20 if full else 100, self.page)
        return self._paged([self._memory(store, one, full=full) for one in items], asked, most)

    def _read(self, asked: Asked, store: str, id: str) -> Any:
        return self._memory(store, self._by_id(store, id), full=asked.query.get("view", "full") == "full")

    def _create(self, asked: Asked, store: str) -> Any:
        body = _checked(sdk().memory_stores.MemoryCreateParams, asked.body)
        path, text = body["path"], body["content"] or ""
        _check(path, text)
        if self._at(store, path):
            raise Refused(409, "memory_path_conflict_error", f"{path} exists")
        if len(self._store(store).memories) >= STORE_MEMORIES:
            raise Refused(400, "invalid_request_error", "the store is full")
        return self._memory(store, self._add(store, path, text, _API), full=False)

    def _update(self, asked: Asked, store: str, id: str) -> Any:
        body = _checked(sdk().memory_stores.MemoryUpdateParams, {"memory_store_id": store, **asked.body})
        known = self._by_id(store, id)
        text, path = body.get("content") or "", body.get("path") or known.path
        _check(path, text)
        wanted = body.get("precondition")
        if wanted and wanted["content_sha256"] != sha(known.content) and text != known.content:
            raise Refused(409, "memory_precondition_failed_error", "the content is another")
        self._change(store, known, text, path, _API)
        return self._memory(store, known, full=False)

    def _delete(self, asked: Asked, store: str, id: str) -> Any:
        known = self._by_id(store, id)
        wanted = asked.query.get("expected_content_sha256")
        if wanted is not None and wanted != sha(known.content):
            raise Refused(409, "memory_precondition_failed_error", "the content is another")
        self._remove(store, known, _API)
        return (
            sdk()
            .memory_stores.BetaManagedAgentsDeletedMemory(id=id, type="memory_deleted")
            .to_dict(mode="json")
        )

    def _versions(self, asked: Asked, store: str) -> Any:
        since = asked.query.get("created_at_gte", "")
        found = [
            one for one in self._store(store).versions if not since or one["created_at"] >= _time(since)
        ]
        made = [
            sdk().memory_stores.BetaManagedAgentsMemoryVersion(**one).to_dict(mode="json")
            for one in reversed(found)
        ]
        return self._paged(made, asked, min(int(asked.query.get("limit", 20)), 100, self.page))

    def _sessions(self, asked: Asked) -> Any:
        assert asked.query.get("memory_store_id") in self.stores
        return {"data": [_session(id) for id in self.sessions], "next_page": None, "prev_page": None}

    def _begin(self, asked: Asked) -> Any:
        body = _checked(sdk().DreamCreateParams, asked.body)
        kinds = [one["type"] for one in asked.body["inputs"]]
        if sorted(kinds) != ["memory_store", "sessions"]:
            raise Refused(400, "invalid_request_error", "one memory store and one list of sessions")
        sessions = next(one for one in asked.body["inputs"] if one["type"] == "sessions")["session_ids"]
        if not 1 <= len(sessions) <= 100 or len(set(sessions)) != len(sessions):
            raise Refused(400, "invalid_request_error", "1 to 100 sessions")
        if not 1 <= len(body.get("instructions") or "x") <= 4_096:
            raise Refused(400, "invalid_request_error", "instructions are too long")
        store = next(one for one in asked.body["inputs"] if one["type"] == "memory_store")[
            "memory_store_id"
        ]
        self._store(store)
        id = f"drm_{next(self.number):06d}"
        self.dreams[id] = {
            "id": id, "created_at": self._now(), "inputs": asked.body["inputs"],
            "instructions": body.get("instructions"), "model": {"id": body["model"]},
            "output_behavior": {"type": "create_new"}, "outputs": [], "status": "pending", "type": "dream",
            "usage": {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "input_tokens": 0,
                      "output_tokens": 0},
            "asked": 0, "given": self.files(store),
        }  # fmt: skip
        return self._dream(id)

    def _dreams(self, asked: Asked) -> Any:
        listed = [self._dream(id) for id in reversed(self.dreams)]
        return self._paged(listed, asked, min(int(asked.query.get("limit", 20)), 100, self.page))

    def _poll(self, asked: Asked, id: str) -> Any:
        if id not in self.dreams:
            raise Refused(404, "not_found_error", f"no dream {id}")
        found = self.dreams[id]
        found["asked"] += 1
        if found["status"] in ("pending", "running"):
            found["status"] = "running"
            if found["asked"] > self.polls:
                found["status"] = self.ends
                found["usage"] |= {"input_tokens": 900, "output_tokens": 80}
                if self.ends == "completed":
                    output = self.make(self.dreaming(dict(found["given"])))
                    found["outputs"] = [{"memory_store_id": output, "type": "memory_store"}]
                elif self.ends == "failed":
                    found["error"] = {"type": "timeout", "message": "it took too long"}
        return self._dream(id)

    def _dream(self, id: str) -> Any:
        told = {key: value for key, value in self.dreams[id].items() if key not in ("asked", "given")}
        return sdk().BetaDream(**told).to_dict(mode="json")

    def _paged(self, items: list[Any], asked: Asked, most: int) -> Any:
        start = int(asked.query.get("page", "p0")[1:])
        more = start + most < len(items)
        return {"data": items[start : start + most], "next_page": f"p{start + most}" if more else None}

    def _store(self, store: str) -> Store:
        if store not in self.stores:
            raise Refused(404, "not_found_error", f"no store {store}")
        return self.stores[store]

    def _by_id(self, store: str, id: str) -> Memory:
        if id not in self._store(store).memories:
            raise Refused(404, "not_found_error", f"no memory {id}")
        return self.stores[store].memories[id]

    def _at(self, store: str, path: str) -> Memory | None:
        return next((one for one in self._store(store).memories.values() if one.path == path), None)

    def _now(self) -> datetime:
        """The client's time, and a little later each time it is asked for."""
        now = os.environ.get("GITMEM_NOW")
        begun = datetime.fromtimestamp(int(now), UTC) if now else START
        return begun + timedelta(milliseconds=next(self.number))

    def _add(self, store: str, path: str, text: str, who: Mapping[str, str]) -> Memory:
        now, id = self._now(), f"mem_{next(self.number):06d}"
        made = Memory(id, path, text, "", now, now)
        self.stores[store].memories[id] = made
        self._version(store, made, "created", who)
        return made

    def _change(self, store: str, known: Memory, text: str, path: str, who: Mapping[str, str]) -> None:
        known.content, known.path, known.updated = text, path, self._now()
        self._version(store, known, "modified", who)

    def _remove(self, store: str, known: Memory, who: Mapping[str, str]) -> None:
        del self.stores[store].memories[known.id]
        self._version(store, known, "deleted", who)

    def _version(self, store: str, one: Memory, operation: str, who: Mapping[str, str]) -> None:
        one.version = f"memver_{next(self.number):06d}"
        gone = operation == "deleted"
        self.stores[store].versions.append(
            {
                "id": one.version, "created_at": self._now(), "memory_id": one.id, "memory_store_id": store,
                "operation": operation, "type": "memory_version", "path": one.path, "created_by": dict(who),
                "content_sha256": None if gone else sha(one.content),
                "content_size_bytes": None if gone else len(one.content.encode()),
            }
        )  # fmt: skip

    def _memory(self, store: str, one: Memory, *, full: bool) -> Any:
        return (
            sdk()
            .memory_stores.BetaManagedAgentsMemory(
                id=one.id,
                path=one.path,
                content=one.content if full else None,
                content_sha256=sha(one.content),
                content_size_bytes=len(one.content.encode()),
                created_at=one.created,
                updated_at=one.updated,
                memory_store_id=store,
                memory_version_id=one.version,
                type="memory",
            )
            .to_dict(mode="json", exclude_none=False)
        )


_API = {"type": "api_actor", "api_key_id": "apikey_01me"}
_ROUTES: tuple[tuple[str, str, Callable[..., Any]], ...] = (
    (r"/v1/memory_stores/([^/]+)/memories", "GET", StoreApi._list),
    (r"/v1/memory_stores/([^/]+)/memories", "POST", StoreApi._create),
    (r"/v1/memory_stores/([^/]+)/memories/([^/]+)", "GET", StoreApi._read),
    (r"/v1/memory_stores/([^/]+)/memories/([^/]+)", "POST", StoreApi._update),
    (r"/v1/memory_stores/([^/]+)/memories/([^/]+)", "DELETE", StoreApi._delete),
    (r"/v1/memory_stores/([^/]+)/memory_versions", "GET", StoreApi._versions),
    (r"/v1/sessions", "GET", StoreApi._sessions),
    (r"/v1/dreams", "POST", StoreApi._begin),
    (r"/v1/dreams", "GET", StoreApi._dreams),
    (r"/v1/dreams/([^/]+)", "GET", StoreApi._poll),
)


def _checked(shape: Any, body: Mapping[str, Any]) -> Any:
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(shape).validate_python(dict(body))
    except ValidationError as wrong:
        raise Refused(400, "invalid_request_error", str(wrong)[:300]) from None


def _check(path: str, text: str) -> None:
    """Paths and sizes as the API documents them."""
    parts = path.split("/")[1:]
    good = path.startswith("/") and 1 <= len(parts) <= 20 and len(path.encode()) <= 1_024
    if not (good and all(_SEGMENT.fullmatch(part) and part not in (".", "..") for part in parts)):
        raise Refused(400, "invalid_request_error", "this is no path")
    if len(text.encode()) > MEMORY_BYTES:
        raise Refused(413, "request_too_large", "the memory is too large")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _session(id: str) -> dict[str, Any]:
    """As much of a session as a client that lists them has to be given."""
    return {"id": id, "type": "session", "created_at": START.isoformat(), "updated_at": START.isoformat()}


def _handler(api: StoreApi) -> type[Answering]:
    class Handler(Answering):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            raw = self.body()
            parts = urlsplit(self.path)
            query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
            headers = {key.lower(): value for key, value in self.headers.items()}
            asked = Asked(self.command, parts.path, query, json.loads(raw or b"{}"), headers)
            extra: Mapping[str, str] = {}
            try:
                status, body = 200, api.answer(asked)
            except Refused as no:
                status, extra = no.status, no.headers
                body = {"type": "error", "error": {"type": no.type, "message": str(no)}}
            data = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send("application/json", data, status, extra)

    return Handler
