"""Permuted sequential MNIST: states by one product, rates chosen on validation, and a small study to the end."""

import gzip
import struct

import numpy as np
import pytest
import torch

from hippozoo.memory import MemoryLayer
from hippozoo.systems import LegT
from hippozoo_studies import Finished, reproduce
from hippozoo_studies.beyond import _pixel_readers as readers
from hippozoo_studies.beyond import psmnist as study
from hippozoo_studies.beyond._state_size import numbers_of_state
from hippozoo_studies.data.mnist import Mnist


@pytest.fixture
def data(tmp_path, rng):
    """Small files of noise, in the form of the published ones."""
    folder = tmp_path / "data" / "mnist"
    folder.mkdir(parents=True)
    for part, count in (("train", 40), ("t10k", 12)):
        images = (
            struct.pack(">4I", 0x803, count, 28, 28) + rng.integers(256, size=784 * count).astype(np.uint8).tobytes()
        )
        labels = struct.pack(">2I", 0x801, count) + rng.integers(10, size=count).astype(np.uint8).tobytes()
        (folder / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        (folder / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    return tmp_path / "data"


def test_one_product_gives_the_state_after_the_last_pixel(rng):
    pixels = rng.normal(size=(3, 784))
    _, state = MemoryLayer(LegT(20, 784.0), channels=1, dtype=torch.float64)(torch.from_numpy(pixels)[..., None])
    np.testing.assert_allclose(pixels @ readers.final_states("plain", 20), state[:, 0].numpy(), atol=1e-12)


@pytest.mark.parametrize("model", readers.ONCE)
def test_no_readout_has_more_parameters_than_allowed(model):
    matrix = readers.final_states(model, readers.ONCE[model])
    built = readers.readout(model, matrix.shape[1], readers.Recipe())
    assert 160_000 < sum(one.numel() for one in built.parameters()) <= study.MOST_PARAMETERS


@pytest.mark.parametrize("model", readers.ALWAYS)
def test_models_that_read_at_every_sample_have_one_size(model):
    built = readers.build_always(model, 25_000)
    assert abs(sum(one.numel() for one in built.parameters()) - 25_000) < 900
    assert built(torch.zeros(2, 30, 1)).shape == (2, 10)
    assert numbers_of_state(built.model) > 0


def test_a_full_state_gives_the_pixels_back_and_noise_gives_nothing(rng):
    pixels = rng.integers(256, size=(2000, 784)).astype(np.uint8)
    images = Mnist(pixels, np.zeros(2000, np.int64))
    assert readers.variance_explained(torch.from_numpy(pixels[:, :].astype(np.float32)), images, 1e-6) > 0.99
    assert readers.variance_explained(torch.from_numpy(rng.normal(size=(2000, 5)).astype(np.float32)), images) < 0.02


def test_validation_images_are_no_part_of_those_learnt_from(data):
    config = study.Config(held_out=10)
    parts = readers.split(config, {"view": "permuted", "part": "choose"}, data)
    assert len(parts.learn) == 30
    assert len(parts.score) == 10
    together = np.concatenate([parts.learn.pixels, parts.score.pixels])
    assert len(np.unique(together, axis=0)) == 40


def finished(rate, accuracy, loss=0.1, part="choose", seed=0, order=468, view="permuted"):
    unit = {"part": part, "model": "plain", "view": view, "order": order, "rate": rate, "seed": seed}
    found = {"validation_accuracy": accuracy, "validation_loss": loss, "accuracy": accuracy}
    return Finished(unit, found | {"parameters": 165_744, "state": 468, "core_seconds": 60.0}, 60.0)


def test_rates_are_chosen_by_validation_accuracy_and_only_when_all_are_there():
    config = study.Config(once=("plain",), always=(), rates=(1e-3, 2e-3), orders=(), views=("permuted",))
    tried = [finished(1e-3, 98.3)]
    assert study.more_units(config, tried) == []
    tried.append(finished(2e-3, 98.4))
    more = study.more_units(config, tried)
    assert {unit["rate"] for unit in more} == {2e-3}
    assert [unit["seed"] for unit in more] == [0, 1, 2]


def test_a_small_study_runs_to_the_end(tmp_path, data):
    document = reproduce("psmnist", quick=True, out=tmp_path, data=data)
    assert set(document["metrics"]["accuracy"]["permuted"]) == {"plain", "volterra", "lstm"}
    assert list(document["metrics"]["orders"]) == ["16", "468"]
    text = (tmp_path / "psmnist" / "table.md").read_text()
    assert "parallel LMU" in text
    assert "every sample" in text
    assert (tmp_path / "psmnist" / "accuracy.png").exists()


def test_a_model_trained_here_and_a_published_one_of_its_name_are_two_rows_of_the_figure():
    rows = study.points_of({"plain": {"mean": 99.0}, "lstm": {"mean": 87.0}, "mamba": {"mean": 86.0}})
    assert [value for name, value, _ in rows if name == "LSTM"] == [89.9, 87.0]
    assert rows[-1][:2] == ("Mamba", 86.0)
    assert len(rows) == len(study.PUBLISHED) + 3


def test_an_unknown_model_is_refused_before_anything_runs():
    with pytest.raises(ValueError, match="once has 'plane'"):
        study.units(study.Config(once=("plane",)))
