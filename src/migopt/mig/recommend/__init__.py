"""The best partition for a mix of jobs: MISO's optimiser, for one GPU and for many."""

from migopt.mig.recommend.fleet import recommend_fleet
from migopt.mig.recommend.mix import OBJECTIVES, MixJob, Recommendation, RunnerUp, read_mix
from migopt.mig.recommend.one_gpu import recommend

__all__ = [
    "OBJECTIVES",
    "MixJob",
    "Recommendation",
    "RunnerUp",
    "read_mix",
    "recommend",
    "recommend_fleet",
]
