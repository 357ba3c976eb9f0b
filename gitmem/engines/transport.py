"""How requests to a Messages API travel: to the endpoint that was set and nowhere else, and none for hours.

Left alone, the SDK takes proxies and certificates from the environment, follows redirects with the key in
its header, waits as long as `Retry-After` says, and reads a stream of pings for ever.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator

import httpx2

from gitmem.engines.messages import ApiSettings

LONGEST_WAIT = 30.0
"""Seconds between two tries; told to wait longer, the engine fails, and the work waits for the next job."""


def http_client(settings: ApiSettings) -> httpx2.Client:
    """Makes the client that the SDK sends through."""
    return httpx2.Client(
        transport=transport_of(settings), timeout=settings.timeout, follow_redirects=False, trust_env=False
    )


def transport_of(settings: ApiSettings) -> httpx2.BaseTransport:
    """Makes its transport.

    Certificates are the system's, and those in the person's own `gitmem.caFile`: who could set a proxy and
    a certificate both would read everything.

    Raises:
        OSError: that file cannot be read, or holds no certificates.
    """
    verify = ssl.create_default_context(cafile=settings.ca_file) if settings.ca_file else True
    inner = httpx2.HTTPTransport(verify=verify, trust_env=False, proxy=settings.proxy or None)
    return _Bounded(inner, settings.patience)


class _Bounded(httpx2.BaseTransport):
    """Ends what takes too long in all, however often a byte comes."""

    def __init__(self, inner: httpx2.BaseTransport, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        end = time.monotonic() + self._seconds
        response = self._inner.handle_request(request)
        if _wait_of(response) > LONGEST_WAIT:
            response.headers["x-should-retry"] = "false"
        if isinstance(response.stream, httpx2.SyncByteStream):
            response.stream = _Stream(response.stream, end)
        return response

    def close(self) -> None:
        self._inner.close()


class _Stream(httpx2.SyncByteStream):
    def __init__(self, inner: httpx2.SyncByteStream, end: float) -> None:
        self._inner, self._end = inner, end

    def __iter__(self) -> Iterator[bytes]:
        for chunk in self._inner:
            if time.monotonic() > self._end:
                raise httpx2.ReadTimeout("the answer took too long in all")
            yield chunk

    def close(self) -> None:
        self._inner.close()


def _wait_of(response: httpx2.Response) -> float:
    """Seconds that a server wants to be left alone; without end where it names a date."""
    for name, unit in (("retry-after-ms", 1_000), ("retry-after", 1)):
        told = response.headers.get(name)
        if told is not None:
            try:
                return float(told) / unit
            except ValueError:
                return float("inf")
    return 0.0
