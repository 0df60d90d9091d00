"""Runs, events and reports in words, for whatever shows them: the command line, and any other interface."""
