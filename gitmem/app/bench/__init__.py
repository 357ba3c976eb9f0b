"""How good extraction and recall are, measured on data that a person labelled."""
