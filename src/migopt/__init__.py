"""migopt: schedule AI jobs on NVIDIA MIG GPUs, and prove how good the schedule is."""
