"""What a commit says: no secret of a memory, or of what a person typed, gets into a message."""

from __future__ import annotations

from dataclasses import replace

from gitmem.core.trailers import Provenance, format_message
from gitmem.rules.secrets import redact, scan


def safe_message(subject: str, provenance: Provenance, body: str = "") -> str:
    """Writes a commit message (as `format_message`) with every credential in it replaced.

    Subjects are made of names and descriptions, also of memories that came from others; reasons and
    bodies are typed by people or written by models. A message is no place to refuse anything.

    Raises:
        DetectorUnavailable: nothing can be said about any text; write nothing.
    """
    texts = [subject, body, *(fate.reason for fate in provenance.claims)]
    clean = [
        redact(text, [one for one in found if one.severity == "block"])
        for text, found in zip(texts, scan(texts), strict=True)
    ]
    fates = tuple(
        replace(fate, reason=reason) for fate, reason in zip(provenance.claims, clean[2:], strict=True)
    )
    return format_message(clean[0], replace(provenance, claims=fates), clean[1])
