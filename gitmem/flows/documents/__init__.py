"""Living documents held against git: found, checked, and proposed anew as a branch."""
