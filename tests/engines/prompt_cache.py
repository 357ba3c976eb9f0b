"""A small model of the provider's prompt cache, after its documentation
(platform.claude.com/docs/en/build-with-claude/prompt-caching).

- The prompt is the blocks of tools, system and messages in this order; an entry is a prefix of whole ones.
- An entry is written at each breakpoint that lies behind what was read, and only there.
- At each breakpoint a lookup goes back over at most 20 blocks, the breakpoint's own among them; the longest
  prefix that is found is read.
- A prefix shorter than a minimum is neither written nor read.
- An entry lasts from the start of the request that used it last, and is gone when its lifetime has just
  passed: written at 0 s, one of five minutes is read at 299.9 s and not at 300 s. The documentation says
  "each time the cached content is used"; here that is what was read, and every entry at a breakpoint of
  the request inside of what was read. `strict` counts the former alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

LOOK_BACK = 20
MOST_BREAKPOINTS = 4
SECONDS = {"5m": 300.0, "1h": 3_600.0}


@dataclass
class _Entry:
    ttl: str
    used: float


@dataclass(frozen=True)
class _Block:
    prefix: str
    end: int
    ttl: str


@dataclass
class PromptCache:
    """The cache of one account.

    Attributes:
        now: seconds; moved by the test.
        minimum: tokens of the shortest prefix that is kept.
        strict: only the entry that was read counts as used.
    """

    now: float = 0.0
    minimum: int = 1_024
    strict: bool = False
    entries: dict[str, _Entry] = field(default_factory=dict)

    def usage(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Reads and writes as the request's breakpoints say, and counts as an answer's `usage` does."""
        blocks = list(_blocks(request))
        marks = [at for at, block in enumerate(blocks) if block.ttl]
        assert len(marks) <= MOST_BREAKPOINTS, f"{len(marks)} breakpoints"
        lifetimes = [blocks[at].ttl for at in marks]
        assert lifetimes == sorted(lifetimes), "a longer lifetime stands behind a shorter one"
        found = [at for at in (self._look_back(blocks, mark) for mark in marks) if at is not None]
        read = max(found, default=-1)
        tokens_read = blocks[read].end if found else 0
        written = {"5m": 0, "1h": 0}
        done = tokens_read
        for mark in marks:
            block = blocks[mark]
            if mark > read and block.end >= self.minimum:
                written[block.ttl] += block.end - done
                done = block.end
                self.entries[block.prefix] = _Entry(block.ttl, self.now)
            elif mark == read or (mark < read and not self.strict):
                self._use(block)
        if found:
            self._use(blocks[read])
        return {
            "input_tokens": blocks[-1].end - done,
            "cache_read_input_tokens": tokens_read,
            "cache_creation_input_tokens": sum(written.values()),
            "cache_creation": {
                "ephemeral_5m_input_tokens": written["5m"],
                "ephemeral_1h_input_tokens": written["1h"],
            },
        }

    def _look_back(self, blocks: list[_Block], mark: int) -> int | None:
        for at in range(mark, max(-1, mark - LOOK_BACK), -1):
            if self._lives(blocks[at]) and blocks[at].end >= self.minimum:
                return at
        return None

    def _lives(self, block: _Block) -> bool:
        entry = self.entries.get(block.prefix)
        return entry is not None and self.now - entry.used < SECONDS[entry.ttl]

    def _use(self, block: _Block) -> None:
        if self._lives(block):
            self.entries[block.prefix].used = self.now


def tokens(text: str) -> int:
    """An estimate: three bytes a token, as the newer tokenizers make of English and code."""
    return -(-len(text.encode()) // 3)


def _blocks(request: Mapping[str, Any]) -> Iterator[_Block]:
    digest = hashlib.sha256(str(request["model"]).encode())
    end = 0
    for place, block in _places(request):
        marked = block.get("cache_control")
        bare = json.dumps({key: value for key, value in block.items() if key != "cache_control"})
        digest.update(f"{place}\0{bare}\0".encode())
        end += tokens(block["text"] if block.get("type") == "text" else bare)
        yield _Block(digest.hexdigest(), end, marked.get("ttl", "5m") if marked else "")


def _places(request: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for tool in request.get("tools", ()):
        yield "tools", tool
    for block in _listed(request.get("system", ())):
        yield "system", block
    for message in request["messages"]:
        for block in _listed(message["content"]):
            yield message["role"], block


def _listed(content: Any) -> list[Mapping[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
