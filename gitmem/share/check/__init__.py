"""The gate for requests: judges memory, or snapshots in code, against what was there before."""
