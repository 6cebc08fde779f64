"""The rules of the house that a machine can hold."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import perfmodel

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "perfmodel"
MODULES = sorted(PACKAGE.rglob("*.py"))
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

# Folders of one person's machine: a text that names one depends on it.
HOME_FOLDERS = re.compile(r"(?<![\w.])/(home|root|Users)/\w")
TEXT_FOLDERS = ["perfmodel", "hardware", "examples", "tests", "benchmarks", ".ci"]


def where(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def nodes(*kinds: type[ast.AST]) -> Iterator[tuple[str, ast.AST]]:
    """Each piece of code of these kinds under perfmodel/, after the place where it stands."""
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, kinds):
                yield f"{where(path)}:{node.lineno}", node


def lines(node: ast.AST) -> int:
    """How many lines a piece of code has."""
    return node.end_lineno - node.lineno + 1


def lines_of_code(function: ast.AST) -> int:
    """The lines of a function without its docstring and those of the functions inside it."""
    inside = [node for node in ast.walk(function) if isinstance(node, FUNCTIONS)]
    return lines(function) - sum(lines(node.body[0]) for node in inside if ast.get_docstring(node))


def public_objects() -> Iterator[tuple[str, object]]:
    """Each public name and what it stands for; a public module (recipes, plot) stands for its own names too."""
    for name in perfmodel.__all__:
        value = getattr(perfmodel, name)
        yield name, value
        if isinstance(value, ModuleType):
            yield from ((f"{name}.{inner}", getattr(value, inner)) for inner in value.__all__)


def imports_the_roof(node: ast.AST) -> bool:
    """Whether an import is of perfmodel itself, not of one of its modules."""
    names = [node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return "perfmodel" in names


def called(node: ast.Call) -> str:
    """The last name of what is called: sympify in sympy.sympify(x)."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def test_files_are_under_300_lines() -> None:
    """One concept a file: none under perfmodel/ has 300 lines or more."""
    lengths = {where(path): len(path.read_text().splitlines()) for path in MODULES}
    assert {path: length for path, length in lengths.items() if length >= 300} == {}


def test_functions_are_under_40_lines() -> None:
    """No function under perfmodel/ has 40 lines or more, its docstring left out."""
    lengths = {f"{place} {node.name}": lines_of_code(node) for place, node in nodes(*FUNCTIONS)}
    assert {name: length for name, length in lengths.items() if length >= 40} == {}


def test_no_module_bears_the_name_of_a_public_function() -> None:
    """Importing perfmodel.x binds x in the package, so a module named like a function would replace it."""
    modules = {path.stem for path in MODULES} | {path.name for path in PACKAGE.rglob("*") if path.is_dir()}
    named_alike = [name for name in perfmodel.__all__ if name in modules]
    assert [name for name in named_alike if not isinstance(getattr(perfmodel, name), ModuleType)] == []


def test_only_the_shell_imports_the_roof() -> None:
    """The roof, perfmodel/__init__.py, stands above every module but cli: importing it from below is a circle."""
    roof = [place for place, node in nodes(ast.Import, ast.ImportFrom) if imports_the_roof(node)]
    assert [
        place
        for place in roof
        if not place.startswith(("perfmodel/__init__.py", "perfmodel/__main__.py", "perfmodel/cli/"))
    ] == []


def test_sympify_never_sees_text() -> None:
    """sympy.sympify runs text as code; with strict=True it refuses text, so no call goes without."""
    calls = [(place, node.keywords) for place, node in nodes(ast.Call) if called(node) == "sympify"]
    strict = [place for place, keywords in calls if "strict=True" in [ast.unparse(keyword) for keyword in keywords]]
    assert [place for place, _ in calls if place not in strict] == []


def test_importing_perfmodel_loads_no_heavy_library() -> None:
    """numpy, pandas and matplotlib load when first used, not with `import perfmodel`."""
    code = "import sys, perfmodel; print(*sorted({'numpy', 'pandas', 'matplotlib'} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_every_public_name_exists_once() -> None:
    """__all__ is the table of contents: it lists no name twice, and dir() offers each."""
    assert len(perfmodel.__all__) == len(set(perfmodel.__all__)) > 0
    assert set(perfmodel.__all__) <= set(dir(perfmodel))


def test_a_strict_type_checker_sees_every_public_name(tmp_path: Path) -> None:
    """The names load lazily, yet mypy --strict finds each one exported, as it must for who uses the library."""
    user = tmp_path / "user.py"
    user.write_text("\n".join(["import perfmodel", *[f"perfmodel.{name}" for name in perfmodel.__all__]]))
    run = subprocess.run([sys.executable, "-m", "mypy", user], cwd=ROOT, capture_output=True, text=True)
    assert "1 source file" in run.stdout, run.stdout + run.stderr
    assert [line for line in run.stdout.splitlines() if line.startswith(str(user))] == []


def test_every_public_name_has_an_example() -> None:
    """Each public function and class says what it does, with an example that runs as a doctest."""
    documented = {name: value for name, value in public_objects() if callable(value)}
    assert documented
    assert [name for name, value in documented.items() if ">>>" not in (value.__doc__ or "")] == []


def test_the_text_names_no_folder_of_one_machine() -> None:
    """Nothing in the repository depends on where it was written."""
    files = [path for folder in TEXT_FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    files += [path for path in ROOT.iterdir() if path.is_file()]
    texts = {where(path): path.read_text() for path in files if path.suffix not in (".pyc", ".png")}
    assert [path for path, text in texts.items() if HOME_FOLDERS.search(text)] == []
