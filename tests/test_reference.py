"""The reference of the site: every public function and class has an example, and says what its numbers are."""

import ast
import builtins
import doctest
import importlib
import inspect
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_extensions"))
from api_reference import public_packages  # noqa: E402

# What comes out of a function is shown in the example of that function.
RESULTS = {
    "Alarm": "hippozoo.ensemble.ForecastStream",
    "AssociativeState": "hippozoo.zoo.associative.AssociativeMemory",
    "AssociativeTrace": "hippozoo.zoo.associative.trace",
    "Call": "hippozoo.layers.calls_inside",
    "CapacityCurve": "hippozoo.zoo.associative.capacity",
    "Carriers": "hippozoo_studies.generate",
    "CascadeWeights": "hippozoo.zoo.volterra.Cascade",
    "DeltaNetState": "hippozoo.baselines.DeltaNet",
    "Detail": "hippozoo.zoo.forecasting.Forecaster",
    "DetectorState": "hippozoo.ensemble.Detector",
    "EnsembleForecast": "hippozoo.ensemble.forecaster_for",
    "EnsembleState": "hippozoo.ensemble.EnsembleForecaster",
    "Explanation": "hippozoo.zoo.forecasting.explain",
    "FeedbackWeights": "hippozoo.zoo.volterra.FeedbackLoop",
    "FittedSystem": "hippozoo.zoo.volterra.fit_system",
    "ForecastMap": "hippozoo.zoo.forecasting.reduced_rank",
    "ForecasterState": "hippozoo.zoo.forecasting.Forecaster",
    "Identification": "hippozoo.zoo.volterra.identify",
    "InputEffects": "hippozoo.ensemble.input_effects",
    "LSTMState": "hippozoo.baselines.LSTM",
    "LearntState": "hippozoo.zoo.volterra.Learner",
    "Look": "hippozoo.training.train",
    "MambaState": "hippozoo.baselines.Mamba",
    "Mixer": "hippozoo.ensemble.forecaster_for",
    "Mixture": "hippozoo.ensemble.forecaster_for",
    "Outcome": "hippozoo.monitor.Monitor",
    "Over": "hippozoo.monitor.Monitor",
    "PooledState": "hippozoo.layers.SequenceModel",
    "Pushed": "hippozoo.ensemble.ForecastStream",
    "RecallState": "hippozoo.zoo.associative.Recall",
    "Scanner": "hippozoo.layers.SequenceLayer",
    "Signals": "hippozoo.zoo.associative.AssociativeMemory",
    "Staircase": "hippozoo.zoo.salience",
    "Stepper": "hippozoo.layers.SequenceLayer",
    "Surprise": "hippozoo.ensemble.Detector",
    "Trained": "hippozoo.training.train",
    "TransformerState": "hippozoo.baselines.Transformer",
    "Trial": "hippozoo.zoo.volterra.fit_system",
    "Validation": "hippozoo.zoo.forecasting.Forecaster",
    "VolterraState": "hippozoo.zoo.volterra.VolterraModel",
}
# Abstract: the examples are those of the classes that stand on them.
ABSTRACT = {
    "Construction",
    "Forecast",
    "KeyState",
    "Learner",
    "Readout",
    "ScaleExpansion",
    "StateLike",
}
# Made from a results folder or a file of weights, by a command; their tests have them.
OF_COMMANDS = {
    "Sentence",
    "Study",
    "Written",
    "load_characters",
    "report_text",
    "sentences",
    "write_markdown",
    "write_page",
}


def public():
    """Every public function and class of the library, once."""
    seen = {}
    for package in public_packages():
        if package.startswith("hippozoo_studies"):  # their names are what `hippozoo reproduce` calls
            continue
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            ours = (getattr(thing, "__module__", "") or "").startswith("hippozoo")
            if ours and (inspect.isclass(thing) or inspect.isfunction(thing)):
                seen.setdefault(id(thing), (f"{package}.{name}", thing))
    return dict(seen.values())


@pytest.fixture(scope="module")
def names():
    return public()


def test_every_public_name_is_described(names):
    assert not [name for name, thing in names.items() if not thing.__doc__]


def test_every_public_name_has_an_example_that_runs(names):
    without = [
        name
        for name, thing in names.items()
        if ">>>" not in (thing.__doc__ or "")
        and not (inspect.isclass(thing) and issubclass(thing, BaseException))
        and thing.__name__ not in RESULTS.keys() | ABSTRACT | OF_COMMANDS
    ]
    assert not without


def examples(thing):
    """The examples in the docstrings of a function, or of a class and its methods, as syntax trees."""
    members = vars(thing).values() if inspect.isclass(thing) else ()
    for one in (thing, *(member for member in members if inspect.isfunction(member))):
        text = inspect.cleandoc(one.__doc__ or "")
        yield [ast.parse(example.source) for example in doctest.DocTestParser().get_examples(text)]


def test_examples_use_names_that_a_reader_can_import(names):
    exported = {name for package in public_packages() for name in importlib.import_module(package).__all__}
    public_names = exported | set(dir(builtins)) | {"np", "torch", "pd", "nn", "Path"}
    for name, thing in names.items():
        for trees in examples(thing):
            nodes = [node for tree in trees for node in ast.walk(tree)]
            known = set(public_names)
            for node in nodes:
                if isinstance(node, ast.Import | ast.ImportFrom):
                    assert "._" not in (getattr(node, "module", "") or ""), (
                        f"{name}: its example imports something private"
                    )
                    known |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
                elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    known.add(node.id)
                elif isinstance(node, ast.arg):
                    known.add(node.arg)
                elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
                    known.add(node.name)
            used = {node.id for node in nodes if isinstance(node, ast.Name)}
            assert used <= known, f"{name}: its example uses {', '.join(used - known)}, which a reader cannot know"


def test_results_are_made_by_something_that_exists():
    for name in RESULTS.values():
        package, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(package), last), name


def test_public_names_have_their_source_in_the_library(names):
    """So that the site links to it."""
    for name, thing in names.items():
        assert "hippozoo" in (inspect.getsourcefile(inspect.unwrap(thing)) or ""), name
