"""Signed commits, as git has them: made without asking anybody for anything, and checked.

Nobody is at hand when gitmem commits: what needs a passphrase, a touch or a window cannot sign here. A key
in ssh-agent, or one without a passphrase, can.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gitmem.core.errors import RepositoryError
from gitmem.git.command import Configuration, GitCommand, peek
from gitmem.git.config import config_get, config_path
from gitmem.git.repository import Signature

SIGN_SECONDS = 5.0
"""How long making one signature may take; a key at hand needs some milliseconds."""

CHECK_SECONDS = 60.0
"""How long one look at signatures may take: two processes of ssh-keygen a signed commit."""

PORTION = 200
"""Commits that are looked at by one process of git."""

_SILENT = {"SSH_ASKPASS": "false", "SSH_ASKPASS_REQUIRE": "force", "GIT_TERMINAL_PROMPT": "0"}
"""Makes ssh-keygen give up where it would ask for a passphrase."""

_OWN_OUTPUT = ("-c", "log.showSignature=false", "-c", "log.follow=false")


@dataclass(frozen=True)
class RawSignature:
    """What git says of a commit's signature.

    Attributes:
        letter: git's `%G?`.
        signer: `%GS`; for an SSH key the first principal of its line among the allowed signers.
        key: `%GF`; `SHA256:…` for an SSH key.
    """

    letter: str
    signer: str
    key: str


def signs_unasked(git: GitCommand, git_dir: Path) -> bool:
    """Whether commits are to be signed here, and can be without a question: by an SSH key.

    OpenPGP and X.509 ask in a window of their own, which nothing here can forbid them.
    """
    try:
        return (
            config_get(git, None, "commit.gpgSign", kind="bool", git_dir=git_dir) == "true"
            and config_get(git, None, "gpg.format", git_dir=git_dir) == "ssh"
        )
    except RepositoryError:
        return False


def signed_commit(
    git: GitCommand,
    git_dir: Path,
    tree: str,
    parents: Sequence[str],
    author: Signature,
    committer: Signature,
    message: str,
) -> str:
    """Makes a signed commit of objects that are stored already, asking nobody; returns its name.

    Raises:
        RepositoryError: git could not sign.
    """
    named = dict(_SILENT)
    for role, who in (("AUTHOR", author), ("COMMITTER", committer)):
        sign = "-" if who.offset < 0 else "+"
        date = f"@{who.time} {sign}{abs(who.offset) // 60:02}{abs(who.offset) % 60:02}"
        named |= {f"GIT_{role}_NAME": who.name, f"GIT_{role}_EMAIL": who.email, f"GIT_{role}_DATE": date}
    above = [word for parent in parents for word in ("-p", parent)]
    words = ["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S", tree, *above, "-F", "-"]
    data = message.encode("utf-8", "replace")
    done = git.run(words, git_dir=git_dir, input=data, env=named, check=False, timeout=SIGN_SECONDS)
    if done.returncode:
        raise RepositoryError(f"git could not sign a commit: {' '.join(done.stderr.split())[:200]}")
    return done.text.strip()


def sign_trial(git: GitCommand, git_dir: Path) -> str:
    """Why commits that settings want signed are not; empty where they are, or nobody wants it."""
    try:
        if config_get(git, None, "commit.gpgSign", kind="bool", git_dir=git_dir) != "true":
            return ""
        if not signs_unasked(git, git_dir):
            return "gpg.format is not ssh"
        tree = git.run(["hash-object", "-t", "tree", "-w", "--stdin"], git_dir=git_dir).text
        nobody = Signature("gitmem", "gitmem@localhost", 0)
        signed_commit(git, git_dir, tree, (), nobody, nobody, "Try")
    except RepositoryError as error:
        return error.message
    return ""


def missing_program(git: GitCommand, git_dir: Path, config: Configuration) -> str:
    """The program that SSH signatures need, where it is not there; else empty."""
    program = config_path(git, config, "gpg.ssh.program", git_dir) or "ssh-keygen"
    return "" if shutil.which(program, path=git.environ.get("PATH")) else program


def check_signatures(
    git: GitCommand, git_dir: Path, commits: Sequence[str], signers: str, *, any_kind: bool
) -> dict[str, RawSignature]:
    """Has git look at the signatures of some commits.

    Args:
        signers: the allowed signers file.
        any_kind: whether OpenPGP and X.509 count; else their programs are not even started.

    Returns:
        Commit to what git says; without those that it could not look at in time.
    """
    words = ["-c", f"gpg.ssh.allowedSignersFile={signers}"] if signers else []
    if not any_kind:
        words += ["-c", "gpg.program=false", "-c", "gpg.x509.program=false"]
    words += [f"--git-dir={git_dir}", *_OWN_OUTPUT, "log", "--stdin", "--no-walk=unsorted", "--no-color"]
    words += ["--format=%H%x00%G?%x00%GS%x00%GF"]
    asked = "".join(f"{oid}\n" for oid in commits).encode()
    seen = peek(git, words, cwd=git_dir, seconds=CHECK_SECONDS, size=1 << 24, input=asked)
    found = {}
    for line in seen.text.split("\n")[:-1]:
        oid, _, rest = line.partition("\0")
        letter, _, rest = rest.partition("\0")
        signer, _, key = rest.partition("\0")
        found[oid] = RawSignature(letter, signer, key)
    return found
