"""What git says when a remote cannot be used or refuses a push, and what a person can do about it."""

from __future__ import annotations

import re

from gitmem.store.git_errors import explain

# What git, ssh and curl say (in the C locale), and the hint; the first that fits counts.
_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"Host key verification failed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        "ssh does not know this host, or it has another key than before: run git fetch {name}, and look at "
        "what it asks.",
    ),
    (
        r"Permission denied \(|Too many authentication failures|Load key|sign_and_send_pubkey",
        "ssh has no key that the host takes: see ssh-add -l, and whether git fetch {name} works.",
    ),
    (
        r"could not read (Username|Password)|terminal prompts disabled|Authentication failed|error: 401"
        r"|Invalid username or (password|token)|HTTP Basic: Access denied",
        "git has no credentials that the host takes: run git fetch {name}, which asks for them, with a "
        "credential helper to keep them (git help credentials).",
    ),
    (
        r"error: 403|Permission to \S+ denied|Write access to repository not granted|not authorized",
        "You may not do that there: ask whoever looks after the repository.",
    ),
    (
        r"Could not resolve host|Name or service not known|Temporary failure in name resolution"
        r"|nodename nor servname|Network is unreachable|No route to host|Connection refused"
        r"|(Connection|Operation) timed out|Failed to connect|Couldn't connect|Connection reset"
        r"|unexpected disconnect|early EOF|the remote end hung up",
        "Nothing is lost: what you learned stays here until the remote can be reached. Then: git mem sync",
    ),
    (
        r"SSL|certificate",
        "git does not trust the host's certificate: see http.sslCAInfo in git help config.",
    ),
    (
        r"does not appear to be a git repository|[Rr]epository.* not found|error: 404"
        r"|No such file or directory",
        "See where it leads: git remote -v. To change that: git remote set-url {name} URL",
    ),
    (
        r"transport '.*' not allowed|protocol '.*' is not supported|unable to find remote helper",
        "git does not use such addresses: git remote set-url {name} URL",
    ),
    (
        r"dubious ownership",
        "It belongs to someone else. If you trust it: git config --global --add safe.directory PATH",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "The disk is full, here or there; nothing was moved.",
    ),
    (
        r"promisor|missing (blob|tree|commit)|bad object|not our ref",
        "The remote lacks objects that it should have: see git fsck there.",
    ),
)

_PROTECTED = re.compile(
    r"hook declined|protected|prohibited|not permitted|not allowed to|permission denied|denied by"
    r"|access denied|insufficient permission|rule violation|push declined|TF402455|TF401027",
    re.IGNORECASE,
)


def explain_remote(said: str, name: str) -> tuple[str, str]:
    """Finds why a remote cannot be used.

    Args:
        said: what git wrote, in the C locale; hostile text.
        name: the remote's.

    Returns:
        (message, hint); the hint is empty where none is known.
    """
    lines = said.splitlines()
    for pattern, hint in _HINTS:
        # ssh and curl give the reason; git's own last word is only that something failed.
        if line := next((line for line in lines if re.search(pattern, line)), ""):
            return explain(line)[0], hint.format(name=name)
    return explain(said)[0], ""


def is_protection(verdict: str) -> bool:
    """Whether a refusal is somebody's decision about a branch, which others branches may be free of.

    Args:
        verdict: what stands behind the ref in git's answer to a push, such as
            `[remote rejected] (protected branch hook declined)`.
    """
    return verdict.startswith("[remote rejected]") and _PROTECTED.search(verdict) is not None
