"""Partition rules, one file each; the file's stem is the rule's name."""
