"""Samples at uneven times, fast on the CPU: tables of the step in place of a matrix exponential per sample.

Inside ``torch.func``, in compiled graphs and on accelerators `hippozoo.layers.updates.roll_varying` takes their place,
which is also the definition that they are tested against.
"""
