"""Learning when to repartition: environments over the simulator's kernel, and DQN."""
