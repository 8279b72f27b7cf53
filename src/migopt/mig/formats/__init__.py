"""The formats in which operators see and say partitions, each read and written."""
