"""MNIST as sequences: what the files hold arrives in the order asked for, and damaged files are refused."""

import gzip
import struct

import numpy as np
import pytest

from hippozoo.tasks.data_files import MissingDataError
from hippozoo_studies.data.mnist import load_mnist, pixel_permutation


def write_part(folder, part, pixels, labels):
    images = struct.pack(">4I", 0x803, len(pixels), 28, 28) + pixels.tobytes()
    digits = struct.pack(">2I", 0x801, len(labels)) + labels.tobytes()
    (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
    (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(digits))


@pytest.fixture
def folder(tmp_path, rng):
    place = tmp_path / "mnist"
    place.mkdir()
    for part, count in (("train", 6), ("t10k", 3)):
        pixels = rng.integers(256, size=(count, 28, 28)).astype(np.uint8)
        write_part(place, part, pixels, np.arange(count, dtype=np.uint8))
        np.save(tmp_path / f"{part}.npy", pixels)
    return tmp_path


def test_pixels_come_row_by_row_with_their_labels(folder):
    for found, part in zip(load_mnist("sequential", folder), ("train", "t10k"), strict=True):
        np.testing.assert_array_equal(found.pixels.reshape(-1, 28, 28), np.load(folder / f"{part}.npy"))
        np.testing.assert_array_equal(found.labels, np.arange(len(found)))


def test_permuted_pixels_are_shown_in_one_order_for_all_images(folder):
    for plain, permuted in zip(load_mnist("sequential", folder), load_mnist("permuted", folder), strict=True):
        np.testing.assert_array_equal(permuted.pixels[:, np.argsort(pixel_permutation())], plain.pixels)
        np.testing.assert_array_equal(permuted.labels, plain.labels)


def test_the_permutation_is_the_published_one():
    assert pixel_permutation()[:6].tolist() == np.random.RandomState(92916).permutation(784)[:6].tolist()


def test_a_missing_file_is_named_with_its_origin(folder, monkeypatch):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)
    (folder / "mnist" / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(MissingDataError, match=r"LeCun"):
        load_mnist("sequential", folder)


IMAGES = "train-images-idx3-ubyte.gz"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "cannot be unpacked"),
        (b"\0\0\x08", "ends within its header"),
        (struct.pack(">4I", 0x801, 6, 28, 28), "expected .2051, how many, 28, 28"),
        (struct.pack(">4I", 0x803, 6, 32, 32), "images of 28 by 28"),
        (struct.pack(">4I", 0x803, 4_000_000_000, 28, 28), "claims 4,000,000,000 items"),
        (struct.pack(">4I", 0x803, 6, 28, 28) + bytes(100), "claims 4,704 bytes of data and holds 100"),
        (struct.pack(">4I", 0x803, 6, 28, 28) + bytes(9999), "holds more"),
        (struct.pack(">4I", 0x803, 5, 28, 28) + bytes(5 * 784), "5 images and .* 6 labels"),
    ],
)
def test_a_damaged_file_is_refused_in_words(folder, content, words):
    damaged = b"not gzipped at all" if content is None else gzip.compress(content)
    (folder / "mnist" / IMAGES).write_bytes(damaged)
    with pytest.raises(ValueError, match=words):
        load_mnist("sequential", folder)


def test_a_truncated_file_is_refused(folder):
    path = folder / "mnist" / IMAGES
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(ValueError, match="cannot be unpacked"):
        load_mnist("sequential", folder)


def test_a_label_that_is_no_digit_is_refused(folder):
    digits = struct.pack(">2I", 0x801, 3) + bytes([1, 12, 3])
    (folder / "mnist" / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(digits))
    with pytest.raises(ValueError, match="label 1 is 12"):
        load_mnist("sequential", folder)
