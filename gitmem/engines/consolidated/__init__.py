"""From a tree as a model left it, and its answer, to the changes of a dream."""
