"""Living documents: files of the code tree that are kept true to the code they name."""
