"""A backup whose host reads nothing: private memory as encrypted files of an ordinary git branch.

Each send adds one file: which refs private memory has, and a pack of what they got, encrypted in the age
format. All are encrypted to a key of the backup's own, which nobody else knows even the public half of: so
whoever can open a file knows that the host did not make it. That key lies in the backup, encrypted to the
person's recipients, and, once opened, on this machine, beside the memory that it protects.

A host sees when something was sent, about how much, and how many recipients there are. It may give back an
older state: who has seen a newer one refuses that; who begins anew cannot tell.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitmem.core.errors import CheckFailed, MissingObject, RepositoryError, UsageError
from gitmem.git.config import config_set, config_unset
from gitmem.git.open import create_bare, open_repository
from gitmem.git.remote import Move, Pushed, Remote, without_credentials
from gitmem.git.repository import BLOB, Repository, TreeEntry
from gitmem.ledger.files import read_json, write_atomically
from gitmem.ledger.land import ROOT_SIGNATURE

if TYPE_CHECKING:
    from gitmem.ledger.workspace import Workspace

SETTING = "backupEncryptTo"
BRANCH = "refs/heads/main"
KEY_FILE = "key.age"
VERSION = 1

MOST_FILES = 128
"""Files after which the next send writes all of memory as one: a new machine opens each of them."""

PACK_SECONDS = 600.0
_FILE = re.compile(r"(\d{8})\.age")
_SECRET = ("AGE-SECRET-KEY-", "-----BEGIN")
"""How identities begin. None is repeated in what is said."""
_REPOSITORY, _NOTE = "backup.git", "backup-key.json"
_NOTE_BYTES = 16 << 20

INSTALL = "Encrypted backups need pyrage: pip install 'gitmem-vcs[backup]' (from a clone: '.[backup]')"


def _age() -> Any:
    """The library that knows the age format.

    Raises:
        RepositoryError: it is not installed.
    """
    try:
        import pyrage  # an extra, and only for who encrypts
    except ImportError as error:
        raise RepositoryError("The age library is missing", INSTALL) from error
    return pyrage


def parse_recipients(texts: Sequence[str], path: Callable[[str], Path]) -> tuple[str, ...]:
    """Reads recipients as `age -r` and `-R` take them: `age1…`, `ssh-ed25519 …`, or a file of such lines.

    Args:
        path: where the file is that a person names so.

    Raises:
        UsageError: one is none of these; what `path` raises.
    """
    found: dict[str, None] = {}
    for text in texts:
        lines = [text]
        if not text.startswith(("age1", "ssh-", *_SECRET)):
            try:
                lines = path(text).read_text("utf-8", "replace").splitlines()
            except OSError as error:
                raise UsageError(
                    f"{text!r} is no recipient, and no file of them",
                    "Give what age-keygen printed (age1…), or an SSH public key: ~/.ssh/id_ed25519.pub",
                ) from error
        for line in lines:
            # Of an SSH key the comment stays out: it often is a person's address.
            words = line.split()[: 2 if line.startswith("ssh-") else 1]
            if words and words[0].startswith(_SECRET):
                what = "This" if line == text else text
                raise UsageError(
                    f"{what} is an identity, and no recipient: it stays with you",
                    "Give its public key: what age-keygen -y FILE prints, or the .pub beside an SSH key.",
                )
            if words and not words[0].startswith("#"):
                _recipient(" ".join(words))
                found[" ".join(words)] = None
    if not found:
        raise UsageError("There is no recipient", "Give what age-keygen printed: age1…")
    return tuple(found)


def _recipient(text: str) -> Any:
    age = _age()
    try:
        kind = age.ssh if text.startswith("ssh-") else age.x25519
        return kind.Recipient.from_str(text)
    except age.RecipientError as error:
        hint = "Give what age-keygen printed (age1…), or ssh-ed25519 …"
        raise UsageError(f"{text[:60]!r} is no recipient of age: {error}", hint) from error


def _identities(file: Path) -> list[Any]:
    age = _age()
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from error
    try:
        if data.startswith(b"-----BEGIN "):
            return [age.ssh.Identity.from_buffer(data)]
        lines = [line.strip() for line in data.decode("utf-8", "replace").splitlines()]
        found = [age.x25519.Identity.from_str(one) for one in lines if one and not one.startswith("#")]
    except age.IdentityError as error:
        raise UsageError(
            f"{file} is no identity that can be used: {error}",
            "Give a file of age-keygen, or an SSH key, without a passphrase.",
        ) from error
    if not found:
        raise UsageError(f"{file} holds no identity", "Give a file of age-keygen, or an SSH key.")
    return found


def recipients_of(workspace: Workspace) -> tuple[str, ...]:
    """Whom the backup is encrypted to by the person's settings; none where it is not."""
    return tuple(filter(None, workspace.settings.get(SETTING).split(",")))


