"""Anthropic's hosted memory stores and dreams over the SDK: listed, read, written on a condition.

What a server says is held to its own hashes and to limits; what goes wrong is named. Shapes, limits and
conditions are those of the beta `agent-memory-2026-07-22`, dreams' of `dreaming-2026-04-21`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gitmem.core.errors import EngineError
from gitmem.core.limits import MEMORY_BYTES
from gitmem.core.text import one_line
from gitmem.engines.messages import ApiError, ApiSettings, bad_answer, open_sdk, safe_words, translate_error

if TYPE_CHECKING:
    from anthropic import Anthropic

STORE_MEMORIES = 2_000
"""Memories of one store (documented by Anthropic)."""

PAGE, FULL_PAGE, PAGES = 100, 20, 200
"""Items of a page, the most that the API gives, without and with contents; and pages of one listing."""

DREAM_SESSIONS = 100
"""Sessions of one dream (documented)."""

ENDED = ("completed", "failed", "canceled")
"""Statuses after which a dream changes no more."""

NOTHING_LOST = "What was done until then is noted, and nothing is lost. Run it again."
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{2,127}")
_HASH = re.compile(r"[0-9a-f]{64}")
_HINTS = {
    "engine-auth": "Check ANTHROPIC_API_KEY where you run this.",
    "engine-credit": "See your account's billing page.",
    "engine-connection": f"Check the network, and address and proxy in `git mem engine`. {NOTHING_LOST}",
}


class Conflict(EngineError):
    """Somebody else wrote meanwhile: nothing was written."""


class NotTaken(EngineError):
    """The server does not take this one memory; the message says why."""


@dataclass(frozen=True)
class StoreMemory:
    """One memory of a store.

    Attributes:
        id: stays the same when the path changes.
        path: as the store has it, with a leading slash; hostile text.
        sha: SHA-256 of the content, 64 hexadecimal digits.
        size: bytes of the content.
    """

    id: str
    path: str
    sha: str
    size: int


@dataclass(frozen=True)
class HostedDream:
    """How far a hosted dream has come.

    Attributes:
        status: `pending`, `running`, `completed`, `failed` or `canceled`.
        output: id of the store with its result; empty until there is one.
        error: why it failed, on one line.
        input_tokens, output_tokens: what it took so far, cached input included.
    """

    id: str
    status: str
    output: str = ""
    error: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0


def digest(data: bytes) -> str:
    """The hash by which the API compares contents."""
    return hashlib.sha256(data).hexdigest()


def is_id(text: str) -> bool:
    """Whether a text can be an id of the API's."""
    return _ID.fullmatch(text) is not None


