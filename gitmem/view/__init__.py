"""The page: memory to look at and decide on in a browser of this machine."""
