"""Bytes to text and back without loss, whatever they are: what is not UTF-8 survives as surrogates."""

from __future__ import annotations


def decode(data: bytes) -> str:
    """Text of the bytes; those that are not UTF-8 become lone surrogates."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """The inverse of `decode`."""
    return text.encode("utf-8", "surrogateescape")
