"""Conversations: runs of one session, in which a question is read with those before it."""
