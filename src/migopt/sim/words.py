"""Arrays as bare pointers inside compiled code (``migopt.compiled``).

An array that is passed to a function takes seven arguments, most of them on the stack, and every index
is looked at in case it is negative; a pointer takes one, in a register. The kernel's functions are
small and pass D and S on, so this is most of what a call costs. Functions that Python calls turn
their arrays into pointers first; those below index either.
"""

from __future__ import annotations

import operator
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model


class Constants(types.Type):
    """Pointer to words that nothing writes while compiled code runs, so that loads may be merged."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        super().__init__(name=f"Constants({dtype})")


@register_model(Constants)
class _ConstantsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager[kind.dtype].get_data_type().as_pointer())


@infer_global(operator.getitem)
class _ReadConstants(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        pointer, index = args
        if isinstance(pointer, Constants) and isinstance(index, types.Integer):
            return signature(pointer.dtype, pointer, types.intp)
        return None


@lower_builtin(operator.getitem, Constants, types.Integer)
def _read_constants(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    place = cgutils.gep_inbounds(builder, args[0], args[1])
    word = builder.load(place)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return context.data_model_manager[sig.return_type].from_data(builder, word)


def _pointer(make: Any, target: Any) -> Any:
    if isinstance(target, types.Array) and target.layout != "C":
        raise TypingError("only a contiguous array can be a pointer")
    signed = make(target.dtype)(target)

    def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if not isinstance(sig.args[0], types.Array):
            return args[0]
        return context.make_array(sig.args[0])(context, builder, args[0]).data

    return signed, codegen


@intrinsic
def constants(typingctx: Any, array: Any) -> Any:
    """Return a contiguous array as a pointer for reading only; a pointer is returned as it is."""
    return _pointer(Constants, array)


@intrinsic
def words(typingctx: Any, array: Any) -> Any:
    """Return a contiguous array as a pointer; a pointer is returned as it is."""
    return _pointer(types.CPointer, array)
