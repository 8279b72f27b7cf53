"""Sets of free slots, one per type: 64 slots a word, and a summary bit per word."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from migopt.compiled import Ints, lean
from migopt.sim.layout import *


@intrinsic
def lowest_bit(typingctx: Any, value: Any) -> Any:
    """Return the index of the lowest set bit of a nonzero 64-bit integer."""
    signature = types.int64(types.int64)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return signature, codegen


@lean
def is_free(D: Ints, S: Ints, slot: int) -> bool:
    """Return whether a slot is in its type's set."""
    t = D[D_TYPE] + D[D[D_SLOT] + slot * SLOT_D + L_TYPE] * TYPE_D
    local = slot - D[t + T_FIRST]
    return (S[D[S_WORD] + D[t + T_WORD] + (local >> 6)] >> (local & 63)) & 1 != 0


@lean
def set_free(D: Ints, S: Ints, slot: int) -> None:
    """Put a slot into its type's set."""
    kind = D[D[D_SLOT] + slot * SLOT_D + L_TYPE]
    t = D[D_TYPE] + kind * TYPE_D
    local = slot - D[t + T_FIRST]
    word = local >> 6
    S[D[S_WORD] + D[t + T_WORD] + word] |= 1 << (local & 63)
    S[D[S_SUMMARY] + D[t + T_SUMMARY] + (word >> 6)] |= 1 << (word & 63)
    S[D[S_TYPE] + kind * TYPE_S + T_FREE] += 1
    S[FREE_TYPES] |= 1 << kind


@lean
def clear_free(D: Ints, S: Ints, slot: int) -> None:
    """Take a slot out of its type's set."""
    kind = D[D[D_SLOT] + slot * SLOT_D + L_TYPE]
    t = D[D_TYPE] + kind * TYPE_D
    local = slot - D[t + T_FIRST]
    word = local >> 6
    w = D[S_WORD] + D[t + T_WORD] + word
    S[w] &= ~(1 << (local & 63))
    if S[w] == 0:
        S[D[S_SUMMARY] + D[t + T_SUMMARY] + (word >> 6)] &= ~(1 << (word & 63))
    free = D[S_TYPE] + kind * TYPE_S + T_FREE
    S[free] -= 1
    if S[free] == 0:
        S[FREE_TYPES] &= ~(1 << kind)


@lean
def first_free(D: Ints, S: Ints, kind: int) -> int:
    """Return the first free slot of a type that has one."""
    t = D[D_TYPE] + kind * TYPE_D
    block = 0
    while S[D[S_SUMMARY] + D[t + T_SUMMARY] + block] == 0:
        block += 1
    word = block * 64 + lowest_bit(S[D[S_SUMMARY] + D[t + T_SUMMARY] + block])
    return D[t + T_FIRST] + word * 64 + lowest_bit(S[D[S_WORD] + D[t + T_WORD] + word])


@lean
def next_free(D: Ints, S: Ints, kind: int, slot: int) -> int:
    """Return the first free slot of a type after ``slot`` (or from its first, for -1); -1 if none."""
    t = D[D_TYPE] + kind * TYPE_D
    local = slot - D[t + T_FIRST] + 1 if slot >= 0 else 0
    word = local >> 6
    if word >= D[t + T_WORDS]:
        return -1
    rest = S[D[S_WORD] + D[t + T_WORD] + word] & (-1 << (local & 63))
    while rest == 0:
        word += 1
        if word >= D[t + T_WORDS]:
            return -1
        rest = S[D[S_WORD] + D[t + T_WORD] + word]
    return D[t + T_FIRST] + word * 64 + lowest_bit(rest)