class StoreClient:
    """Asks one server about stores; use it as a context manager.

    Every method raises `EngineError` where no usable answer came.
    """

    def __init__(self, settings: ApiSettings) -> None:
        self._settings = settings
        self._made: Anthropic | None = None

    def __enter__(self) -> StoreClient:
        return self

    def __exit__(self, *_: object) -> None:
        if self._made is not None:
            self._made.close()

    def listing(self, store: str) -> tuple[StoreMemory, ...]:
        """All memories of a store, without their contents.

        Raises:
            EngineError: there is no such store, or it lists more than any can hold.
        """
        with self._named(store):
            first = self._sdk.beta.memory_stores.memories.list(store, limit=PAGE, view="basic")
            return tuple(_stored(one) for one in _pages(first) if one.type == "memory")

    def contents(self, store: str, wanted: Collection[str]) -> Iterator[tuple[StoreMemory, bytes]]:
        """Some memories with their contents, which have the hashes that they are said to have.

        Args:
            wanted: their ids; many are read by the page.

        Raises:
            Conflict: one is gone by now.
        """
        memories = self._sdk.beta.memory_stores.memories
        if len(wanted) <= FULL_PAGE:
            for id in wanted:
                with self._named(store, id):
                    found = memories.retrieve(id, memory_store_id=store, view="full")
                yield self._content(found)
            return
        left = set(wanted)
        with self._named(store):
            for one in _pages(memories.list(store, limit=FULL_PAGE, view="full")):
                if one.type == "memory" and one.id in left:
                    left.remove(one.id)
                    yield self._content(one)
        if left:
            raise Conflict(f"{min(left)} is gone by now", NOTHING_LOST)

    def _content(self, found: Any) -> tuple[StoreMemory, bytes]:
        with self._named(""):
            data = (found.content or "").encode("utf-8")
            one = _stored(found)
        if digest(data) != one.sha or len(data) > MEMORY_BYTES:
            raise self._bad(f"{one_line(one.path, 100)} has not the content that it says")
        return one, data

    def create(self, store: str, path: str, data: bytes) -> StoreMemory:
        """Adds a memory.

        Raises:
            Conflict: the path is taken.
            NotTaken: the server refuses this one.
        """
        with self._named(store, path):
            return _stored(
                self._sdk.beta.memory_stores.memories.create(store, path=path, content=data.decode("utf-8"))
            )

    def update(self, store: str, known: StoreMemory, data: bytes) -> StoreMemory:
        """Changes a memory, if it still is as it was listed.

        Raises:
            Conflict: it is not.
            NotTaken: the server refuses this one.
        """
        with self._named(store, known.path):
            return _stored(
                self._sdk.beta.memory_stores.memories.update(
                    known.id,
                    memory_store_id=store,
                    content=data.decode("utf-8"),
                    precondition={"type": "content_sha256", "content_sha256": known.sha},
                )
            )

    def delete(self, store: str, known: StoreMemory) -> None:
        """Deletes a memory, if it still is as it was listed.

        Raises:
            Conflict: it is not.
        """
        with self._named(store, known.path):
            self._sdk.beta.memory_stores.memories.delete(
                known.id, memory_store_id=store, expected_content_sha256=known.sha
            )

    def writers(self, store: str, since: str) -> dict[str, str]:
        """Who wrote last at each path at which something changed.

        Args:
            since: ISO 8601 time from which on is asked.

        Returns:
            Path in the store to what was done and by whom, as the store tells it: hostile text.
        """
        with self._named(store):
            asked = self._sdk.beta.memory_stores.memory_versions.list(
                store, limit=PAGE, view="basic", created_at_gte=since
            )
            told: dict[str, tuple[Any, str]] = {}
            for one in _pages(asked):
                if one.path and (one.path not in told or told[one.path][0] < one.created_at):
                    told[one.path] = one.created_at, f"{one.operation} by {_actor(one.created_by)}"
        return {path: one_line(what, 160) for path, (_, what) in told.items()}

    def sessions(self, store: str) -> tuple[str, ...]:
        """Ids of the newest hosted sessions that had the store, as many as one dream may read."""
        with self._named(store):
            asked = self._sdk.beta.sessions.list(memory_store_id=store, limit=DREAM_SESSIONS)
            return tuple(one.id for one in asked.data[:DREAM_SESSIONS] if is_id(one.id))

    def start_dream(
        self, store: str, sessions: Iterable[str], model: str, instructions: str
    ) -> HostedDream:
        """Has a dream begin that writes into a store of its own.

        It is asked for once: a request that is repeated, as its answer was lost, would begin another.
        """
        with self._named(store), self._once() as sdk:
            return _dream(
                sdk.beta.dreams.create(
                    inputs=[
                        {"type": "memory_store", "memory_store_id": store},
                        {"type": "sessions", "session_ids": list(sessions)},
                    ],
                    model=model,
                    instructions=instructions,
                )
            )

    def find_dream(self, token: str) -> str:
        """The id of the newest dream whose instructions hold some text; empty where none does."""
        with self._named("its dreams"):
            listed = _pages(self._sdk.beta.dreams.list(limit=PAGE))
            return next((_dream(one).id for one in listed if token in (one.instructions or "")), "")

    def dream(self, id: str) -> HostedDream:
        """How far a dream has come."""
        with self._named(id):
            return _dream(self._sdk.beta.dreams.retrieve(id))

    @property
    def _sdk(self) -> Anthropic:
        if self._made is None:
            self._made = open_sdk(self._settings)
        return self._made

    @contextmanager
    def _once(self) -> Iterator[Anthropic]:
        """The SDK's client without its retries; a copy would read the environment again."""
        sdk = self._sdk
        kept, sdk.max_retries = sdk.max_retries, 0
        try:
            yield sdk
        finally:
            sdk.max_retries = kept

    @contextmanager
    def _named(self, asked: str, memory: str = "") -> Iterator[None]:
        """Tells what went wrong.

        Args:
            asked: id of the store or dream that it is about.
            memory: path or id of the one memory that it is about; empty for none.
        """
        import anthropic
        import httpx2

        settings = self._settings
        try:
            yield
        except EngineError:
            raise
        except anthropic.APIStatusError as problem:
            said = getattr(problem, "api_message", None)
            words = safe_words(said, settings) if isinstance(said, str) else f"error {problem.status_code}"
            if problem.status_code == 409 or (problem.status_code == 404 and memory):
                raise Conflict(f"{asked} moved: {words}", NOTHING_LOST) from None
            if problem.status_code in (400, 413, 422) and memory:
                raise NotTaken(words) from None
            if problem.status_code in (403, 404):
                raise ApiError(
                    "engine-no-store",
                    f"{asked} is not there, or the API key may not use it: {words}",
                    "See git mem remote, and whether the key is of the store's workspace.",
                ) from None
            raise self._translated(problem) from None
        except (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise self._translated(problem) from None
        except (ValueError, TypeError, KeyError, AttributeError, AssertionError, RuntimeError) as problem:
            # The SDK hands on what it does not check: a body that is no JSON, an answer of another shape.
            raise self._bad(type(problem).__name__) from None

    def _bad(self, what: str) -> ApiError:
        found = bad_answer(self._settings, what)
        return ApiError(found.kind, found.message, NOTHING_LOST)

    def _translated(self, problem: Exception) -> ApiError:
        found = translate_error(problem, self._settings)
        return ApiError(found.kind, found.message, _HINTS.get(found.kind, NOTHING_LOST))


def _pages(first: Any) -> Iterator[Any]:
    """The items of all pages, no more than there can be."""
    for number, page in enumerate(first.iter_pages(), start=1):
        if number > PAGES:
            raise ApiError("engine-bad-answer", f"a listing has more than {PAGES} pages", NOTHING_LOST)
        if not isinstance(page.data, list):
            # An empty object is no empty store.
            raise ValueError("a page without a list")
        yield from page.data


def _stored(one: Any) -> StoreMemory:
    found = StoreMemory(one.id, one.path, one.content_sha256, one.content_size_bytes)
    sound = is_id(found.id) and isinstance(found.path, str) and _HASH.fullmatch(found.sha)
    if not (sound and isinstance(found.size, int)):
        raise ValueError("a memory without id, path or hash")
    return found


def _actor(who: Any) -> str:
    """A writer as a version names it: `session sesn_…`, `key apikey_…`."""
    if who is None:
        return "nobody it names"
    names: tuple[tuple[Literal["session_id", "api_key_id", "user_id", "service_account_id"], str], ...] = (
        ("session_id", "session"),
        ("api_key_id", "key"),
        ("user_id", "user"),
        ("service_account_id", "service account"),
    )
    found = ((word, getattr(who, name, None)) for name, word in names)
    return next((f"{word} {one_line(str(id), 80)}" for word, id in found if id), "somebody")


def _dream(one: Any) -> HostedDream:
    used = one.usage
    output = one.outputs[0].memory_store_id if one.outputs else ""
    if not is_id(one.id) or (output and not is_id(output)) or not isinstance(one.status, str):
        raise ValueError("a dream without id or status")
    return HostedDream(
        one.id,
        one.status,
        output,
        one_line(f"{one.error.type}: {one.error.message}", 300) if one.error else "",
        one_line(one.model.id, 100),
        used.input_tokens + used.cache_read_input_tokens + used.cache_creation_input_tokens,
        used.output_tokens,
    )
