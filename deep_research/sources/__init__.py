"""Where evidence comes from: search providers, and folders of documents."""
