"""The digits as sequences: the same images in both views, every image in one part."""

import numpy as np
import pytest

from hippozoo.tasks.digits import load_digits

pytest.importorskip("sklearn")


def test_both_views_show_the_same_images():
    for pixels, rows in zip(load_digits("pixels", seed=3), load_digits("rows", seed=3), strict=True):
        np.testing.assert_array_equal(pixels.images.reshape(-1, 8, 8), rows.images)
        np.testing.assert_array_equal(pixels.labels, rows.labels)


def test_every_image_is_in_one_part():
    from sklearn.datasets import load_digits as whole

    parts = load_digits("pixels", seed=1)
    together = np.concatenate([part.images[..., 0] for part in parts])
    known = (whole().data / 16 - 0.3).astype(np.float32)
    assert together.shape == known.shape
    np.testing.assert_array_equal(np.sort(together, 0), np.sort(known, 0))


def test_images_to_report_are_the_same_for_every_seed():
    one, other = load_digits("rows", seed=0), load_digits("rows", seed=1)
    np.testing.assert_array_equal(one[2].images, other[2].images)
    assert not np.array_equal(one[1].images, other[1].images)
