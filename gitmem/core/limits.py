"""How much of what: every number that bounds a memory, an index or what an agent is shown.

The client's numbers are those of Claude Code's documented memory; they are kept so that nothing gitmem
writes is cut when the client reads it.
"""

from __future__ import annotations

from typing import Final

INDEX_LINES: Final = 200
"""Lines of `MEMORY.md` that the client loads (documented by Claude Code)."""

INDEX_BYTES: Final = 25_000
"""UTF-8 bytes of `MEMORY.md` that the client loads; applied after `INDEX_LINES` (documented)."""

ENTRY_CHARS: Final = 150
"""Characters an index line is kept to, about: the client asks its own agent for the same."""

FRONTMATTER_LINES: Final = 30
"""Lines read in search of the end of frontmatter, as the client does."""

CANDIDATES: Final = 50
"""Memories that a recall chooses among; a model that chooses is told of no more. gitmem's own choice."""

RECALLED: Final = 5
"""Memories a recall chooses at most, as the client does."""

RECALLED_LINES: Final = 200
"""Lines of one recalled memory that are shown."""

RECALLED_BYTES: Final = 4_096
"""UTF-8 bytes of one recalled memory that are shown; applied after `RECALLED_LINES`."""

MEMORY_BYTES: Final = 102_400
"""Bytes of one memory file; the limit of hosted memory stores, so that a memory can move there."""

OTHER_BYTES: Final = 4_194_304
"""Bytes of an index or a daily log: far above what any client loads, 100 for each of 40,000 memories."""

SCOPE_ENTRIES: Final = 250_000
"""Files in one scope's tree. A store of 100,000 memories has to work; beyond twice that, with indexes and
logs, a search index and a layout take minutes, and what made it so is an accident or an attack."""

SCOPE_BYTES: Final = 1_073_741_824
"""Bytes of all files in one scope's tree: 250,000 of 4 KiB, about what hosts take in one repository."""

SCOPE_AGENTS: Final = 1_000
"""Agents with a folder in one scope: each costs a look at every save."""

HOT_MEMORIES: Final = 200
"""Memories of one agent in a live directory; older ones are paged out to `archive/`."""

PROMPT_RECALL_CHARS: Final = 3_200
"""Characters that a prompt's memories take at most, some 800 tokens: nobody asked for them."""

PROMPT_WHOLE: Final = 2
"""Memories that a prompt is given the text of; of others that fit, a line each."""

PROMPT_BODY_CHARS: Final = 800
"""Characters of such a text: of a longer one, the paragraphs that bear on the prompt."""

PROMPT_CONTEXT_CHARS: Final = 10_000
"""A hook's `additionalContext` must stay below this: the client spills more to a file (documented)."""

NAME_CHARS: Final = 60
"""Characters of a slug: long enough to be read, short enough for a listing. gitmem's own choice."""

DESCRIPTION_CHARS: Final = ENTRY_CHARS
"""Characters of a description, which is also the text of its index line."""

SEGMENT_BYTES: Final = 255
"""UTF-8 bytes of one path segment: the limit of ext4, APFS and NTFS."""

PATH_BYTES: Final = 1_024
"""UTF-8 bytes of a path in a memory tree; the limit of hosted memory stores."""

PATH_SEGMENTS: Final = 20
"""Segments of a path in a memory tree; the limit of hosted memory stores."""


PROMPT_SECONDS = 0.3
"""What a prompt may wait for the code, in all."""

PATIENT_SECONDS = 3.0
"""The same for a person who asks."""

LATEST = 253402300799 - 86_400
"""A day before the end of year 9999: the last moment that Python can show in every time zone."""
