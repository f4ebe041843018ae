"""Spoken digits: frames and split, on recordings that the test makes."""

import wave

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.tasks.data_files import MissingDataError
from hippozoo_studies.data.spoken_digits import BANDS, FRAME, HOP, load_spoken_digits, log_mel


def write(path, signal, rate=8_000, channels=1):
    path.parent.mkdir(parents=True, exist_ok=True)
    with wave.open(str(path), "wb") as file:
        file.setnchannels(channels)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(np.round(signal * 32767).astype("<i2").tobytes())


def tone(frequency, samples=4_000):
    return 0.5 * np.sin(2 * np.pi * frequency * np.arange(samples) / 8_000)


@pytest.fixture
def folder(tmp_path):
    for digit in (0, 7):
        for index in (0, 4, 5, 9):
            length = FRAME + (19 + index) * HOP
            write(tmp_path / f"fsdd/recordings/{digit}_george_{index}.wav", tone(300 + 200 * digit, length))
    (tmp_path / "fsdd/recordings/README.wav").write_text("not a recording by its name")
    return tmp_path


def test_the_official_split_goes_by_the_index_of_the_recording(folder):
    train, test = load_spoken_digits(folder, time=40)
    assert train.labels.tolist() == [0, 0, 7, 7] == test.labels.tolist()
    assert train.lengths.tolist() == [25, 29, 25, 29]
    assert test.lengths.tolist() == [20, 24, 20, 24]
    assert train.speakers == ("george",) * 4
    assert train.frames.shape == (4, 40, BANDS)


def test_bands_are_standardised_by_the_training_recordings(folder):
    train, _ = load_spoken_digits(folder, time=40)
    assert_allclose(train.frames.mean((0, 1)), 0, atol=1e-4)
    spread = train.frames.std((0, 1))
    heard = spread > 0.5  # a tone leaves some bands silent
    assert_allclose(spread[heard], 1, atol=1e-5)
    assert heard.sum() > BANDS // 2


def test_recordings_end_with_the_last_frame_and_silence_comes_before(folder):
    train, _ = load_spoken_digits(folder, time=40)
    silent = np.ptp(train.frames[0], axis=1)
    before = train.frames[0, :13]  # of 15 frames, the last two already hear the first samples
    assert_allclose(before, np.broadcast_to(before[0], before.shape), atol=1e-6)
    assert silent[-1] > 0
    long, _ = load_spoken_digits(folder, time=10)
    short, _ = load_spoken_digits(folder, time=20)
    raw = log_mel(tone(300, FRAME + 24 * HOP))
    assert len(raw) == 25
    assert long.lengths.tolist() == [10] * 4
    assert short.frames.shape[1] == 20


def test_a_tone_is_loudest_in_the_band_around_it():
    """The bands' centres from the definition of the mel scale."""
    ends = 2595 * np.log10(1 + np.array([60.0, 4000.0]) / 700)
    centres = 700 * (10 ** (np.linspace(*ends, BANDS + 2)[1:-1] / 2595) - 1)
    for band in (2, 8, 15, 22):
        assert log_mel(tone(centres[band])).mean(0).argmax() == band


def test_power_by_definition():
    signal = np.random.default_rng(0).normal(size=FRAME + HOP) * 0.1
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / (FRAME - 1))
    frequency = np.arange(129) * 8_000 / 256
    waves = np.exp(-2j * np.pi * np.outer(frequency, np.arange(FRAME)) / 8_000)
    power = np.abs(waves @ (window * signal[HOP:])) ** 2 / FRAME
    mel = np.linspace(2595 * np.log10(1 + 60 / 700), 2595 * np.log10(1 + 4000 / 700), 26)
    low, centre, high = (700 * (10 ** (mel[10 + k] / 2595) - 1) for k in range(3))
    weight = np.clip(np.minimum((frequency - low) / (centre - low), (high - frequency) / (high - centre)), 0, None)
    assert_allclose(log_mel(signal)[1, 10], np.log10(weight @ power + 1e-6), rtol=1e-9)


def test_what_is_missing_or_broken_is_told(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("HIPPOZOO_DATA", raising=False)
    with pytest.raises(MissingDataError, match="Spoken Digit Dataset"):
        load_spoken_digits(tmp_path / "elsewhere")
    broken = folder / "fsdd/recordings/3_george_7.wav"
    broken.write_bytes(b"RIFF1234WAVE")
    with pytest.raises(ValueError, match=r"3_george_7\.wav"):
        load_spoken_digits(folder)
    write(broken, tone(300), rate=16_000)
    with pytest.raises(ValueError, match="16 bits at 8000"):
        load_spoken_digits(folder)
    write(broken, tone(300, 0))
    with pytest.raises(ValueError, match="holds no samples"):
        load_spoken_digits(folder)
    for path in (folder / "fsdd/recordings").glob("*_[59].wav"):
        path.unlink()
    broken.unlink()
    with pytest.raises(ValueError, match="them test ones"):
        load_spoken_digits(folder)
