"""What a dream must prove before a person sees it, and wherever it is looked at: from the trees alone."""
