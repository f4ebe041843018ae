"""The API reference: one page for each public package, with every name of its ``__all__``.

The pages are made anew from the code at every build, into ``docs/reference``, which is not committed.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import hippozoo

# Packages whose names are offered by the one around them.
INSIDE: set[str] = set()


def public_packages() -> list[str]:
    """Packages and modules of hippozoo that offer names: no underscore anywhere, and an ``__all__``."""
    found = []
    for module in pkgutil.walk_packages(hippozoo.__path__, "hippozoo."):
        parts = module.name.split(".")
        if any(part.startswith("_") for part in parts):
            continue
        if module.name in INSIDE:
            continue
        if not (module.ispkg or len(parts) == 2 or parts[-1] == "plots" or parts[1] in ("tasks", "experiments")):
            continue  # a module inside a package is reached through the package
        if getattr(importlib.import_module(module.name), "__all__", None):
            found.append(module.name)
    return sorted(found)


def page(package: str) -> str:
    """The page of one package, in reStructuredText."""
    module = importlib.import_module(package)
    title = package
    lines = [title, "=" * len(title), "", f".. automodule:: {package}", "   :no-members:", ""]
    for name in module.__all__:
        if name.startswith("__"):
            continue
        thing = getattr(module, name)
        if words := _words_of_a_type(thing):
            lines += [f".. py:data:: {package}.{name}", "", f"   {words}", ""]
            continue
        kind = "class" if inspect.isclass(thing) else "function" if callable(thing) else "data"
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            kind = "exception"
        if kind == "data":
            # Without a comment of its own a table would be described by the docstring of dict.
            lines += (
                [f".. autodata:: {package}.{name}", "   :no-value:", ""]
                if _has_comment(module, name)
                else [f".. py:data:: {package}.{name}", ""]
            )
            continue
        # A name that two packages offer is indexed where it is at home.
        home = thing.__module__.rpartition(".")[0]
        away = home != package and name in getattr(importlib.import_module(home), "__all__", ()) if home else False
        lines += [f".. auto{kind}:: {package}.{name}", *["   :no-index:"] * away, ""]
    return "\n".join(lines)


def _words_of_a_type(thing: Any) -> str:
    """What a name for a type stands for, which would otherwise be shown as a function or a class; empty for others."""
    if get_origin(thing) is Literal:
        return "A type: one of " + ", ".join(f"``{choice!r}``" for choice in get_args(thing)) + "."
    if inspect.isclass(thing) and thing.__module__.startswith("jaxtyping"):
        return f"A type: ``{thing.__name__}``."
    if get_origin(thing) is not None:
        return f"A type: ``{str(thing).replace('typing.', '').replace('collections.abc.', '')}``."
    return ""


def _has_comment(module: Any, name: str) -> bool:
    """Whether a ``#:`` comment stands before the name in the module's own source."""
    source = inspect.getsource(module).splitlines()
    places = [at for at, line in enumerate(source) if line.startswith((f"{name}:", f"{name} ="))]
    return bool(places) and places[0] > 0 and source[places[0] - 1].startswith("#:")


def write_pages(app: Any) -> None:
    """One page each and a list of them; a page that did not change keeps its time, so that builds are quick."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    packages = public_packages()
    texts = {f"{package}.rst": page(package) for package in packages}
    rows = "".join(f"   {package}\n" for package in packages)
    texts["index.rst"] = (
        "API reference\n=============\n\n"
        "Every public name, by package. The tree is the API: ``from hippozoo.memory import Memory``.\n\n"
        f".. toctree::\n   :maxdepth: 1\n\n{rows}"
    )
    for path in folder.glob("*.rst"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def without_requests(_app: Any, _what: str, name: str, _thing: Any, skip: bool, _options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: its words refer to pages of its own."""
    return True if name.startswith("set_") and name.endswith("_request") else skip or None


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before the sources are read."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-skip-member", without_requests)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
