"""Tasks: a sub-query that an agent works on with tools until it has an answer, and what reviews it."""
