"""Small, faithful copies of published layouts, written by the tests; each module has write(root) -> path to read."""
