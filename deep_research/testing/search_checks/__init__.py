"""The checks of the search suite, by what they are about."""
