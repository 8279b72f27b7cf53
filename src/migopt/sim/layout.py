"""Where everything lies in the kernel's two flat arrays of 64-bit integers.

``D`` describes an instance and is never written; ``S`` is the state of one run, so that a snapshot
is a copy and many runs share one ``D``. Jobs are numbered in order of due date, release, id (the
order of every tie), slots (the places where a slice can be) by type, then GPU, then start. A type
is a profile of a GPU model, or that model with MIG off. The constants are compiled into the kernel
(``migopt.compiled`` notices when they change).
"""

from __future__ import annotations

# --- D: header: counts and settings ----------------------------------------------------------
JOBS = 0
SLOTS = 1
TYPES = 2
GPUS = 3
CLASSES = 4  # distinct rows of rates
GROUPS = 5  # distinct sets of types on which a job fits; group number GROUPS is the pool
OVERHEAD = 6  # resume overhead in ms, 0 unless preemption costs
SCOPE = 7
TAU = 8
HORIZON = 9
LEVELS = 10  # most compute slices of a GPU, plus one
PARTS = 11
WEIGHT_P = 12  # energy weight a = p / q, for the rule MET
WEIGHT_Q = 13

# --- D: where the tables begin ---------------------------------------------------------------
D_JOB = 14
D_ARRIVAL = 15
D_RATE = 16
D_TYPE = 17
D_SLOT = 18
D_RANKED = 19  # slots in order of size, GPU, start
D_GPU = 20
D_PART = 21
D_ITEM = 22
D_PLACE = 23  # (GPU, number of a placement in its model) -> slot
D_GROUP = 24
D_POWER = 25

# --- D: where the tables of S begin ----------------------------------------------------------
S_JOB = 26
S_SLOT = 27
S_ENDS = 28  # completion heap
S_WAIT_SIZE = 29
S_WAIT = 30
S_WAIT_POS = 31
S_WORD = 32
S_SUMMARY = 33
S_TYPE = 34
S_VICTIM = 35
S_GPU = 36
S_LEVEL = 37
S_QUEUE = 38
S_CLASS_MS = 39
S_URGENT = 40
S_URGENT_POS = 41
S_RECENT = 42
S_LIST = 43
S_SIZE = 44
PLACES = 45  # most placements of a model
PINNED = 46  # jobs that may not be stopped
HEADER_D = 48

# A job in D.
RELEASE, DUE, WORK, CLASS, GROUP, STOPPABLE, FIFO, ELASTIC, WEIGHT, INDEX = range(10)
JOB_D = 10
# A type in D.
T_COMPUTE, T_FIRST, T_WORD, T_SUMMARY, T_WORDS, T_MODEL, T_OFF = range(7)
TYPE_D = 8
# A slot in D.
L_GPU, L_TYPE, L_RANK = range(3)
SLOT_D = 4
# A GPU in D.
G_MODEL, G_FIRST_PART, G_COMPUTE = range(3)
GPU_D = 4
# A partition in D: first item, end of items.
PART_D = 2
# A group in D: mask of types, start of its heap in S_WAIT.
GROUP_D = 2

# --- S: header -------------------------------------------------------------------------------
NOW = 0
CAUSE = 1
UNFINISHED = 2
NEXT_ARRIVAL = 3
DISPATCH_WAKE = 4
PARTITION_WAKE = 5
QUIET = 6
INSTANTS_NOW = 7
ENDS = 8  # running jobs
FREE_TYPES = 9
PRESENT_TYPES = 10
DIRTY = 11
RECENT = 12
URGENT = 13
QUEUE_HEAD = 14
QUEUE_SIZE = 15
WAKES = 16
PENDING = 17
PREEMPTIONS = 18
REPARTITIONS = 19
LOG = 20
LOG_CAPACITY = 21
LOG_COUNT = 22
RULE_SCOPE = 23
RULE_ORDER = 24
RULE_CHOICE = 25
THRESHOLD = 26
MAX_STOPS = 27
RANDOM_STATE = 28
PART_MODE = 29
TABLE = 30
ENTRIES = 31
LISTED = 32
REFUSED = 33
TARDINESS = 34  # weighted, of finished jobs
FINISHED = 35
DECISIONS = 36
ARRIVALS_END = 37  # jobs that will have come when arrivals are over
HEADER_S = 48

# A job in S.
LEFT, SLOT, STOP_AT, STOP_SLOT, STOP_OVER, END, STOPS, KEY = range(8)
JOB_S = 8
# A slot in S.
JOB, ENDS_POS, SINCE, OVER, VICTIM_POS, PLAN = range(6)
SLOT_S = 6
# A type in S.
T_FREE, T_PRESENT, T_VICTIMS = range(3)
TYPE_S = 4
# A GPU in S.
PARTITION, UNTIL, LEVEL, LAST, BUSY, OCCUPIED, CHANGED, ASK, SIZE_SUM, PRESENT = range(10)
GPU_S = 10
# A line of the log: start, end, slot, job; of a repartition: start, end, GPU, -1 - (old * PARTS + new).
LOG_S = 4

# Values of SLOT of a job that does not run.
WAITING, UNRELEASED, DONE = -1, -2, -3
# Values of JOB of a slot that runs nothing.
IDLE, ABSENT = -1, -2
# Bits of CAUSE, as in ``migopt.sim.state.Cause``.
COMPLETION, REPARTITION_END, ARRIVAL, PARTITION_WOKEN, DISPATCH_WOKEN, REPARTITION_START = (
    1,
    2,
    4,
    8,
    16,
    32,
)
# Values of SCOPE.
SCOPE_GPU, SCOPE_SLICES, SCOPE_NEVER = 0, 1, 2
# Values of PART_MODE.
FIXED, TIMETABLE, GIVEN = 0, 1, 2
# What a run returns.
FINISHED_RUN, LOG_FULL, STUCK, ENDLESS, DECIDE, NO_REPARTITION = 0, 1, 2, 3, 4, 5

NEVER = 2**62
MS_PER_DAY = 86_400_000
STUCK_INSTANTS = 10_000
