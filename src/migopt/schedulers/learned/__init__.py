"""Trained policies without a learning library: what they see, their network, their file."""
