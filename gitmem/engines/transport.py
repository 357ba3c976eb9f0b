"""How requests to a Messages API travel: to the endpoint that was set and nowhere else, and none for hours.

Left alone, the SDK takes proxies and certificates from the environment, follows redirects with the key in
its header, waits as long as `Retry-After` says, and reads a stream of pings for ever.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from functools import cache

import httpx2

LONGEST_WAIT = 30.0
"""Seconds between two tries; told to wait longer, the engine fails, and the work waits for the next job."""


def http_client(timeout: float, patience: float, proxy: str, ca_file: str) -> httpx2.Client:
    """Makes the client that the SDK sends through.

    Args:
        timeout: seconds for each read and write.
        patience, proxy, ca_file: as for `transport_of`.
    """
    return httpx2.Client(
        transport=transport_of(patience, proxy, ca_file),
        timeout=timeout,
        follow_redirects=False,
        trust_env=False,
    )


def transport_of(patience: float, proxy: str, ca_file: str) -> httpx2.BaseTransport:
    """Makes its transport.

    Certificates are the system's, and those in the person's own `gitmem.caFile`: who could set a proxy and
    a certificate both would read everything.

    Args:
        patience: seconds that an answer may take in all.
        proxy: URL of a proxy; empty for none.
        ca_file: path of a PEM file; empty for the system's certificates.

    Raises:
        OSError: that file cannot be read, or holds no certificates.
    """
    verify = ssl.create_default_context(cafile=ca_file) if ca_file else _system_certificates()
    inner = httpx2.HTTPTransport(verify=verify, trust_env=False, proxy=proxy or None)
    return _Bounded(inner, patience)


@cache
def _system_certificates() -> ssl.SSLContext:
    """Read once a process: it takes 30 ms, and a job may make several clients."""
    return httpx2.create_ssl_context(trust_env=False)


class _Bounded(httpx2.BaseTransport):
    """Ends what takes too long in all, however often a byte comes."""

    def __init__(self, inner: httpx2.BaseTransport, seconds: float) -> None:
        self._inner, self._seconds = inner, seconds

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        end = time.monotonic() + self._seconds
        response = self._inner.handle_request(request)
        # A condition that did not hold (409) holds no better the next time.
        if response.status_code == 409 or _wait_of(response) > LONGEST_WAIT:
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
