"""What a software team tells its agents, as templates: what `dream_corpus` makes memories of."""

from __future__ import annotations

from dataclasses import dataclass

_SYSTEMS = """
    billing search checkout inventory mailer gateway scheduler reporting ledger catalog identity payments
    shipping pricing analytics exporter importer webhooks notifier archive-store feature-flags session-store
    image-resizer fraud-check tax-rates loyalty returns warehouse forecast support-desk audit-log profile
    recommender uploads translations coupons invoices subscriptions metering onboarding
"""
SYSTEMS = tuple(_SYSTEMS.split())
PEOPLE = ("Ann", "Ben", "Cleo", "Dora", "Emil", "Fay", "Gus", "Hana")
ENVIRONMENTS = ("staging", "production", "preview")


@dataclass(frozen=True)
class Aspect:
    """One thing that a team writes down about a system.

    Attributes:
        slug: second half of a memory's name.
        described: two descriptions of the same thing in other words.
        says: statements; each names the system, and no two say the same.
        reordered: a statement twice, a phrase of the second one moved.
    """

    slug: str
    described: tuple[str, str]
    says: tuple[str, ...]
    reordered: tuple[str, str]


ASPECTS = (
    Aspect(
        "log-retention",
        ("Log retention of {svc}", "How long {svc} logs are kept"),
        (
            "Keep the logs of {svc} for {n} days.",
            "The {svc} logs are rotated at {n} MB and shipped to the archive bucket.",
            "Do not log request bodies in {svc}.",
        ),
        ("In {env}, {svc} logs are sampled to 1 in {n}.", "{svc} logs are sampled to 1 in {n} in {env}."),
    ),
    Aspect(
        "database",
        ("Database of {svc}", "Where {svc} keeps its data"),
        (
            "The tables of {svc} live in the schema `{id}_v{n}`.",
            "Never mock the database in the integration tests of {svc}.",
            "Connections of {svc} go through the pooler on port {port}.",
        ),
        (
            "For the nightly report, {svc} reads from the replica.",
            "{svc} reads from the replica for the nightly report.",
        ),
    ),
    Aspect(
        "releases",
        ("Releases of {svc}", "How {svc} is released"),
        (
            "{who} approves each release of {svc}.",
            "Tag the {svc} release with `{id}-v{n}.0` and push the tag by hand.",
            "Don't release {svc} on the last day of a month.",
        ),
        (
            "During the freeze, hotfixes of {svc} need a second reviewer.",
            "Hotfixes of {svc} need a second reviewer during the freeze.",
        ),
    ),
    Aspect(
        "alerts",
        ("Alerts of {svc}", "What {svc} pages people for"),
        (
            "The {svc} alert fires at an error rate of {n} percent.",
            "The dashboard of {svc} is at https://dash.example.com/{id}/overview.",
            "{who} is paged for {svc} first, then the platform team.",
        ),
        ("At night, {svc} alerts go to the pager alone.", "{svc} alerts go to the pager alone at night."),
    ),
    Aspect(
        "tests",
        ("Tests of {svc}", "How {svc} is tested"),
        (
            "The {svc} tests need the fixtures in `tests/fixtures/{id}.json`.",
            "Run the {svc} contract tests with `make contract-{id}`.",
            "A flaky {svc} test is quarantined within {n} hours, not deleted.",
        ),
        (
            "On a laptop, the {svc} tests take {n} minutes.",
            "The {svc} tests take {n} minutes on a laptop.",
        ),
    ),
    Aspect(
        "timeouts",
        ("Timeouts of {svc}", "How long callers wait for {svc}"),
        (
            "Calls to {svc} time out after {n} seconds.",
            "Retry failed calls to {svc} {few} times with jitter.",
            "The circuit breaker of {svc} opens after {n} errors in a row.",
        ),
        (
            "Under load, {svc} sheds requests of batch clients first.",
            "{svc} sheds requests of batch clients first under load.",
        ),
    ),
    Aspect(
        "cache",
        ("Cache of {svc}", "What {svc} caches"),
        (
            "The {svc} cache holds {n} thousand entries.",
            "The cache keys of {svc} begin with `{id}:{n}:`.",
            "Don't warm the {svc} cache by hand.",
        ),
        (
            "With every schema change, the {svc} cache gets a new prefix.",
            "The {svc} cache gets a new prefix with every schema change.",
        ),
    ),
    Aspect(
        "owners",
        ("Owners of {svc}", "Who looks after {svc}"),
        (
            "{who} owns {svc} and reviews all changes to its API.",
            "Questions on {svc} belong in the channel `#team-{id}`.",
            "The {svc} handbook is in `docs/{id}/handbook.md`.",
        ),
        (
            "In August, the platform team answers for {svc}.",
            "The platform team answers for {svc} in August.",
        ),
    ),
    Aspect(
        "configuration",
        ("Configuration of {svc}", "How {svc} is configured"),
        (
            "The setting `{id}.max_batch` is {n} and is read at start only.",
            "Secrets of {svc} come from the vault path `team/{id}/main`.",
            "Do not set the region of {svc} in an environment variable.",
        ),
        (
            "Without a config file, {svc} starts in read-only mode.",
            "{svc} starts in read-only mode without a config file.",
        ),
    ),
    Aspect(
        "jobs",
        ("Jobs of {svc}", "What {svc} runs unattended"),
        (
            "The cleanup job of {svc} runs at {n}:30 UTC.",
            "{who} wrote the backfill of {svc} and knows its quirks.",
            "Never run two {svc} backfills side by side.",
        ),
        (
            "On the first day of a quarter, {svc} jobs are paused.",
            "{svc} jobs are paused on the first day of a quarter.",
        ),
    ),
)

