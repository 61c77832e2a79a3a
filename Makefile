# What a person types; the work is in scripts/, frontend/build.mjs and cargo.
#
# Set-up installs what is missing, once, and each step is skipped when there is
# nothing to do. `cargo check` and `cargo build` work without any of this; only
# the pages then come without style and script.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# The compiler that set-up chose.
WITH_ENV := . scripts/env.sh &&

.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## what building needs: compiler, wasm target, node packages
	@scripts/setup-compiler
	@scripts/setup-node

.PHONY: setup-tests
setup-tests: setup ## what testing needs, too: PostgreSQL, Chromium, Python packages, nextest
	@scripts/setup-nextest
	@scripts/setup-postgres
	@scripts/setup-chromium
	@scripts/setup-python

.PHONY: site
site: setup ## the site files: wasm, scripts, styles
	@node frontend/build.mjs

.PHONY: build
build: site ## the server with its site files inside
	@$(WITH_ENV) cargo build --package drainboard

.PHONY: run
run: build ## serves a live burst at http://127.0.0.1:3000
	@$(WITH_ENV) exec "$$DRAINBOARD_BIN" demo

.PHONY: dev
dev: setup ## the same, rebuilt and restarted on change
	@scripts/dev

.PHONY: release
release: site ## target/release/drainboard: one file, to be copied anywhere
	@$(WITH_ENV) cargo build --package drainboard --release

.PHONY: test
test: setup-tests site ## every suite
	@scripts/with-postgres scripts/test

.PHONY: lint
lint: setup ## the quick part of make test: format and clippy
	@scripts/test format clippy clippy-wasm

.PHONY: fmt
fmt: setup ## formats the code
	@$(WITH_ENV) cargo fmt --all

.PHONY: clean-db
clean-db: ## removes the SQLite databases of this folder
	@rm -fv -- *.db *.db-wal *.db-shm
