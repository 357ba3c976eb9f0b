"""Settings are git configuration: `gitmem.*`, read in one go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from gitmem.core.errors import UsageError
from gitmem.git.command import Configuration, GitCommand, read_configuration
from gitmem.values import dataclass

PERSONAL = frozenset(
    {
        "engine",
        "model",
        "baseurl",
        "cafile",
        "patience",
        "protocol",
        "maxruns",
        "maxtokens",
        "backup",
        "backupencryptto",
        "allow",
        "sessiondays",
    }
)
"""Settings that choose an endpoint, send data out, spend money, accept a secret, or concern all projects:
only the person's own configuration decides them."""

CHOICES: Mapping[str, tuple[str, ...]] = {
    "share": ("off", "review", "direct"),
    "extract": ("auto", "suggest", "off"),
    "mode": ("topics", "log"),
    "engine": ("agent", "offline", "anthropic", "claude-code"),
    "protocol": ("auto", "tools", "questions"),
}
WORDS: Mapping[str, tuple[str, ...]] = {"recallat": ("prompt", "action", "off")}
"""Settings that are several words, and the words they know."""

DEFAULTS: Mapping[str, str] = {
    "share": "off",
    "extract": "suggest",
    "mode": "topics",
    "engine": "agent",
    "protocol": "auto",
    "recallat": "prompt action",
    "claudedir": ".claude",
    "dream": "true",
    "notes": "true",
    "docs": "true",
    "recallcommits": "true",
    "sessiondays": "30",
    "extractevery": "1",
    "maxruns": "200",
    "maxtokens": "5000000",
}
_UNITS = {"": 1, "k": 1_024, "m": 1_024**2, "g": 1_024**3}


@dataclass(frozen=True)
class Settings:
    """All `gitmem.*` values in force for one repository.

    Attributes:
        values: lower-cased key without `gitmem.` to value; several values of one key joined by newlines.
        config: the whole of git's configuration, which they were read with.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    config: Configuration = field(default_factory=Configuration, repr=False)

    def get(self, key: str) -> str:
        """The value, or its default, or empty.

        Raises:
            UsageError: the value is none of those that the setting knows.
        """
        name = key.lower()
        value = self.values.get(name) or DEFAULTS.get(name, "")
        value = value.rsplit("\n", 1)[-1]
        if name in CHOICES and value not in CHOICES[name]:
            raise UsageError(f"gitmem.{key} is {value!r}", f"Set it to one of: {', '.join(CHOICES[name])}.")
        return value

    def all(self, key: str) -> tuple[str, ...]:
        """Every value of a setting that can be given more than once."""
        return tuple(filter(None, self.values.get(key.lower(), "").split("\n")))

    def words(self, key: str) -> tuple[str, ...]:
        """The words of a setting that is several: `prompt action`.

        Raises:
            UsageError: one of them is none of those that the setting knows.
        """
        found = tuple(self.get(key).lower().replace(",", " ").split())
        if unknown := [word for word in found if word not in WORDS[key.lower()]]:
            raise UsageError(
                f"gitmem.{key} has {unknown[0]!r}", f"Set it to any of: {', '.join(WORDS[key.lower()])}."
            )
        return found

    def number(self, key: str) -> int:
        """A whole number as git writes it, `k`, `m` and `g` included.

        Raises:
            UsageError: the value is none, or is below zero.
        """
        value = self.get(key).strip()
        found = re.fullmatch(r"([0-9]{1,15})([kmg]?)", value.lower())
        if found is None:
            raise UsageError(
                f"gitmem.{key} is {value!r}", f"Set it to a number: git config --global gitmem.{key} 100"
            )
        return int(found[1]) * _UNITS[found[2]]

    def flag(self, key: str) -> bool:
        """A yes-or-no setting as git reads it."""
        return self.get(key).lower() in ("true", "yes", "on", "1")

    @property
    def requires_signed(self) -> bool:
        """Whether memory of the project that is not proved is told to nobody's agent."""
        return self.flag("requireSigned")


def read_settings(git: GitCommand, cwd: Path | None = None) -> Settings:
    """Reads the settings that count in a folder, with one git call.

    Personal settings are taken from the person's own configuration (`--global`) alone.
    """
    config = read_configuration(git, cwd)
    values: dict[str, str] = {}
    for scope, key, value in config.rows:
        section, _, name = key.partition(".")
        if section != "gitmem" or (name.lower() in PERSONAL and scope not in ("global", "system")):
            continue
        name = name.lower()
        values[name] = f"{values[name]}\n{value}" if name in values else value
    return Settings(values, config)
