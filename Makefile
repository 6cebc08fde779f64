# Every target makes what it needs: on a fresh machine, `make test` or `make demo` is the only command.

PYTHON ?= python3
PIP := .venv/bin/python -m pip --disable-pip-version-check --quiet
NEEDS := perfmodel needs Python 3.11 or later with venv (Debian: apt install python3-venv); try make PYTHON=python3.12

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench lock clean

help: ## list the targets
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile

demo: .venv/ready ## print the table of a Llama layer's decode on three chips
	@.venv/bin/python examples/llama_decode_table.py

test: lint ## run every check: lint, types, imports, doctests, tests, examples, the built wheel
	.venv/bin/python -m pytest -n 2 --dist loadgroup

lint: .venv/ready ## run ruff, mypy and the import contract
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports --no-logo

format: .venv/ready ## lay the code out and mend what ruff can mend
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

bench: .venv/ready ## run the benchmarks
	@set -e; for file in benchmarks/*.py; do echo "== $$file"; .venv/bin/python "$$file"; done

lock: ## resolve requirements.lock anew, with uv in an environment of its own
	$(PYTHON) -m venv .venv-lock
	.venv-lock/bin/pip --disable-pip-version-check --quiet install uv
	.venv-lock/bin/uv pip compile pyproject.toml --all-extras --group dev --universal --python-version 3.11 --upgrade \
		--generate-hashes --no-emit-index-url --custom-compile-command "make lock" --quiet --output-file requirements.lock
	rm -r .venv-lock

clean: ## remove the environment, the caches and what was built
	rm -rf .venv .venv-lock dist build .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -r {} +

# The one step that needs the network. What it downloads, checked by its hash, stays in .venv/wheels:
# the wheel test fills its own fresh environment from there.
.venv/dependencies: requirements.lock
	$(if $(shell $(PYTHON) -c "import sys, ensurepip; print(sys.version_info >= (3, 11) or '')" 2>/dev/null),,$(error $(NEEDS)))
	$(PYTHON) -m venv --clear .venv
	$(PIP) download --require-hashes --requirement requirements.lock --dest .venv/wheels
	$(PIP) install --require-hashes --requirement requirements.lock --no-index --find-links .venv/wheels
	@touch $@

.venv/ready: .venv/dependencies pyproject.toml
	$(PIP) install --no-deps --no-build-isolation --no-index --editable .
	@touch $@