def knows_key(workspace: Workspace) -> bool:
    """Whether this machine keeps the key of an encrypted backup."""
    return (workspace.private_state / _NOTE).exists()


def encrypt_to(workspace: Workspace, recipients: Sequence[str]) -> None:
    """Has the backup encrypted from now on; with others than before, under a new key."""
    value = ",".join(recipients)
    config_set(workspace.git, None, f"gitmem.{SETTING}", value, scope="global", git_dir=_common(workspace))
    workspace.settings = workspace.with_settings(**{SETTING.lower(): value}).settings


def forget_key(workspace: Workspace) -> None:
    """Forgets that the backup is encrypted, and its key here; what it holds stays there."""
    import shutil

    config_unset(workspace.git, None, f"gitmem.{SETTING}", scope="global", git_dir=_common(workspace))
    workspace.settings = workspace.with_settings(**{SETTING.lower(): ""}).settings
    (workspace.private_state / _NOTE).unlink(missing_ok=True)
    shutil.rmtree(workspace.private_state / _REPOSITORY, ignore_errors=True)


def _common(workspace: Workspace) -> Path:
    return workspace.layout.common_dir


@dataclass(frozen=True)
class KnownBackup:
    """What this machine knows of a backup.

    Attributes:
        identity: the backup's own key.
        key: blob of the file that it came from.
        recipients: whom that is encrypted to.
        number: of the newest file that was read or sent; 0 for none.
        last: blob of that file.
        refs: what it says of private memory: full name to commit.
    """

    identity: str
    key: str = ""
    recipients: tuple[str, ...] = ()
    number: int = 0
    last: str = ""
    refs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class SealedRemote(Remote):
    """An encrypted backup, used as any remote: what it has as refs is what its newest file says.

    Attributes:
        state: folder of what this machine knows of it.
        recipients: whom it is to be encrypted to.
    """

    state: Path = Path()
    recipients: tuple[str, ...] = ()

    @cached_property
    def _host(self) -> Remote:
        """The branch at the host, fetched into a repository of its own."""
        place = self.state / _REPOSITORY
        create_bare(place, self.git)
        return Remote(self.git, place, place, self.name, self.address, ("refs/heads/",))

    @cached_property
    def _files(self) -> Repository:
        return open_repository(self._host.cwd, self.git, bare=True)

    @cached_property
    def _memory(self) -> Repository:
        return open_repository(self.cwd, self.git, bare=True)

    @property
    def due(self) -> bool:
        """Whether it has to be encrypted to others than it is."""
        seen = self._seen()
        return seen is not None and set(seen.recipients) != set(self.recipients)

    def listed(self, *patterns: str, timeout: float | None = None) -> dict[str, str]:
        """What the backup has; it is fetched, since nothing else tells."""
        self._check_host(timeout)
        self.fetch()
        found = self.fetched(self._memory)
        return {ref: oid for ref, oid in found.items() if not patterns or ref in patterns}

    def _check_host(self, timeout: float | None) -> None:
        others = sorted(self._host.listed(timeout=timeout).keys() - {BRANCH})
        if others:
            raise CheckFailed(
                f"{self._place} holds {', '.join(others[:3])}, so it is no encrypted backup",
                "Name an empty repository of your own for it.",
            )

    def fetch(self) -> None:
        """Fetches and opens what came; arguments and errors as for a plain remote.

        Raises:
            CheckFailed: it is not what this machine saw last, or cannot be opened; nothing was taken in.
        """
        before = self._files.ref(self._host.tracking(BRANCH))
        self._host.fetch()
        seen = self._seen()
        tip = self._files.ref(self._host.tracking(BRANCH))
        if tip is None:
            # One that was emptied is filled again: that gives nobody anything old.
            self._show({})
            return
        key, files = self._tree(tip)
        if before and not self._files.is_ancestor(before, tip):
            self._drop_old()
        if seen is None or seen.key != key:
            raise CheckFailed(
                f"The key of {self._place} "
                + ("is not on this machine" if seen is None else "is another than this machine knows"),
                "If you changed it, or this machine is new: git mem backup URL --identity FILE",
            )
        self._note(self._read(seen, files))

    def _read(self, seen: KnownBackup, files: Mapping[int, str]) -> KnownBackup:
        """Opens the files that are new here, in order.

        Raises:
            CheckFailed: one is damaged or missing, or they end before what was seen.
        """
        newest = max(files, default=0)
        if newest < seen.number or (newest == seen.number and files[newest] != seen.last):
            raise self._older("is older than what this machine saw last, or another")
        goes_on = files.get(seen.number) == seen.last and dict(self.fetched(self._memory)) == dict(
            seen.refs
        )
        start = seen.number + 1 if goes_on else min(files)
        before = seen.last if goes_on else ""
        refs = dict(seen.refs) if goes_on else {}
        for number in range(start, newest + 1):
            if number not in files:
                raise CheckFailed(f"{self._place} lacks {_name(number)}; nothing was merged")
            head, pack = self._open(_name(number), files[number], seen.identity)
            begins = not head["before"]
            if head["number"] != number or (number != start if begins else head["before"] != before):
                raise CheckFailed(f"{_name(number)} of {self._place} stands in another's place")
            if pack:
                words = ["index-pack", "--stdin", "--fix-thin"]
                self.git.run(words, git_dir=self._memory.git_dir, input=pack, timeout=PACK_SECONDS)
            refs, before = head["refs"], files[number]
        self._show(refs)
        return KnownBackup(seen.identity, seen.key, seen.recipients, newest, before, refs)

    def _open(self, name: str, blob: str, identity: str) -> tuple[dict[str, Any], bytes]:
        age = _age()
        try:
            data: bytes = age.decrypt(self._files.blob(blob), [age.x25519.Identity.from_str(identity)])
            line, _, rest = data.partition(b"\n")
            head = json.loads(line)
            refs = {str(ref): str(oid) for ref, oid in head["refs"].items()}
            known = {"number": int(head["number"]), "before": str(head["before"]), "refs": refs}
            if head["version"] != VERSION:
                raise CheckFailed(f"{name} is of a newer gitmem", "Install it.")
            return known, rest[: int(head["bytes"])]
        except (age.DecryptError, ValueError, KeyError, TypeError, AttributeError, MissingObject) as error:
            raise CheckFailed(
                f"{name} of {self._place} is damaged, cut short or not yours; nothing was merged",
                "Memory here is as it was. From another machine of yours: git mem backup --off, then "
                "git mem backup an empty repository.",
            ) from error

    def push_all(self, moves: Sequence[Move]) -> dict[str, Pushed]:
        """Sends what refs are to be as one more file, or all of memory anew; all of it or nothing.

        Raises:
            RepositoryError: the remote cannot be reached.
        """
        there = self.fetched(self._memory)
        race = {move.branch: Pushed("race") for move in moves}
        rewritten = False
        for move in moves:
            old = there.get(move.branch)
            if move.expected is not None and move.expected != old:
                return race
            if old and move.oid and not self._memory.is_ancestor(old, move.oid):
                if move.expected is None:
                    return race
                rewritten = True
        now = {ref: oid for ref, oid in there.items() if ref not in race}
        now |= {move.branch: move.oid for move in moves if move.oid}
        tip = self._files.ref(self._host.tracking(BRANCH))
        # What a purge took out is not to stay in the history of a host, though it reads none of it.
        afresh = tip is None or rewritten or self.due
        sealed, commit = self._sealed(now, there, tip, afresh)
        sent = self._host.push_all([Move(BRANCH, commit, tip if afresh else None)])[BRANCH]
        if sent.outcome == "pushed":
            self._host.note(self._files, BRANCH, commit)
            self._note(sealed)
            if afresh and tip:
                self._drop_old()
        elif not moves:
            raise RepositoryError(f"{self._place} was not encrypted anew: {sent.words}", "Run it again.")
        return {move.branch: sent for move in moves}

    def _sealed(
        self, now: Mapping[str, str], there: Mapping[str, str], tip: str | None, afresh: bool
    ) -> tuple[KnownBackup, str]:
        """Makes the next commit of the branch, and what is known once it is there."""
        seen = None if afresh and (tip is None or self.due) else self._seen()
        key, files = self._tree(tip) if tip else ("", {})
        number = max((*files, (self._seen() or KnownBackup("")).number)) + 1
        if seen is None:
            seen, key = self._new_key()
        whole = afresh or len(files) >= MOST_FILES
        known = () if whole else tuple(there.values())
        pack = self._pack(tuple(now.values()), known)
        head = {
            "version": VERSION,
            "number": number,
            "before": "" if whole else files[number - 1],
            "refs": dict(sorted(now.items())),
            "bytes": len(pack),
        }
        data = json.dumps(head, separators=(",", ":")).encode() + b"\n" + pack
        blob = self._files.add_blob(_encrypted(_padded(data), seen.identity))
        names = {KEY_FILE: key} | ({} if whole else {_name(n): oid for n, oid in files.items()})
        names[_name(number)] = blob
        tree = self._files.add_tree({name: TreeEntry(BLOB, oid) for name, oid in names.items()})
        parents = () if afresh or tip is None else (tip,)
        commit = self._files.add_commit(tree, parents, ROOT_SIGNATURE, ROOT_SIGNATURE, "Backup\n")
        return KnownBackup(seen.identity, key, self.recipients, number, blob, dict(now)), commit

    def _new_key(self) -> tuple[KnownBackup, str]:
        identity = _age().x25519.Identity.generate()
        told = {"version": VERSION, "identity": str(identity), "recipients": list(self.recipients)}
        sealed = _age().encrypt(json.dumps(told).encode(), [_recipient(one) for one in self.recipients])
        return KnownBackup(str(identity)), self._files.add_blob(sealed)

    def _pack(self, wanted: Sequence[str], known: Sequence[str]) -> bytes:
        asked = [*dict.fromkeys(wanted), *(f"^{oid}" for oid in dict.fromkeys(known))]
        if set(wanted) <= set(known):
            return b""
        words = ["pack-objects", "--revs", "--stdout", "--quiet", *(["--thin"] if known else [])]
        data = "".join(f"{one}\n" for one in asked).encode()
        return self.git.run(words, git_dir=self._memory.git_dir, input=data, timeout=PACK_SECONDS).stdout

    def _tree(self, tip: str) -> tuple[str, dict[int, str]]:
        """The key's blob, and those of the files by their number."""
        entries = self._files.tree(self._files.commit(tip).tree)
        matches = {name: _FILE.fullmatch(name) for name in entries}
        files = {int(found[1]): entries[name].oid for name, found in matches.items() if found}
        if KEY_FILE not in entries or not files or len(files) + 1 != len(entries):
            raise CheckFailed(
                f"{self._place} is no encrypted backup", "Name an empty repository of your own for it."
            )
        return entries[KEY_FILE].oid, files

    def _show(self, refs: Mapping[str, str]) -> None:
        """Makes what the backup has the remote's refs here."""
        families = tuple(self.families)
        wanted = {ref: oid for ref, oid in refs.items() if ref.startswith(families)}
        for oid in wanted.values():
            self._memory.commit(oid)
        for ref in self.fetched(self._memory).keys() - wanted.keys():
            self.note(self._memory, ref, None)
        for ref, oid in wanted.items():
            self.note(self._memory, ref, oid)

    def _drop_old(self) -> None:
        """Deletes files that the branch no longer has: the key to them lies beside."""
        words = ["-c", "gc.reflogExpire=now", "-c", "gc.reflogExpireUnreachable=now"]
        words += ["gc", "--prune=now", "--quiet"]
        self.git.run(words, git_dir=self._host.cwd, check=False, timeout=PACK_SECONDS)

    def unlock(self, identity: Path) -> tuple[str, ...]:
        """Opens the backup's key with the person's identity, and keeps it here.

        Returns:
            Whom it is encrypted to.

        Raises:
            CheckFailed: there is no encrypted backup, or this identity does not open it.
        """
        age, who = _age(), _identities(identity)
        self._check_host(None)
        self._host.fetch()
        tip = self._files.ref(self._host.tracking(BRANCH))
        if tip is None:
            raise CheckFailed(
                f"{self._place} is empty", "Begin it: git mem backup URL --encrypt-to RECIPIENT"
            )
        blob, _ = self._tree(tip)
        try:
            told = json.loads(age.decrypt(self._files.blob(blob), who))
            seen = KnownBackup(str(told["identity"]), blob, tuple(map(str, told["recipients"])))
            age.x25519.Identity.from_str(seen.identity)
        except (age.DecryptError, age.IdentityError, ValueError, KeyError, TypeError) as error:
            raise CheckFailed(
                f"{identity} does not open {self._place}", "It needs the identity of one of its recipients."
            ) from error
        known = self._seen()
        self._note(known if known is not None and known.key == blob else seen)
        return seen.recipients

    def _seen(self) -> KnownBackup | None:
        value = read_json(self.state / _NOTE, _NOTE_BYTES)
        with suppress(KeyError, TypeError, ValueError, AttributeError):
            if value["version"] == VERSION and value["url"] == self._digest:
                refs = {str(ref): str(oid) for ref, oid in value["refs"].items()}
                people = tuple(map(str, value["recipients"]))
                number, last = int(value["number"]), str(value["last"])
                return KnownBackup(str(value["identity"]), str(value["key"]), people, number, last, refs)
        return None

    def _note(self, seen: KnownBackup) -> None:
        value = {
            "version": VERSION,
            "url": self._digest,
            "identity": seen.identity,
            "key": seen.key,
            "recipients": list(seen.recipients),
            "number": seen.number,
            "last": seen.last,
            "refs": dict(seen.refs),
        }
        write_atomically(self.state / _NOTE, (json.dumps(value, indent=1) + "\n").encode())

    @property
    def _digest(self) -> str:
        return hashlib.sha256(self.address.encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def _place(self) -> str:
        return without_credentials(self.address)

    def _older(self, what: str) -> CheckFailed:
        return CheckFailed(
            f"{self._place} {what}; nothing was merged or sent",
            "If you put it back yourself: git mem backup --off, then name it again with --identity FILE.",
        )


def _name(number: int) -> str:
    return f"{number:08}.age"


def _encrypted(data: bytes, identity: str) -> bytes:
    age = _age()
    sealed: bytes = age.encrypt(data, [age.x25519.Identity.from_str(identity).to_public()])
    return sealed


def _padded(data: bytes) -> bytes:
    """Data with zeros behind, so that its length says little: PADMÉ, an eighth more at most."""
    exponent = max(len(data), 2).bit_length() - 1
    low = max(0, exponent - exponent.bit_length())
    whole = -(-len(data) >> low) << low
    return data + bytes(whole - len(data))
