"""What the `anthropic` engine needs to know; all of it comes from the person's own configuration."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from gitmem.values import dataclass

DEFAULT_MODEL = "claude-haiku-5-5"
OFFICIAL_URL = "https://api.anthropic.com"

Lifetime = Literal["5m", "1h"]


@dataclass(frozen=True)
class ApiSettings:
    """Where to ask, as whom, which model, and how patiently.

    Attributes:
        api_key: the person's key; empty where there is none, which only a server of one's own accepts.
        base_url: address of a server that speaks the Messages API; empty for Anthropic's.
        model: the model's id.
        max_tokens: output tokens an answer may take, thinking included.
        timeout: seconds without a byte from the server until it counts as hanging.
        patience: seconds that one answer may take in all, whatever comes meanwhile.
        must_call: an answer before which no tool was called is not believed: many local models cannot call
            any, and would seem to have found nothing.
        questions: extraction asks one short question a sentence, without tools.
        proxy: what https requests go through; empty for none.
        ca_file: certificates to trust beside the system's; empty for none.
        retries: how often the SDK tries again after a rate limit, an overload or a lost connection.
        ttl: how long the provider keeps the session's prefix after its last use. An hour, since that counts
            from the start of a request: extractions five minutes apart miss a cache of five minutes
            wherever the earlier one took a single request (tests/bench/cache_reads.py has figures).
    """

    api_key: str = field(default="", repr=False)
    base_url: str = ""
    model: str = DEFAULT_MODEL
    max_tokens: int = 8_192
    timeout: float = 120.0
    patience: float = 600.0
    proxy: str = field(default="", repr=False)
    ca_file: str = ""
    retries: int = 2
    ttl: Lifetime = "1h"
    must_call: bool = False
    questions: bool = False

    @property
    def url(self) -> str:
        """Where requests go."""
        return self.base_url or OFFICIAL_URL
