"""The start for tasks that ask at the key itself: write under the previous sample, read under the present one."""

import torch

from hippozoo.zoo.associative import AssociativeMemory


def test_a_token_is_read_where_its_successor_was_written():
    layer = AssociativeMemory(6, start="present", generator=torch.Generator().manual_seed(0))
    tokens = torch.randn(1, 5, 6, generator=torch.Generator().manual_seed(1))
    tokens[:, 4] = tokens[:, 1]
    seen = layer.signals(tokens)
    torch.testing.assert_close(seen.read_address[:, 4], seen.write_address[:, 2], atol=1e-4, rtol=0)
    torch.testing.assert_close(seen.read_address[:, 1], seen.write_address[:, 2], atol=1e-4, rtol=0)
    assert (seen.write_gate < 0.2).all()  # nearly shut, as with "previous"


def test_with_the_other_start_it_is_read_one_sample_later():
    layer = AssociativeMemory(6, start="previous", generator=torch.Generator().manual_seed(0))
    tokens = torch.randn(1, 6, 6, generator=torch.Generator().manual_seed(1))
    tokens[:, 4] = tokens[:, 1]
    seen = layer.signals(tokens)
    torch.testing.assert_close(seen.read_address[:, 5], seen.write_address[:, 2], atol=1e-4, rtol=0)
