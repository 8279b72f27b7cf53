"""GPU tables: one TOML file per model, with source and confidence per row.

A file's stem is its key and the GPU's name everywhere; product names are aliases. Adding a GPU is
adding one file. The format is in ``schema.py``.
"""

from migopt.gpus.catalog import (
    GpuTable,
    default_power,
    gpu_keys,
    load_gpu,
    load_gpu_file,
    load_table,
    load_table_file,
    power_curves,
)
from migopt.gpus.drivers import model_for_driver

__all__ = [
    "GpuTable",
    "default_power",
    "gpu_keys",
    "load_gpu",
    "load_gpu_file",
    "load_table",
    "load_table_file",
    "model_for_driver",
    "power_curves",
]
