"""Names that nothing of ours calls although they are needed; read by vulture, not run.

Each is used by name from outside: a console script, a hook of a tool, a method that a library calls.
"""
