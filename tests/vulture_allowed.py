"""Names that nothing of ours calls although they are needed. Read by vulture, not run.

Each is used by name from outside: by Python, by a library, by a template, or by the programs of users.
"""
# ruff: noqa: B018

from __future__ import annotations

from typing import Any

name: Any = None

# Python, when the package is asked for a name that it loads late.
name.__getattr__
# click.
name.format_usage
name.format_commands
name.completion
name.explain
# Jinja2's sandbox.
name.intercepted_binops
name.getitem
name.is_safe_callable
name.visit_Concat
# shlex.
name.whitespace_split
name.commenters
# Templates of the HTML report.
name.x
name.height
# Types that say what a check looks like.
name.Check
name.PairCheck
# Users of the library.
name.of_directory
name.short_type
name.hidden_size
name.from_env
name.autofill
name.validate
name.compatible_with
# Streams differ by it; nobody reads it.
name.channel
# Read from manifests and hosts; no check asks for them yet.
name.host_network
name.nvcc
# Asked by the tests of the catalogue.
name.may_hit
name.stands_alone
