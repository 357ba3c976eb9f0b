"""Where memory is kept: memory refs read, written, merged, shared, purged; live directories, snapshots."""
