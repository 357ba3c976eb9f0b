"""The recall flow: which memories a prompt or a question calls up."""
