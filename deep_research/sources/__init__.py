"""Sources of evidence: search providers, and folders of documents."""
