"""A supervisor of capabilities: agents elsewhere and here, of which each does one thing and says when it is done."""
