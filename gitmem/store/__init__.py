"""Where memory is kept: git objects and refs, live directories, history, the catalog."""
