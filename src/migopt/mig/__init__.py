"""What operators ask about MIG GPUs: place, plan, recommend, lint, and the formats they use."""