WHY = (
    "**Why:** an outage of {svc} in week {n} began this way.",
    "**Why:** a customer of {svc} complained about it {few} times.",
    "**Why:** {who} lost a day over it in {svc}.",
)
HOW = (
    "**How to apply:** whenever {svc} is touched.",
    "**How to apply:** in every review of {svc} code.",
)

DIFFERENCES: dict[str, tuple[tuple[str, str], ...]] = {
    "number": (
        ("The upload limit of {svc} is {n} MB.", "The upload limit of {svc} is {m} MB."),
        ("{svc} needs Python 3.11 or newer.", "{svc} needs Python 3.12 or newer."),
        ("Review changes of {svc} with two people.", "Review changes of {svc} with three people."),
    ),
    "negation": (
        (
            "Restart {svc} after a change of its config.",
            "Do not restart {svc} after a change of its config.",
        ),
        ("Always run {svc} migrations by hand.", "Never run {svc} migrations by hand."),
        ("The {svc} snapshot can be deleted safely.", "The {svc} snapshot can't be deleted safely."),
    ),
    "name": (
        ("Ann signs off the budget of {svc}.", "Ben signs off the budget of {svc}."),
        ("The {svc} events are stored in Kafka.", "The {svc} events are stored in Redis."),
        ("Use `retry_soft` for {svc} imports.", "Use `retry_hard` for {svc} imports."),
    ),
    "path": (
        ("The {svc} schema is db/{id}/schema.sql.", "The {svc} schema is db/{id}/tables.sql."),
        ("Put {svc} scripts into `tools/{id}/`.", "Put {svc} scripts into `scripts/{id}/`."),
    ),
    "url": (
        (
            "The runbook of {svc} is https://wiki.example.com/{id}/run.",
            "The runbook of {svc} is https://wiki.example.com/{id}/ops.",
        ),
    ),
    "unit": (
        ("The grace period of {svc} is {n} seconds.", "The grace period of {svc} is {n} minutes."),
        ("The heartbeat of {svc} comes every {n}s.", "The heartbeat of {svc} comes every {n}ms."),
    ),
    "direction": (
        ("Drain {svc} before the schema is migrated.", "Drain {svc} after the schema is migrated."),
        (
            "In {svc}, run the linter before the type checker.",
            "In {svc}, run the type checker before the linter.",
        ),
        ("Copy {svc} data from Oslo to Bergen.", "Copy {svc} data from Bergen to Oslo."),
    ),
    "quantifier": (
        ("All handlers of {svc} are idempotent.", "Some handlers of {svc} are idempotent."),
        ("Each {svc} worker holds a lease.", "One {svc} worker holds a lease."),
    ),
    "modal": (
        (
            "Operators must pause {svc} while a backup runs.",
            "Operators may pause {svc} while a backup runs.",
        ),
        ("Clients of {svc} should send a trace id.", "Clients of {svc} must send a trace id."),
    ),
    "date": (
        ("The freeze of {svc} ends on 2026-11-20.", "The freeze of {svc} ends on 2026-11-27."),
        ("Support for the old {svc} API ends on 3 May.", "Support for the old {svc} API ends on 5 May."),
    ),
    "condition": (
        (
            "Flush the {svc} queue by hand.",
            "Flush the {svc} queue by hand when the broker was restarted.",
        ),
        (
            "Approve {svc} refunds without a second look.",
            "Approve {svc} refunds without a second look if they are below the limit.",
        ),
    ),
}
"""Kind of the one difference to pairs of statements that must never be merged."""

DATED = (
    ("The {svc} freeze began yesterday.", "yesterday", -1),
    ("{svc} was moved to the new cluster today.", "today", 0),
    ("{who} hands {svc} over tomorrow.", "tomorrow", 1),
    ("{svc} lost its replica 3 days ago.", "3 days ago", -3),
    ("The certificate of {svc} was renewed two weeks ago.", "two weeks ago", -14),
    ("The {svc} contract will end in 5 days.", "in 5 days", 5),
    ("The day before yesterday, {svc} ran out of disk.", "The day before yesterday", -2),
    ("The {svc} demo is the day after tomorrow.", "the day after tomorrow", 2),
)
"""Statement, phrase, and days from when it was said."""

UNCLEAR = (
    ("{svc} was slow last week.", "last week"),
    ("{who} saw {svc} fail a few days ago.", "a few days ago"),
)
