"""gitmem: what coding agents learn, kept in git."""

__version__ = "0.1.0"
