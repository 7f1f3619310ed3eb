"""What builds, checks and measures Bentpipe: README.md has a table."""
