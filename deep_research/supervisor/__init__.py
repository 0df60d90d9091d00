"""The supervisor: it alone decides what runs next."""
