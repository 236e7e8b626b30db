"""Proof that nothing is lost: kills, mutated inputs and long runs, each against the real command line or readers.

`make reliability` runs it all for an hour; tests/reliability runs a little of it. docs/reliability.md has the results.
"""
