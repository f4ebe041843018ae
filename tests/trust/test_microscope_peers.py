"""Models of other libraries, where they are installed: a Mamba of transformers, a reservoir of reservoirpy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from hippozoo.microscope import exact_profile, look
from hippozoo.microscope.recording import subject_for


@pytest.mark.filterwarnings("ignore")
def test_a_mamba_of_transformers_is_looked_at():
    """Of random weights, from a configuration; the state after the last token is that of one call."""
    transformers = pytest.importorskip("transformers", reason="needs transformers")
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    config = transformers.MambaConfig(vocab_size=7, hidden_size=8, state_size=4, num_hidden_layers=2)
    model = transformers.MambaModel(config)
    tokens = np.random.default_rng(0).integers(7, size=(16, 40))
    subject = subject_for(model)
    assert subject.tokens == 7
    last = subject.record(tokens, np.array([39])).states[:, 0]
    model.eval()
    with torch.no_grad():
        cache = model(torch.from_numpy(tokens), use_cache=True).cache_params
        whole = torch.cat([part for _, part in subject.numbers(cache)], 1).numpy()
    assert_allclose(last, whole, rtol=1e-3, atol=1e-4)
    profile = look(model, tokens, 3).profile
    assert profile.value[0] > 1.5
    assert list(look(model, tokens, 3).by_layer) == ["layer 1", "layer 2"]


@pytest.mark.filterwarnings("ignore")
def test_a_linear_reservoir_of_reservoirpy_has_its_closed_form():
    nodes = pytest.importorskip("reservoirpy.nodes", reason="needs reservoirpy")
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(12, 12))
    weights *= 0.8 / np.abs(np.linalg.eigvals(weights)).max()
    entry = rng.normal(size=(12, 1))
    node = nodes.Reservoir(W=weights, Win=entry, bias=np.zeros(12), activation="identity", lr=1.0)
    responses = [entry[:, 0]]
    while len(responses) < 96:
        responses.append(weights @ responses[-1])
    view = look(node, "noise", 24)
    assert_allclose(view.profile.value, exact_profile(np.array(responses), 24), atol=0.02)
