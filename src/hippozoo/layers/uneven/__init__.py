"""Samples at uneven times, fast on the CPU: series of the step in place of a matrix exponential per sample.

A readout of few values goes chunk by chunk without the states (`reads`); states, and gradients to the steps, go step by
step with matrices that one product has made (`states`). Inside ``torch.func``, in compiled graphs and on accelerators
`hippozoo.layers.updates.roll_varying` takes their place, which is also the definition that both are tested against.
"""
