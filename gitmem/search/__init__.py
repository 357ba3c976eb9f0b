"""Which memories may answer a question: a disposable index of blobs, and a formula over their words."""
