"""Which rule applies where: one line a rule, one column a profile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gitmem.core.merge import Files
from gitmem.rules.admission import judge_brought, judge_memories, judge_orders, judge_stored
from gitmem.rules.content import (
    judge_content,
    judge_lines,
    judge_links,
    judge_logs,
    judge_names,
    judge_size,
    judge_tombstones,
    judge_trouble,
)
from gitmem.rules.credentials import judge_secrets, without_secrets
from gitmem.rules.history import (
    judge_between,
    judge_commits,
    judge_merges,
    judge_questions,
    judge_signatures,
)
from gitmem.rules.instructions import judge_hidden, judge_instructions
from gitmem.rules.losses import judge_losses
from gitmem.rules.paths import judge_collisions, judge_format, judge_hosts, judge_places
from gitmem.rules.rule import Context, Finding, Profile, Rule, Side, compare, in_texts, side_of
from gitmem.rules.snapshot import judge_snapshots

TABLE = (
    # What it judges, and the words that its findings have as their rule; then the profiles that it is in.
    Rule(judge_stored, ("secret", "path", "size"), write="error"),
    Rule(judge_brought, ("secret", "place"), dream="error"),
    Rule(judge_orders, ("instruction",), dream="error"),
    Rule(judge_memories, ("place",), dream="error"),
    Rule(judge_trouble, ("limit",), request="error"),
    Rule(judge_places, ("path", "foreign"), request="error"),
    Rule(judge_size, ("limit",), request="error"),
    Rule(judge_secrets, ("secret",), request="error"),
    Rule(in_texts(judge_hidden), ("encoding", "invisible"), request="error"),
    Rule(in_texts(judge_instructions), ("instruction",), request="error"),
    Rule(
        in_texts(judge_content),
        ("frontmatter", "type", "scope", "date", "dispute", "limit", "tombstone"),
        request="error",
    ),
    Rule(judge_collisions, ("collision",), request="error"),
    Rule(judge_format, ("format",), request="error"),
    Rule(judge_hosts, ("host",), request="error"),
    Rule(judge_links, ("link", "index"), request="error"),
    Rule(judge_lines, ("dispute",), request="error"),
    Rule(judge_names, ("duplicate",), request="error"),
    Rule(judge_tombstones, ("tombstone",), request="error"),
    Rule(judge_logs, ("log",), request="error"),
    Rule(judge_losses, ("dropped", "replaced", "account", "loss"), request="error"),
    Rule(judge_snapshots, ("snapshot", "path", "limit"), request="error"),
    Rule(judge_commits, ("invisible", "instruction"), request="error"),
    Rule(judge_signatures, ("unsigned",), request="error"),
    Rule(judge_questions, ("account",), request="error"),
    Rule(judge_between, ("path", "limit", "encoding", "invisible", "instruction"), request="error"),
    Rule(judge_merges, ("merge",), request="error"),
)


def judge(
    profile: Profile, before: Side | None, after: Side, context: Context | None = None
) -> tuple[Finding, ...]:
    """Judges a change by the rules of a profile.

    Args:
        before: what was there; what was already so is not told again. None judges all.
        after: what becomes of it.
        context: what a rule may know besides; what changed is worked out here.

    Returns:
        The findings, sorted by path and line, each once, no credential in what they show.

    Raises:
        DetectorUnavailable: nothing can be said about secrets.
    """
    known = compare(before, after, context or Context())
    found = without_secrets(_found(profile, before, after, known), known.allow)
    return tuple(sorted(set(found)))


def judge_files(
    profile: Profile, before: Files, after: Files, allow: frozenset[str] = frozenset()
) -> tuple[Finding, ...]:
    """The same for files that are in no tree yet.

    Args:
        before, after: path from the root of a memory tree to content.
        allow: fingerprints of secrets that a person accepted.

    Raises:
        DetectorUnavailable: nothing can be said about secrets.
    """
    return judge(profile, side_of(before), side_of(after), Context(allow))


def _found(profile: Profile, before: Side | None, after: Side, context: Context) -> Iterator[Finding]:
    for rule in TABLE:
        level = rule.level(profile)
        for found in rule.judge(before, after, context) if level else ():
            yield replace(found, level="notice") if level == "notice" else found
