"""Mutation testing: small wrong changes to the source, which the tests must notice. See `__main__.py`."""
